// Names are whatever people call themselves: any script, emoji, and characters that nobody sees.

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Anything but spaces, controls, marks without a letter, and characters that are there not to be seen. */
const VISIBLE = /[^\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** Characters that turn the direction of text, also of the text after them. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/gu;

/** The name as it may be shown, where there is something of it to see. */
export function seen(name: string | null): string | null {
  return name !== null && VISIBLE.test(name) ? name.replaceAll(TURNING, '') : null;
}

/** One character to know a person by: what is written as one, of however many code points. */
export function initial(name: string): string {
  for (const { segment } of graphemes.segment(name)) {
    if (VISIBLE.test(segment)) return segment.toUpperCase().length === segment.length ? segment.toUpperCase() : segment;
  }
  return '';
}
