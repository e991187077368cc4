/** The upper ends of the buckets in which waits are counted, in seconds. */
export const WAIT_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** How long callers of one queue waited. Plain numbers, because statements of the hot path pass through such queues. */
export class WaitTimes {
  /** Waits per bucket. The last bucket counts those longer than every limit. */
  readonly inBucket: number[] = Array(WAIT_SECONDS.length + 1).fill(0);
  seconds = 0;
  /** Waits that ended with a refusal, and callers who were refused because too many waited. */
  refused = 0;

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < WAIT_SECONDS.length && seconds > (WAIT_SECONDS[bucket] as number)) bucket++;
    (this.inBucket[bucket] as number)++;
    this.seconds += seconds;
  }
}

/** The state of a queue for slots, as metrics show it. */
export interface QueueUse {
  /** What the slots are for. */
  readonly of: string;
  readonly slots: number;
  readonly inUse: number;
  readonly waiting: number;
  /** Of callers who had to wait. */
  readonly waits: WaitTimes;
}
