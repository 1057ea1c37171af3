import { type RefObject, useLayoutEffect } from 'react';

import { tabShelf } from '../../api/storage';

// How far each view of each viewer is scrolled; kept in the tab, so that Back and a refresh return to the place.
const storageKey = 'likewise-places';
const places = new Map(storedPlaces());

window.addEventListener('pagehide', () => {
  tabShelf.write(storageKey, JSON.stringify(Object.fromEntries(places)));
});

/** Lets another view begin where this one is. */
export function copyPlace(from: string, to: string): void {
  places.set(to, places.get(from) ?? 0);
}

/** Keeps the place of a scrolled element under a key, and returns to the key's place whenever the key changes. */
export function usePlace(ref: RefObject<HTMLElement | null>, key: string): void {
  useLayoutEffect(() => {
    const element = ref.current;
    const content = element?.firstElementChild;
    if (!element || !content) return;
    const place = places.get(key) ?? 0;
    let set = 0;
    let settled = false;

    // A list that still loads is not high enough yet: it is scrolled on as it grows, until the place is reached or
    // somebody scrolls.
    const growing = new ResizeObserver(restore);
    function restore() {
      if (!element || settled) return;
      element.scrollTop = place;
      set = element.scrollTop;
      if (Math.abs(set - place) < 1) settle();
    }
    function settle() {
      settled = true;
      growing.disconnect();
    }
    const scrolled = () => {
      if (element.scrollTop !== set) settle();
      if (settled) places.set(key, element.scrollTop);
    };
    growing.observe(content);
    restore();
    element.addEventListener('scroll', scrolled, { passive: true });
    return () => {
      growing.disconnect();
      element.removeEventListener('scroll', scrolled);
    };
  }, [ref, key]);
}

function storedPlaces(): [string, number][] {
  try {
    return Object.entries(JSON.parse(tabShelf.read(storageKey) ?? '{}'));
  } catch {
    return []; // not what this page wrote
  }
}
