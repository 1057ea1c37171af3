// What the browser keeps for the page. It may be forbidden, full or spoilt, and the page works without it: what cannot be
// read is null, and what cannot be written is forgotten.

export interface Shelf {
  read(key: string): string | null;
  write(key: string, value: string): void;
}

/** Kept from visit to visit. */
export const browserShelf = shelf(() => localStorage);

/** Kept for as long as the tab. */
export const tabShelf = shelf(() => sessionStorage);

/** Where storage is forbidden, looking at it fails already: so it is looked at with each use. */
function shelf(storage: () => Storage): Shelf {
  return {
    read(key) {
      try {
        return storage().getItem(key);
      } catch {
        return null;
      }
    },
    write(key, value) {
      try {
        storage().setItem(key, value);
      } catch {
        // Not remembered, then.
      }
    },
  };
}
