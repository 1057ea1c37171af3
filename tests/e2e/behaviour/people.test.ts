import { describe, expect } from 'vitest';

import { within } from '../support/deadlines';
import { test } from '../support/fixtures';

test('the line says who likes it, as each viewer sees it', async ({ open, person }) => {
  for (const user of ['ana', 'ben', 'cleo', 'dan', 'eva']) await person(user).unlike('photo:fjord');
  // Ben last: he is named first.
  for (const user of ['ana', 'ben']) await person(user).like('photo:fjord');
  const { count } = await person('dan').item('photo:fjord');
  const visit = await open();
  const lines = [
    { name: 'Ana', line: new RegExp(`\\byou\\b.*\\bBen\\b.*\\b${count - 2}\\b`, 'i') },
    { name: 'Ben', line: new RegExp(`\\byou\\b.*\\bAna\\b.*\\b${count - 2}\\b`, 'i') },
    { name: 'Cleo', line: new RegExp(`\\bBen\\b.*\\bAna\\b.*\\b${count - 2}\\b`) },
    { name: 'Signed out', line: new RegExp(`\\b${count}\\b`) },
  ];
  for (const { name, line } of lines) {
    await visit.pane().viewAs(name);
    const item = visit.pane().item('photo:fjord');
    await expect.poll(() => item.line.textContent(), within('push')).toMatch(line);
    expect((await item.settled()).liked).toBe(name === 'Ana' || name === 'Ben');
  }
});

test('a refresh keeps viewers, panes and places', async ({ open }) => {
  const visit = await open();
  await visit.pane().viewAs('Cleo');
  await visit.page.getByRole('button', { name: 'Open a second pane' }).click();
  await visit.pane('Cleo').item('game:chess').root.getByRole('link', { name: 'Chess' }).click();
  await visit.pane('Cleo').root.getByRole('heading', { level: 2, name: 'Chess' }).waitFor();
  await visit.page.reload();
  await visit.pane('Cleo').root.getByRole('heading', { level: 2, name: 'Chess' }).waitFor();
  await visit.pane('Ana').item('game:chess').root.getByRole('link', { name: 'Chess' }).waitFor();
  await visit.page.goBack();
  await visit.pane('Cleo').item('game:go').root.getByRole('link', { name: 'Go' }).waitFor();
});

describe('signed out', () => {
  test('a tap asks who one is, and then is theirs', async ({ open, person }) => {
    const { count } = await person('dan').unlike('game:go');
    const visit = await open({ path: '/#/signed-out' });
    const item = visit.pane().item('game:go');
    expect(await item.settled()).toEqual({ liked: false, count });
    await item.tap();
    const dialog = visit.page.getByRole('dialog', { name: 'Sign in to like Go' });
    await dialog.waitFor();
    expect(await item.shown()).toEqual({ liked: false, count });

    await dialog.getByRole('button', { name: 'Dan' }).click();
    await dialog.waitFor({ state: 'hidden' });
    const his = visit.pane('Dan').item('game:go');
    await expect.poll(() => his.shown(), within('push')).toEqual({ liked: true, count: count + 1 });
    await expect.poll(() => person('dan').item('game:go'), within('push')).toMatchObject({ liked: true });
  });

  test('a tap is nobody’s where nobody signs in, and changes nothing where they like it already', async ({
    open,
    person,
  }) => {
    await person('dan').unlike('game:go');
    const { count } = await person('eva').like('game:go');
    const visit = await open({ path: '/#/signed-out' });
    await visit.pane().item('game:go').tap();
    const dialog = visit.page.getByRole('dialog', { name: 'Sign in to like Go' });
    await dialog.getByRole('button', { name: 'Not now' }).click();
    await visit.pane().viewAs('Dan');
    expect(await visit.pane('Dan').item('game:go').settled()).toEqual({ liked: false, count });
    await visit.pane('Dan').viewAs('Signed out');
    await visit.pane().item('game:go').tap();
    await dialog.getByRole('button', { name: 'Eva' }).click();
    await expect
      .poll(() => visit.pane('Eva').item('game:go').settled(), within('push'))
      .toEqual({ liked: true, count });
  });

  test('a second click of a double click chooses nobody, and neither does a key that is held', async ({ open }) => {
    const visit = await open({ path: '/#/signed-out' });
    const dialog = visit.page.getByRole('dialog', { name: 'Sign in to like' });
    const isAsked = async () => {
      await dialog.waitFor();
      // From now on a click counts.
      await dialog.getByRole('button', { name: 'Ana', disabled: false }).waitFor();
      expect(new URL(visit.page.url()).hash).toBe('#/signed-out');
    };
    for (const id of ['post:3', 'photo:dunes', 'game:chess']) {
      const { heart } = visit.pane().item(id);
      await heart.dblclick();
      await isAsked();
      await visit.page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
    }
    await visit.pane().item('game:go').heart.focus();
    await visit.page.keyboard.down('Enter');
    await isAsked();
    // The same key again: it was never let go.
    await visit.page.keyboard.down('Enter');
    await isAsked();
    await visit.page.keyboard.up('Enter');
  });

  test('nobody is asked any more who has gone back', async ({ open, person }) => {
    await person('ana').unlike('game:go');
    const visit = await open({ path: '/#/ana' });
    await visit.pane().item('game:go').settled();
    await visit.page.evaluate(() => {
      location.hash = '#/signed-out';
    });
    await visit.pane().item('game:go').tap();
    const dialog = visit.page.getByRole('dialog', { name: 'Sign in to like Go' });
    await dialog.waitFor();
    await visit.page.goBack();
    await dialog.waitFor({ state: 'hidden' });
    expect((await visit.pane('Ana').item('game:go').settled()).liked).toBe(false);
  });

  test('the number moves live all the same', async ({ open, person }) => {
    const before = await person('dora').unlike('game:hex');
    const visit = await open({ path: '/#/signed-out' });
    const item = visit.pane().item('game:hex');
    expect(await item.settled()).toEqual({ liked: false, count: before.count });
    await person('dora').like('game:hex');
    await expect.poll(() => item.shown(), within('push')).toEqual({ liked: false, count: before.count + 1 });
  });
});
