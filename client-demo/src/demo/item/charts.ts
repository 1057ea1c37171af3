// The two plots, as uPlot draws them. Colours are those of the style sheet at the moment of drawing, so that a change of
// theme needs no new plot.
import uPlot from 'uplot';

import { WINDOW_MS } from './samples';

export interface Plot {
  show(data: [number[], number[]]): void;
  destroy(): void;
}

const HEIGHT = 150;

/** A line of steps on a scale that begins near the smallest count. */
export function drawCount(host: HTMLElement): Plot {
  return draw(host, {
    series: [{}, { stroke: colour(host), width: 2, points: { show: false }, paths: steps() }],
    range: (_plot, low, high) => {
      if (low === null || high === null) return [0, 10];
      const room = Math.max(2, (high - low) * 0.15);
      // Beyond the last whole number, uPlot would count up its labels for ever.
      return [Math.max(0, low - room), Math.min(high + room, Number.MAX_SAFE_INTEGER)];
    },
  });
}

/** A bar for each second, from zero. */
export function drawRate(host: HTMLElement): Plot {
  const bars = uPlot.paths.bars?.({ size: [0.7, 12] });
  return draw(host, {
    series: [
      {},
      { fill: colour(host), stroke: colour(host), width: 0, points: { show: false }, ...(bars && { paths: bars }) },
    ],
    range: (_plot, _low, high) => [0, Math.max(6, high ?? 0)],
  });
}

interface Look {
  readonly series: uPlot.Series[];
  readonly range: (plot: uPlot, low: number | null, high: number | null) => [number, number];
}

function draw(host: HTMLElement, { series, range }: Look): Plot {
  const axes = host.closest<HTMLElement>('.plots') ?? host;
  const line = { stroke: colour(axes, '--plot-grid'), width: 1 };
  const axis = { stroke: colour(axes), grid: line, ticks: { show: false }, font: '12px system-ui, sans-serif' };
  const plot = new uPlot(
    {
      width: host.clientWidth,
      height: HEIGHT,
      series,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: [-WINDOW_MS / 1000, 0] }, y: { range } },
      axes: [
        { ...axis, size: 26, values: (_plot, at) => at.map((second) => (second === 0 ? 'now' : `−${-second} s`)) },
        {
          ...axis,
          size: (_plot, labels) => widthFor(labels),
          incrs: wholeNumbers,
          values: (_plot, at) => at.map((value) => value.toLocaleString('en-GB')),
        },
      ],
    },
    [[], []],
    host,
  );
  const resizing = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height: HEIGHT }));
  resizing.observe(host);
  return {
    show: (data) => plot.setData(data),
    destroy() {
      resizing.disconnect();
      plot.destroy();
    },
  };
}

/** How wide an axis is, in pixels: as its longest label, at 7 a character in a font of 12, and no less than for “9,999”. */
function widthFor(labels: readonly string[] | null): number {
  return 12 + 7 * Math.max(6, ...(labels ?? []).map((label) => label.length));
}

const wholeNumbers = [1, 2, 5]
  .flatMap((step) => Array.from({ length: 16 }, (_, power) => step * 10 ** power))
  .sort((a, b) => a - b);

function steps(): uPlot.Series.PathBuilder {
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  if (!stepped) throw new Error('this uPlot draws no steps');
  return stepped;
}

/** The text colour of an element, or one of its variables, as it is when it is used. */
function colour(element: HTMLElement, variable?: string): () => string {
  return () => {
    const style = getComputedStyle(element);
    return variable ? style.getPropertyValue(variable) : style.color;
  };
}
