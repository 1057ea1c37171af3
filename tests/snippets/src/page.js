// A page with the App of a snippet on it, and a record of everything that its first heart has shown.
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, vi } from 'vitest';

export async function openPage(App) {
  const body = document.createElement('div');
  document.body.append(body);
  const shown = [];
  const observer = new MutationObserver(() => {
    const now = read(body);
    if (now && JSON.stringify(now) !== JSON.stringify(shown.at(-1))) shown.push(now);
  });
  observer.observe(body, { subtree: true, childList: true, characterData: true, attributes: true });
  const root = createRoot(body);
  root.render(createElement(App));

  return {
    shown,
    counts: () => changes(shown.map(({ count }) => count)),
    hearts: () => changes(shown.map(({ liked }) => liked)),
    tap: () => body.querySelector('button').click(),
    shows: (heart) => vi.waitFor(() => expect(read(body)).toMatchObject(heart), { timeout: 10_000, interval: 10 }),
    close() {
      observer.disconnect();
      root.unmount();
      body.remove();
    },
  };
}

const changes = (values) => values.filter((value, at) => value !== values[at - 1]);

function read(body) {
  const button = body.querySelector('button');
  return (
    button && {
      liked: button.getAttribute('aria-pressed') === 'true',
      count: Number(button.textContent.match(/\d+/)),
      idle: !button.disabled,
      failed: button.textContent.includes('not saved'),
    }
  );
}
