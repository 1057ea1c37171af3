/** What is promised, in milliseconds. Tests wait up to four times as long, since the machine is shared. */
export const promised = {
  /** A tap shows in the next frame; what a test can see of it takes a few round trips to the browser. */
  tap: 250,
  /** Somebody else's like; also what the network lost is read again within a second. */
  push: 1_000,
  /** A tab that was hidden is right again once it is shown. */
  shown: 2_000,
  /** Counts are called stale after five seconds, and the page asks for them every ten. */
  stale: 15_000,
  /** A like that is not answered is undone: no try begins after ten seconds, and one takes four at most. */
  givingUp: 14_000,
} as const;

export function within(promise: keyof typeof promised): { timeout: number; interval: number } {
  return { timeout: 4 * promised[promise], interval: 20 };
}
