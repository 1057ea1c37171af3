// The fenced blocks of README.md.
import { readFileSync } from 'node:fs';
import { join, parse } from 'node:path';

const readme = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8');

/**
 * The blocks of a section, in order. `name` is the file that the block's first line names in a comment, or else the
 * heading that it stands under and its language: `likewise.js`, `curl.sh`.
 */
export function blocksOf(section) {
  const [, text] = readme.split(`\n## ${section}\n`);
  if (text === undefined) throw new Error(`README.md has no section "${section}".`);
  const [body] = text.split(/\n## (?!#)/);
  const blocks = [];
  let heading = section;
  for (const [, title, language, code] of body.matchAll(/^(?:#{3,} (.+)|```(\w*)\n([\s\S]*?)^```)$/gm)) {
    if (title) heading = title;
    else blocks.push({ name: code.match(/^\/\/ (\S+\.\w+)\n/)?.[1] ?? `${heading}.${language}`, language, code });
  }
  return blocks;
}

/** Whether a block is a module, to be imported. */
export const isModule = ({ name }) => ['.js', '.jsx', '.ts', '.tsx'].includes(parse(name).ext);
