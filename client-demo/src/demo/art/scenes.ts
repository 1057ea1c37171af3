// What the photos show: a sky, what stands in it, and ridges one behind the other down to the front.

export type Shape = 'hills' | 'peaks' | 'dunes' | 'roofs' | 'reeds' | 'trees' | 'flat';

export interface Ridge {
  readonly shape: Shape;
  /** Where its foot line lies and how high it rises above it, of 250. */
  readonly y: number;
  readonly height: number;
  readonly color: string;
}

export interface Scene {
  /** From top to horizon. */
  readonly sky: readonly [string, string, string];
  readonly sun?: { readonly x: number; readonly y: number; readonly r: number; readonly color: string };
  /** Where water begins, with the colour of the light on it. */
  readonly water?: { readonly y: number; readonly color: string; readonly glint: string };
  readonly stars?: boolean;
  readonly lanterns?: boolean;
  readonly heron?: boolean;
  readonly ridges: readonly Ridge[];
}

export const scenes: Record<string, Scene> = {
  'photo:sunrise': {
    sky: ['#4d4a86', '#e27d6b', '#ffd9a0'],
    sun: { x: 250, y: 148, r: 30, color: '#fff1cf' },
    water: { y: 160, color: '#8d5f80', glint: '#ffd7a3' },
    ridges: [
      { shape: 'hills', y: 160, height: 26, color: '#5b4777' },
      { shape: 'flat', y: 232, height: 0, color: '#2c2745' },
    ],
  },
  'photo:dunes': {
    sky: ['#7fb2cf', '#bcd4d8', '#f2e3c6'],
    ridges: [
      { shape: 'dunes', y: 150, height: 34, color: '#e3b878' },
      { shape: 'dunes', y: 190, height: 52, color: '#cf9556' },
      { shape: 'dunes', y: 238, height: 60, color: '#a96b3c' },
    ],
  },
  'photo:fjord': {
    sky: ['#a9c3d1', '#cfdcdf', '#eef1ea'],
    water: { y: 178, color: '#7fa0ad', glint: '#e6f0ef' },
    ridges: [
      { shape: 'peaks', y: 178, height: 118, color: '#9fb7c1' },
      { shape: 'peaks', y: 180, height: 78, color: '#5f7f8d' },
      { shape: 'peaks', y: 182, height: 34, color: '#35525f' },
    ],
  },
  'photo:lantern': {
    sky: ['#0d1330', '#1c2550', '#3a3566'],
    water: { y: 170, color: '#141a3a', glint: '#ffb45c' },
    lanterns: true,
    ridges: [{ shape: 'roofs', y: 170, height: 62, color: '#0a0e24' }],
  },
  'photo:heron': {
    sky: ['#c9d8cf', '#dfe6d4', '#f1ecd8'],
    water: { y: 150, color: '#a3b8ab', glint: '#eef2e4' },
    heron: true,
    ridges: [
      { shape: 'hills', y: 150, height: 24, color: '#7f9a86' },
      { shape: 'reeds', y: 250, height: 92, color: '#3f5a47' },
    ],
  },
  'photo:orchard': {
    sky: ['#b9c9dd', '#dfe3ea', '#f7ece6'],
    sun: { x: 96, y: 96, r: 22, color: '#fff8ea' },
    ridges: [
      { shape: 'hills', y: 176, height: 30, color: '#a3b0b8' },
      { shape: 'trees', y: 196, height: 58, color: '#6d6b73' },
      { shape: 'hills', y: 214, height: 12, color: '#d7dee1' },
    ],
  },
  'photo:rooftops': {
    sky: ['#14265c', '#3b5aa0', '#f0a58c'],
    stars: true,
    ridges: [
      { shape: 'roofs', y: 205, height: 64, color: '#4a5686' },
      { shape: 'roofs', y: 250, height: 84, color: '#1b2450' },
    ],
  },
  'photo:glacier': {
    sky: ['#5f8fb4', '#a9cbdb', '#e7f1f2'],
    ridges: [
      { shape: 'peaks', y: 170, height: 90, color: '#c7dfe8' },
      { shape: 'peaks', y: 205, height: 74, color: '#8fbfd4' },
      { shape: 'peaks', y: 250, height: 62, color: '#3b6f8c' },
    ],
  },
};

export const plainScene: Scene = {
  sky: ['#7c9ac4', '#bdd0e0', '#f3ead8'],
  sun: { x: 290, y: 92, r: 24, color: '#fff6dd' },
  ridges: [
    { shape: 'hills', y: 190, height: 50, color: '#7d9a8a' },
    { shape: 'hills', y: 235, height: 44, color: '#4d6d62' },
  ],
};
