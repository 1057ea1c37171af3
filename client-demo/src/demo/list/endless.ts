// A list that grows by a page at a time, newest first, as far as somebody scrolls.

import { Refusal } from './problem';

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Where the next page begins; null where this is the last. */
  readonly next: string | null;
}

export interface EndlessState<Row> {
  readonly rows: readonly Row[];
  /** `failed` is worth another try, `refused` is not. */
  readonly phase: 'loading' | 'more' | 'failed' | 'refused' | 'over';
  /** Why the last page did not come. */
  readonly problem: string | null;
}

export class Endless<Row> {
  private readonly load: (after: string | null) => Promise<Page<Row>>;
  private shown: EndlessState<Row> = { rows: [], phase: 'loading', problem: null };
  /** Where the page begins that is read next, or again where it failed. */
  private next: string | null = null;
  /** Grows with each page that is asked for, so that one which was asked for before is dropped. */
  private round = 0;
  private retrying = false;
  private readonly listeners = new Set<() => void>();

  constructor(load: (after: string | null) => Promise<Page<Row>>) {
    this.load = load;
  }

  readonly state = (): EndlessState<Row> => this.shown;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Reads from the top; the rows stay until the new ones are there. */
  readonly restart = (): Promise<void> => {
    this.showLoading();
    return this.read(null);
  };

  /** The next page, or the one that failed. One at a time. */
  readonly more = async (): Promise<void> => {
    const { phase } = this.shown;
    if (phase !== 'more' && phase !== 'failed') return;
    this.showLoading();
    await this.read(this.next);
  };

  /** The page that failed once more, unasked: nothing is seen of it unless it comes. */
  readonly retry = async (): Promise<void> => {
    if (this.retrying || this.shown.phase !== 'failed') return;
    this.retrying = true;
    await this.read(this.next);
    this.retrying = false;
  };

  private async read(after: string | null): Promise<void> {
    this.round += 1;
    const { round } = this;
    this.next = after;
    try {
      const page = await this.load(after);
      if (round !== this.round) return;
      this.next = page.next;
      const rows = after === null ? page.rows : [...this.shown.rows, ...page.rows];
      this.show({ rows, phase: page.next === null ? 'over' : 'more', problem: null });
    } catch (error) {
      if (round !== this.round) return;
      const phase = error instanceof Refusal ? 'refused' : 'failed';
      this.show({ ...this.shown, phase, problem: error instanceof Error ? error.message : String(error) });
    }
  }

  private showLoading(): void {
    this.show({ ...this.shown, phase: 'loading', problem: null });
  }

  private show(state: EndlessState<Row>): void {
    this.shown = state;
    for (const listener of this.listeners) listener();
  }
}
