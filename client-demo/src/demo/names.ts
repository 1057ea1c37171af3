// Names are whatever people call themselves: any script, emoji, and characters that nobody sees.

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Anything but spaces, control and formatting characters. */
const VISIBLE = /[^\p{C}\p{Z}]/u;

/** The name, where there is something of it to see. */
export function seen(name: string | null): string | null {
  return name !== null && VISIBLE.test(name) ? name : null;
}

/** One character to know a person by: what is written as one, of however many code points. */
export function initial(name: string): string {
  for (const { segment } of graphemes.segment(name)) {
    if (VISIBLE.test(segment)) return segment.toUpperCase().length === segment.length ? segment.toUpperCase() : segment;
  }
  return '';
}
