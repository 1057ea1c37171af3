// Pictures of posts: quarter circles, half circles and dots on a grid, in a few colours that go together.
import { hash, random } from './seed';

const palettes = [
  ['#f4e9d8', '#d1495b', '#edae49', '#00798c', '#30363d'],
  ['#e9edf0', '#2e4057', '#66a182', '#d9a441', '#8d96a3'],
  ['#fbeee6', '#7a306c', '#e07a5f', '#f2cc8f', '#3d405b'],
  ['#e8f1ee', '#1f6f78', '#f3a712', '#a8c686', '#29335c'],
  ['#f3ecf7', '#5f4bb6', '#f08a4b', '#86a5d9', '#26174f'],
] as const;
const cell = 62.5;

export function Tiles({ id }: { id: string }) {
  const seed = hash(id);
  const next = random(seed);
  const [paper, ...inks] = palettes[seed % palettes.length] ?? palettes[0];
  const spots = Array.from({ length: 28 }, (_, n) => ({ n, x: (n % 7) * cell - 18, y: Math.floor(n / 7) * cell }));
  return (
    <>
      <rect width="400" height="250" fill={paper} />
      {spots.map(({ n, x, y }) => {
        const ink = inks[Math.floor(next() * inks.length)] ?? paper;
        const other = inks[Math.floor(next() * inks.length)] ?? paper;
        const turn = `translate(${x} ${y}) rotate(${Math.floor(next() * 4) * 90} ${cell / 2} ${cell / 2})`;
        return (
          <g key={n} transform={turn}>
            {tile(next(), ink, other)}
          </g>
        );
      })}
    </>
  );
}

function tile(kind: number, ink: string, other: string) {
  if (kind < 0.42) return <path d={`M0 0H${cell}A${cell} ${cell} 0 0 1 0 ${cell}Z`} fill={ink} />;
  if (kind < 0.62) return <path d={`M0 0H${cell}A${cell / 2} ${cell / 2} 0 0 1 0 0Z`} fill={ink} />;
  if (kind < 0.74) return <circle cx={cell / 2} cy={cell / 2} r={cell / 4} fill={ink} />;
  if (kind < 0.86) {
    return (
      <>
        <rect width={cell} height={cell} fill={ink} />
        <path d={`M0 0H${cell}A${cell} ${cell} 0 0 1 0 ${cell}Z`} fill={other} />
      </>
    );
  }
  return null;
}
