// @vitest-environment node
import { describe, expect, it } from 'vitest';

import { feed, formatPanes, liked, type Panes, parsePanes, withoutPane, withPane, withSecondPane } from './route';

const ana = { viewer: 'ana', view: feed };
const ben = { viewer: 'ben', view: { kind: 'item', id: 'post:1' } } as const;

describe('the address', () => {
  const cases: readonly [string, Panes][] = [
    ['#/ana', [ana]],
    ['#/signed-out/liked', [{ viewer: null, view: liked }]],
    ['#/ana+/ben/item/post:1', [ana, ben]],
    ['#/eva/item/a%2Fb%2Bc%25', [{ viewer: 'eva', view: { kind: 'item', id: 'a/b+c%' } }]],
  ];

  it.each(cases)('%s is read and written', (hash, panes) => {
    expect(parsePanes(hash)).toEqual(panes);
    expect(formatPanes(panes)).toBe(hash);
  });

  it.each(['', '#', '#/', '#/nobody-we-know', '#nonsense', '#/nobody-we-know+/ben'])(
    '%j opens the first person’s feed',
    (hash) => {
      expect(parsePanes(hash)).toEqual([ana]);
    },
  );

  it.each(['#/ana/item', '#/ana/item/', '#/ana/item/%E0%A4%A', '#/ana/elsewhere'])('%s opens the feed', (hash) => {
    expect(parsePanes(hash)).toEqual([ana]);
  });

  it.each([
    ['#/ana/item/a+b', 'a+b'],
    ['#/ana/item/a/b', 'a/b'],
    ['#/ana/item/a%20b', 'a b'],
  ])('%s names the item %j', (hash, id) => {
    expect(parsePanes(hash)).toEqual([{ viewer: 'ana', view: { kind: 'item', id } }]);
  });

  it('is the same again for every character that ids may have', () => {
    const id = Array.from({ length: 94 }, (_, n) => String.fromCharCode(0x21 + n)).join('');
    const panes: Panes = [{ viewer: 'ana', view: { kind: 'item', id: `+/ben${id}` } }, ana];
    const address = new URL(`http://127.0.0.1/${formatPanes(panes)}`).hash;
    expect(address).toBe(formatPanes(panes));
    expect(parsePanes(address)).toEqual(panes);
  });

  it('shows no third pane', () => {
    expect(parsePanes('#/ana+/ben/item/post:1+/eva')).toEqual([ana, ben]);
  });
});

describe('panes', () => {
  it('are opened on the same view as somebody else', () => {
    expect(withSecondPane([ben])).toEqual([ben, { ...ben, viewer: 'ana' }]);
    expect(withSecondPane([ana])).toEqual([ana, { viewer: 'ben', view: feed }]);
  });

  it('are replaced and closed one at a time', () => {
    const eva = { viewer: 'eva', view: feed };
    expect(withPane([ana, ben], 0, eva)).toEqual([eva, ben]);
    expect(withPane([ana, ben], 1, eva)).toEqual([ana, eva]);
    expect(withPane([ana], 0, eva)).toEqual([eva]);
    expect(withoutPane([ana, ben], 0)).toEqual([ben]);
    expect(withoutPane([ana, ben], 1)).toEqual([ana]);
  });
});
