import { useEffect, useRef, useState } from 'react';
import 'uplot/dist/uPlot.min.css';

import { drawCount, drawRate, type Plot } from './charts';
import { PlotFrames } from './PlotFrames';
import { countLine, inWords, pushRate } from './samples';
import { useSamples } from './useSamples';

/** How often the plot moves on; with reduced motion, once a second. */
const FRAME_MS = 200;
/** How often its description is written anew, for whoever reads it. */
const WORDS_MS = 5000;

/** The count of an item and its pushes per second, as they come. */
export function LivePlot({ itemId }: { itemId: string }) {
  const samples = useSamples(itemId);
  const count = useRef<HTMLDivElement>(null);
  const rate = useRef<HTMLDivElement>(null);
  const [words, setWords] = useState('');

  useEffect(() => {
    if (!count.current || !rate.current) return;
    const countPlot = drawCount(count.current);
    const ratePlot = drawRate(rate.current);
    const draw = () => {
      const now = performance.now();
      countPlot.show(countLine(samples.current, now));
      ratePlot.show(pushRate(samples.current, now));
    };
    const stop = animate(draw);
    const describe = () => setWords(inWords(samples.current, performance.now()));
    describe();
    const describing = setInterval(describe, WORDS_MS);
    return () => {
      stop();
      clearInterval(describing);
      for (const plot of [countPlot, ratePlot] satisfies Plot[]) plot.destroy();
    };
  }, [samples]);

  return <PlotFrames words={words} count={count} rate={rate} />;
}

/** Draws now and again, but not in a hidden tab. */
function animate(draw: () => void): () => void {
  const calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
  let frame = 0;
  const timer = setInterval(
    () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(draw);
    },
    calm ? 1000 : FRAME_MS,
  );
  draw();
  return () => {
    clearInterval(timer);
    cancelAnimationFrame(frame);
  };
}
