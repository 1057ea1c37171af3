import { act, cleanup, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { rememberedViewer, rememberViewer } from '../api/remembered';
import { tabShelf } from '../api/storage';

beforeEach(() => {
  vi.resetModules();
  vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener() {}, removeEventListener() {} }));
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  localStorage.clear();
  sessionStorage.clear();
  delete document.documentElement.dataset.theme;
});

function forbidden(): void {
  const get = () => {
    throw new DOMException('Access is denied for this document.', 'SecurityError');
  };
  vi.spyOn(window, 'localStorage', 'get').mockImplementation(get);
  vi.spyOn(window, 'sessionStorage', 'get').mockImplementation(get);
}

function full(): void {
  vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
    throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
  });
}

describe.each([
  ['forbidden', forbidden],
  ['full', full],
])('where storage is %s', (_, arrange) => {
  beforeEach(arrange);

  it('the theme goes there and back', async () => {
    const { restoreTheme } = await import('./theme');
    const { ThemeSwitch } = await import('./ThemeSwitch');
    restoreTheme();
    render(<ThemeSwitch />);
    const button = screen.getByRole('button', { name: 'Dark theme' });
    for (const dark of [true, false, true]) {
      act(() => button.click());
      expect(button.getAttribute('aria-pressed')).toBe(String(dark));
      expect(document.documentElement.dataset.theme).toBe(dark ? 'dark' : 'light');
    }
  });

  it('nobody is remembered', () => {
    rememberViewer('ben');
    expect(rememberedViewer()).toBeUndefined();
  });

  it('a page that is left does not keep its places', async () => {
    const failed = vi.fn((event: Event) => event.preventDefault());
    window.addEventListener('error', failed);
    await import('./pane/places');
    window.dispatchEvent(new Event('pagehide'));
    window.removeEventListener('error', failed);
    expect(failed).not.toHaveBeenCalled();
  });
});

it.each(['', '{', 'null', '[1'])('places that read %j are none', async (text) => {
  tabShelf.write('likewise-places', text);
  await expect(import('./pane/places')).resolves.toBeDefined();
});

it('a theme that was chosen is there again', async () => {
  const { choose, restoreTheme } = await import('./theme');
  choose('dark');
  delete document.documentElement.dataset.theme;
  restoreTheme();
  expect(document.documentElement.dataset.theme).toBe('dark');
});
