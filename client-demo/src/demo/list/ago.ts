const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];
const format = new Intl.RelativeTimeFormat('en-GB', { numeric: 'auto' });

/** “3 minutes ago”, in the largest unit that fits; the last minute is “just now”. */
export function ago(then: number, now: number): string {
  const passed = now - then;
  const unit = units.find(([, millis]) => passed >= millis);
  return unit ? format.format(-Math.floor(passed / unit[1]), unit[0]) : 'just now';
}
