/** Something that expires: its value, and how long it lasts from the moment it was received. */
export interface Lease<T> {
  value: T;
  lifeMs: number;
}

/** Renewed at two thirds of its life, up to a tenth earlier, so that many clients do not come at once. */
const RENEW_AT = 2 / 3;
const JITTER = 0.1;
/** If renewing fails while the old value still lives, it is tried again after this. */
const RETRY_MS = 5_000;
/** Setting the time of the machine does not change this clock. */
const monotonic = () => performance.now();

/** Keeps a value that expires: obtains it when it is first wanted, and renews it in time, once for all who ask. */
export class Renewing<T> {
  readonly #obtain: () => Promise<Lease<T>>;
  readonly #now: () => number;
  #current: { value: T; renewAt: number; endsAt: number } | null = null;
  #obtaining: Promise<T> | null = null;

  constructor(obtain: () => Promise<Lease<T>>, now: () => number = monotonic) {
    this.#obtain = obtain;
    this.#now = now;
  }

  /** A value is never handed out after its end. */
  async get(): Promise<T> {
    const current = this.#current;
    if (current !== null && this.#now() < current.renewAt) return current.value;
    try {
      return await this.#renewed();
    } catch (error) {
      // Discarded in the meantime, or at its end: there is nothing left to go on with.
      if (current === null || this.#current !== current || this.#now() >= current.endsAt) throw error;
      current.renewAt = Math.min(this.#now() + RETRY_MS, current.endsAt);
      return current.value;
    }
  }

  /** The service does not accept this value any more: the next caller gets a new one. */
  discard(isRefused: (value: T) => boolean): void {
    if (this.#current !== null && isRefused(this.#current.value)) this.#current = null;
  }

  #renewed(): Promise<T> {
    this.#obtaining ??= this.#obtain()
      .then(({ value, lifeMs }) => {
        const renewAt = this.#now() + lifeMs * RENEW_AT * (1 - JITTER * Math.random());
        this.#current = { value, renewAt, endsAt: this.#now() + lifeMs };
        return value;
      })
      .finally(() => {
        this.#obtaining = null;
      });
    return this.#obtaining;
  }
}
