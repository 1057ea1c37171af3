import { useCallback, useRef, useState } from 'react';

/** What is said within this time is said together: a later text would take an earlier one out of the reader's mouth. */
const TOGETHER_MS = 500;

/** What a screen reader is told, for the one live region of the page, and how to tell it. */
export function useAnnouncements(): [string, (text: string) => void] {
  const [said, setSaid] = useState('');
  const latest = useRef<{ texts: readonly string[]; at: number; line: string }>({
    texts: [],
    at: -TOGETHER_MS,
    line: '',
  });
  const announce = useCallback((text: string) => {
    const now = performance.now();
    const { texts, at, line } = latest.current;
    const isTogether = now - at < TOGETHER_MS;
    // Two panes may have the same to say.
    if (isTogether && texts.includes(text)) return;
    const all = isTogether ? [...texts, text] : [text];
    const next = all.length === 1 ? text : all.map((one) => (one.endsWith('.') ? one : `${one}.`)).join(' ');
    // The same text twice is two announcements, which a screen reader notices by the space.
    latest.current = { texts: all, at: now, line: next === line ? `${next}\u00a0` : next };
    setSaid(latest.current.line);
  }, []);
  return [said, announce];
}
