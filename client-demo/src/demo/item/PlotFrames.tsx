import type { Ref } from 'react';

interface Props {
  /** What the count did, in words. */
  words?: string;
  count?: Ref<HTMLDivElement>;
  rate?: Ref<HTMLDivElement>;
}

/** The places of both plots, which are there before anything is drawn. */
export function PlotFrames({ words = '', count, rate }: Props) {
  return (
    <div className="plots">
      <figure>
        <figcaption aria-hidden="true">Likes, last minute</figcaption>
        <div className="plot plot-count" role="img" aria-label={`Likes over the last minute. ${words}`} ref={count} />
      </figure>
      <figure>
        <figcaption aria-hidden="true">Pushes per second</figcaption>
        <div className="plot plot-rate" role="img" aria-label="Pushes per second over the last minute." ref={rate} />
      </figure>
    </div>
  );
}
