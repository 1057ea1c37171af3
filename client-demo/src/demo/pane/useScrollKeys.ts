import { useEffect } from 'react';

const SCROLLING = /^(Page|Arrow|Home|End| $)/;

/**
 * Lets the keys that scroll a page scroll the first pane while nothing has the focus: the page itself does not scroll.
 * The focus moves at the first such key and not when the page opens, or Tab would pass by the bars.
 */
export function useScrollKeys(): void {
  useEffect(() => {
    const pressed = ({ target, key, altKey, ctrlKey, metaKey }: KeyboardEvent) => {
      if (target !== document.body || altKey || ctrlKey || metaKey || !SCROLLING.test(key)) return;
      document.querySelector<HTMLElement>('.pane-scroll')?.focus({ preventScroll: true });
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  }, []);
}
