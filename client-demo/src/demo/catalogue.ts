// The demo's people and items. The server's demo fill reads the same file; what an item looks like and says is the
// page's own matter, since Likewise keeps an item's likes and nothing else.
import catalogue from './catalogue.json';

export interface Person {
  readonly id: string;
  readonly name: string;
}

export interface CatalogueItem {
  readonly id: string;
  readonly type: string;
  readonly title: string;
  readonly text: string;
}

export const people: readonly Person[] = catalogue.people;
export const items: readonly CatalogueItem[] = catalogue.items;

const byId = new Map(items.map((item) => [item.id, item]));
const names = new Map(people.map((person) => [person.id, person.name]));

/** The item as the catalogue has it; anything else that can be liked stands under its id. */
export function itemOf(id: string): CatalogueItem {
  return byId.get(id) ?? { id, type: 'item', title: id, text: '' };
}

/** Whether there can be such an item: an id is 1 to 255 printable ASCII characters without spaces. */
export function canBeItem(id: string): boolean {
  return /^[!-~]{1,255}$/.test(id);
}

/** How a viewer is called on the page; null is somebody who is not signed in. */
export function viewerName(viewer: string | null): string {
  return viewer === null ? 'Signed out' : (names.get(viewer) ?? viewer);
}
