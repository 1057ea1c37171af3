import { useId } from 'react';

import { plainScene, type Ridge, scenes } from './scenes';
import { hash, random } from './seed';

/** Pictures of photos: the scene of the id, or plain hills. */
export function Landscape({ id }: { id: string }) {
  const scene = scenes[id] ?? plainScene;
  const next = random(hash(id));
  const sky = useId();
  const { sun, water } = scene;
  return (
    <>
      <linearGradient id={sky} x1="0" y1="0" x2="0" y2="0.72">
        {scene.sky.map((color, n) => (
          <stop key={color} offset={n / 2} stopColor={color} />
        ))}
      </linearGradient>
      <rect width="400" height="250" fill={`url(#${sky})`} />
      {scene.stars && dots(26, next).map(([x, y, r]) => <circle key={x} cx={x} cy={y} r={r} fill="#ffffffb0" />)}
      {sun && (
        <>
          <circle cx={sun.x} cy={sun.y} r={sun.r * 2.2} fill={sun.color} opacity="0.25" />
          <circle cx={sun.x} cy={sun.y} r={sun.r} fill={sun.color} />
        </>
      )}
      {water && <rect y={water.y} width="400" height={250 - water.y} fill={water.color} />}
      {scene.ridges.map((ridge) => (
        <path
          key={ridge.color}
          d={outline(ridge, water?.y, next)}
          fill={ridge.color}
          stroke={ridge.color}
          strokeWidth="1"
        />
      ))}
      {water && <Glints y={water.y} x={sun?.x ?? 200} color={water.glint} next={next} />}
      {scene.lanterns && <Lanterns y={water?.y ?? 170} next={next} />}
      {scene.heron && <Heron />}
    </>
  );
}

function Glints({ x, y, color, next }: { x: number; y: number; color: string; next: () => number }) {
  return Array.from({ length: 11 }, (_, n) => {
    const width = 18 + next() * 50;
    const top = y + 7 + n * 6.2;
    return (
      <rect
        key={top}
        x={x - width / 2 + (next() - 0.5) * (20 + n * 9)}
        y={top}
        width={width}
        height="2.4"
        rx="1.2"
        fill={color}
        opacity={0.75 - n * 0.05}
      />
    );
  });
}

function Lanterns({ y, next }: { y: number; next: () => number }) {
  return Array.from({ length: 9 }, (_, n) => {
    const x = 26 + n * 44 + next() * 10;
    const height = y - 52 + Math.sin(n * 0.8) * 12;
    return (
      <g key={x} fill="#ffb45c">
        <circle cx={x} cy={height} r="22" opacity="0.18" />
        <ellipse cx={x} cy={height} rx="8" ry="10" fill="#ffd08a" />
        <ellipse cx={x} cy={2 * y - height + 8} rx="5" ry="16" opacity="0.32" />
      </g>
    );
  });
}

function Heron() {
  return (
    <g fill="none" stroke="#3c4a52" strokeLinecap="round" strokeLinejoin="round">
      <path d="M236 168v50M246 168v50" strokeWidth="2.5" />
      <path d="M216 150q22-28 52 0q4 16-24 20q-22 0-28-20z" fill="#5d707a" stroke="none" />
      <path d="M262 150q18-14 4-38q-8-16 6-24" strokeWidth="6" stroke="#71848d" />
      <path d="M272 88l30 5" strokeWidth="3.5" stroke="#c98b3a" />
      <path d="M270 86l-20-6" strokeWidth="2.5" />
    </g>
  );
}

function dots(count: number, next: () => number): [number, number, number][] {
  return Array.from({ length: count }, () => [next() * 400, next() * 120, 0.5 + next() * 0.9]);
}

/** A ridge as a closed shape; `shore` is where the water before it begins. */
function outline({ shape, y, height }: Ridge, shore: number | undefined, next: () => number): string {
  const top = (share: number) => (y - height * share).toFixed(1);
  const foot = shore !== undefined && shore <= y && y < shore + 10 ? y : 250;
  switch (shape) {
    case 'flat':
      return `M0 250V${y}H400V250Z`;
    case 'peaks': {
      const tops = Array.from({ length: 13 }, (_, n) => {
        const x = n * 40 - 40 + next() * 22;
        return `L${x.toFixed(1)} ${top(n % 2 ? 0.6 + next() * 0.4 : 0.15 + next() * 0.3)}`;
      });
      return `M-40 ${foot}${tops.join('')}L460 ${foot}Z`;
    }
    case 'roofs': {
      const houses = Array.from({ length: 8 }, (_, n) => {
        const eaves = 0.35 + next() * 0.45;
        return `L${n * 50} ${top(eaves)}L${n * 50 + 25} ${top(eaves + (n % 3 ? 0.22 : 0))}L${n * 50 + 50} ${top(eaves)}`;
      });
      return `M0 ${foot}${houses.join('')}L400 ${foot}Z`;
    }
    case 'reeds':
      return Array.from({ length: 34 }, () => {
        const x = next() < 0.6 ? next() * 140 : 300 + next() * 100;
        return `M${x - 2} 250Q${x} ${y - height * 0.5} ${x + (next() - 0.5) * 24} ${top(0.4 + next() * 0.6)}L${x + 2} 250Z`;
      }).join('');
    case 'trees':
      return Array.from({ length: 7 }, (_, n) => tree(30 + n * 58 + next() * 8, y, height)).join('');
    default:
      return wave(shape === 'dunes' ? 0.85 : 0, y, height, foot, next);
  }
}

/** Hills from left to right; `lean` makes one flank of each steep, as the wind does. */
function wave(lean: number, y: number, height: number, foot: number, next: () => number): string {
  const [shift, length] = [next() * 7, 46 + next() * 16];
  const points = Array.from({ length: 101 }, (_, n) => {
    const phase = (n * 4) / length + shift;
    const rise = 0.5 + 0.36 * Math.sin(phase + lean * Math.sin(phase)) + 0.14 * Math.sin(phase * 0.37 + shift);
    return `L${n * 4} ${(y - height * rise).toFixed(1)}`;
  });
  return `M0 ${foot}${points.join('')}L400 ${foot}Z`;
}

/** Bare in March: a trunk and five boughs. */
function tree(x: number, y: number, height: number): string {
  const boughs = [-26, -13, 0, 13, 26].map((lean, n) => {
    const tip = y - height * (n % 2 ? 0.9 : 0.75 + (n === 2 ? 0.25 : 0));
    return `M${x - 1.5} ${y - height * 0.4}L${x + lean} ${tip}L${x + 1.5} ${y - height * 0.4}Z`;
  });
  return `M${x - 3} ${y + 6}L${x - 1.5} ${y - height * 0.42}h3L${x + 3} ${y + 6}Z${boughs.join('')}`;
}
