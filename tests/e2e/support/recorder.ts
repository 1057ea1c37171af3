/** A state of an item as the server said it, in a push or in an answer. */
export interface Told {
  /** `performance.now()` of the page. */
  readonly at: number;
  readonly by: 'push' | 'answer';
  readonly id: string;
  readonly count: number;
  readonly countVersion: number;
  readonly liked: boolean;
}

/** What the page showed of an item in one frame. */
export interface Frame {
  readonly at: number;
  readonly liked: boolean;
  readonly count: number | null;
}

export interface Recording {
  readonly told: Told[];
  readonly longTasks: { readonly at: number; readonly duration: number }[];
  frames: Frame[];
  taps: number[];
}

declare global {
  interface Window {
    recording: Recording;
  }
}

/**
 * Runs in the page, before its own scripts: writes down what the server tells it, and tasks of more than 50 ms. Frames
 * and taps are added by `watchFrames`.
 */
export function recordPage(): void {
  const recording: Recording = { told: [], longTasks: [], frames: [], taps: [] };
  window.recording = recording;

  const collect = (by: Told['by'], value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const item = value as Record<string, unknown>;
    if (typeof item['id'] === 'string' && typeof item['likeCount'] === 'number') {
      recording.told.push({
        at: performance.now(),
        by,
        id: item['id'],
        count: item['likeCount'],
        countVersion: Number(item['countVersion']),
        liked: item['likedByMe'] === true,
      });
    }
    for (const inner of Object.values(item)) collect(by, inner);
  };

  const NativeSocket = window.WebSocket;
  window.WebSocket = class extends NativeSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols);
      // Ours is the first listener, so nothing is shown before it is written down.
      this.addEventListener('message', (event) => {
        if (typeof event.data === 'string') collect('push', JSON.parse(event.data));
      });
    }
  };

  const parse = Response.prototype.json;
  const text = Response.prototype.text;
  Response.prototype.json = async function json(this: Response) {
    const value = await parse.call(this);
    collect('answer', value);
    return value;
  };
  Response.prototype.text = async function readText(this: Response) {
    const value = await text.call(this);
    if (value.startsWith('{')) collect('answer', JSON.parse(value));
    return value;
  };

  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) recording.longTasks.push({ at: entry.startTime, duration: entry.duration });
  }).observe({ type: 'longtask', buffered: true });
}
