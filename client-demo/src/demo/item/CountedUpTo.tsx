import { useLike } from '../../like/useLike';

const time = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 1,
});

/** The instant before which every like is in the count. */
export function CountedUpTo({ itemId }: { itemId: string }) {
  const { countAsOf } = useLike(itemId);
  return (
    <p className="muted counted">
      {countAsOf === null ? (
        'Not counted yet'
      ) : (
        <>
          Counted up to <time dateTime={countAsOf}>{time.format(new Date(countAsOf))}</time>
        </>
      )}
    </p>
  );
}
