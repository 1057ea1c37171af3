import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';

import { fakeServer } from '../../like/fakeServer';
import { FakePane } from '../pane/FakePane';
import { ItemPage } from './ItemPage';

afterEach(cleanup);

it.each(['a b', 'café', 'x'.repeat(256)])('offers no heart for %j, which can be no item', (id) => {
  const server = fakeServer();
  render(
    <FakePane server={server}>
      <ItemPage id={id} />
    </FakePane>,
  );
  expect(screen.getByRole('heading', { level: 2 }).textContent).toBe('There is no such item');
  expect(screen.queryByRole('button')).toBeNull();
  server.likes.close();
});
