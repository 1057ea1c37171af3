import { itemOf } from '../catalogue';
import { grouped } from '../feed/likeLine';
import { usePane } from '../pane/PaneContext';
import { type BurstState, cancelBurst, LIKES, startBurst, useBurst } from './bursts';

/** “Send a burst”, how far it is, and what became of it. */
export function BurstPanel({ itemId }: { itemId: string }) {
  const burst = useBurst();
  const { announce } = usePane();
  const sending = burst !== null && burst.millis === null;
  const own = burst?.itemId === itemId ? burst : null;

  const start = async () => {
    const over = await startBurst(itemId);
    if (over) announce(summary(over));
  };

  return (
    <section className="burst panel">
      <div>
        <h3>A rush of likes</h3>
        <div className="burst-text">
          {/* Keeps its room where something else is shown, so that nothing below moves. */}
          <p className="muted" data-hidden={sending || own !== null}>
            {LIKES} people who do not exist like this, as fast as they can. Keep tapping.
          </p>
          {sending ? (
            <label className="burst-progress">
              <progress max={LIKES} value={burst.done + burst.failed} />
              <span>
                {own ? '' : `${itemOf(burst.itemId).title}: `}
                {grouped(burst.done + burst.failed)} of {LIKES}
              </span>
            </label>
          ) : (
            own && <p className="burst-summary">{summary(own)}</p>
          )}
        </div>
      </div>
      {sending ? (
        <button type="button" className="button" onClick={cancelBurst}>
          Cancel
        </button>
      ) : (
        <button type="button" className="button primary" onClick={() => void start()}>
          Send a burst
        </button>
      )}
    </section>
  );
}

function summary({ done, failed, reason, broken, millis, cancelled }: BurstState): string {
  const likes = `${grouped(done)} ${done === 1 ? 'like' : 'likes'} in ${((millis ?? 0) / 1000).toFixed(1)} s`;
  const end = cancelled ? ', then cancelled' : broken ? ', then the server could not be reached' : '';
  const failures = failed > 0 ? `, ${grouped(failed)} failed: ${reason}` : '';
  return `${likes}${end}${failures}`;
}
