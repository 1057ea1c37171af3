import { useEffect, useState } from 'react';

import { useConnection } from '../../api/connection';
import { usePane } from '../pane/PaneContext';
import { PlotFrames } from './PlotFrames';

type LivePlot = typeof import('./LivePlot').LivePlot;

/** What is live of an item. Offline, or from a server of another version, the plot may not come; all else does without it. */
export function Plots({ itemId }: { itemId: string }) {
  const isLive = useConnection(usePane().connection) === 'live';
  const [Plot, setPlot] = useState<LivePlot | null>(null);
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    if (isMissing) return;
    let isOver = false;
    import('./LivePlot').then(
      (module) => isOver || setPlot(() => module.LivePlot),
      () => isOver || setMissing(true),
    );
    return () => {
      isOver = true;
    };
  }, [isMissing]);
  // Whenever the connection is back, it is tried again.
  useEffect(() => {
    if (isLive) setMissing(false);
  }, [isLive]);
  return (
    <section className="panel" aria-label="Live">
      {isMissing ? (
        <p className="empty">The plot could not be loaded. Reload the page to see it.</p>
      ) : Plot === null ? (
        <PlotFrames />
      ) : (
        <Plot itemId={itemId} />
      )}
    </section>
  );
}
