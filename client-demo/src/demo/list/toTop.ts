/** Goes to the list below a heading, which stays in sight while the list is scrolled, with the focus. */
export function toTop(heading: HTMLElement | null): void {
  const head = heading?.parentElement;
  head?.parentElement?.scrollIntoView({ block: 'start' });
  heading?.focus({ preventScroll: true });
}
