/** A drawing of lines on 20 × 20, for a button that has a name. */
export function Icon({ path }: { path: string }) {
  return (
    <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true" fill="none" stroke="currentColor">
      <path d={path} strokeWidth="1.7" />
    </svg>
  );
}

export const CLOSE = 'M5 5l10 10M15 5L5 15';
