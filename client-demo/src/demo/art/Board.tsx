// Pictures of games: each its board, a few moves in.
import type { ReactNode } from 'react';

import { hash, random } from './seed';

type Draw = (next: () => number) => ReactNode;

const boards: Record<string, Draw> = {
  'game:chess': (next) => (
    <>
      <rect width="400" height="250" fill="#e9dcc3" />
      {grid(8, 5, 50).map(({ key, x, y }) =>
        (x + y) % 100 === 0 ? null : <rect key={key} x={x} y={y} width="50" height="50" fill="#a4744c" />,
      )}
      {pick(grid(8, 5, 50), 9, next).map(({ key, x, y }, n) => (
        <path
          key={key}
          d={`M${x + 14} ${y + 42}h22l-5-16a9 9 0 1 0-12 0z`}
          fill={n % 2 ? '#2a211c' : '#fffaf0'}
          stroke="#2a211c"
          strokeWidth="1.5"
        />
      ))}
    </>
  ),
  'game:go': (next) => (
    <>
      <rect width="400" height="250" fill="#dcb06a" />
      {range(13).map((n) => (
        <path key={n} d={`M${n * 32 + 8} 0V250M0 ${n * 32 + 13}H400`} stroke="#7d5a2a" strokeWidth="1.2" />
      ))}
      {pick(grid(13, 8, 32), 34, next).map(({ key, x, y }, n) => (
        <circle key={key} cx={x + 8} cy={y + 13} r="14" fill={n % 2 ? '#1d1b1a' : '#f8f4ea'} />
      ))}
    </>
  ),
  'game:hex': (next) => (
    <>
      <rect width="400" height="250" fill="#233044" />
      {grid(9, 6, 50).map(({ key, x, y }) => {
        const shift = (y / 50) % 2 ? 25 : 0;
        const fill = pickOne(['#31425c', '#31425c', '#31425c', '#e2583e', '#4fa3d9'], next);
        const [left, top] = [x - 25 + shift, y * 0.87 - 4];
        return <path key={key} d={hexagon(left + 25, top + 28, 27)} fill={fill} />;
      })}
    </>
  ),
  'game:backgammon': () => (
    <>
      <rect width="400" height="250" fill="#3b2a22" />
      {range(8).map((n) => (
        <g key={n} fill={n % 2 ? '#d8b98a' : '#9c3f2e'}>
          <path d={`M${n * 50} 0h50l-25 108z`} />
          <path d={`M${n * 50} 250h50l-25 -108z`} fill={n % 2 ? '#9c3f2e' : '#d8b98a'} />
        </g>
      ))}
      {[0, 1, 2, 3].map((n) => (
        <g key={n} stroke="#00000055" strokeWidth="2">
          <circle cx="75" cy={21 + n * 40} r="19" fill="#f3ead9" />
          {n < 3 && <circle cx="275" cy={229 - n * 40} r="19" fill="#1f1a18" />}
          {n < 2 && <circle cx="375" cy={21 + n * 40} r="19" fill="#1f1a18" />}
        </g>
      ))}
    </>
  ),
  'game:nim': (next) => (
    <>
      <rect width="400" height="250" fill="#e4dfd6" />
      {heaps.flatMap(({ size, row }) =>
        range(size).map((n) => (
          <ellipse
            key={`${row}-${n}`}
            cx={200 + (n - (size - 1) / 2) * 50}
            cy={45 + row * 54}
            rx={17 + next() * 5}
            ry={13 + next() * 5}
            fill={pickOne(['#6d7479', '#8b8f8c', '#54606a', '#a29a8c'], next)}
          />
        )),
      )}
    </>
  ),
  'game:othello': (next) => (
    <>
      <rect width="400" height="250" fill="#1f7a4d" />
      {range(9).map((n) => (
        <path key={n} d={`M${n * 50} 0V250M0 ${n * 50}H400`} stroke="#13573579" strokeWidth="2" />
      ))}
      {pick(grid(8, 5, 50), 17, next).map(({ key, x, y }, n) => (
        <circle key={key} cx={x + 25} cy={y + 25} r="19" fill={n % 2 ? '#15181a' : '#f6f6f1'} />
      ))}
    </>
  ),
  'game:morris': (next) => (
    <>
      <rect width="400" height="250" fill="#4a3b52" />
      <g fill="none" stroke="#d9c9a8" strokeWidth="3">
        {[100, 66, 32].map((half) => (
          <rect key={half} x={200 - half} y={125 - half} width={half * 2} height={half * 2} />
        ))}
        <path d="M200 25v68M200 157v68M100 125h68M232 125h68" />
      </g>
      {pick(crossings, 9, next).map(([x, y], n) => (
        <circle key={`${x} ${y}`} cx={200 + x} cy={125 + y} r="12" fill={n % 2 ? '#f4e8cf' : '#e0563f'} />
      ))}
    </>
  ),
};

const heaps = [1, 3, 5, 7].map((size, row) => ({ size, row }));

const crossings = [100, 66, 32].flatMap((half) =>
  [-half, 0, half].flatMap((x) => [-half, 0, half].map((y) => [x, y] as const).filter(([, y]) => x !== 0 || y !== 0)),
);

export function Board({ id }: { id: string }) {
  const draw = boards[id] ?? boards['game:go'];
  return draw?.(random(hash(id)));
}

function range(length: number): number[] {
  return [...Array(length).keys()];
}

function grid(columns: number, rows: number, size: number) {
  return Array.from({ length: columns * rows }, (_, n) => ({
    key: `${n}`,
    x: (n % columns) * size,
    y: Math.floor(n / columns) * size,
  }));
}

function pick<T>(from: readonly T[], count: number, next: () => number): T[] {
  return from
    .map((value) => ({ value, order: next() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ value }) => value);
}

function pickOne(from: readonly string[], next: () => number): string | undefined {
  return from[Math.floor(next() * from.length)];
}

function hexagon(x: number, y: number, radius: number): string {
  const corners = Array.from({ length: 6 }, (_, n) => {
    const angle = (Math.PI / 3) * n + Math.PI / 6;
    return `${(x + radius * Math.cos(angle)).toFixed(1)} ${(y + radius * Math.sin(angle)).toFixed(1)}`;
  });
  return `M${corners.join('L')}Z`;
}
