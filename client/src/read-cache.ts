import { CofferError } from './errors.ts';

export interface CacheOptions {
  /** How long a value is served without asking the service. */
  maxAgeMs: number;
  /** How many answers are kept: 1,024 unless given. The one not used for longest leaves first. */
  entries?: number;
  /** If the service cannot be reached, a value up to this age is served. Never unless given, and never after a refusal. */
  staleIfErrorMs?: number;
}

const ENTRIES = 1024;
/** Of all values together. */
const SIZE_MAX = 64 * 1024 * 1024;

interface Kept<T> {
  value: T;
  readAt: number;
}

/** Keeps what was read, in this process only. */
export class ReadCache<T> {
  readonly #maxAgeMs: number;
  readonly #entries: number;
  readonly #staleIfErrorMs: number;
  readonly #now: () => number;
  readonly #sizeOf: (value: T) => number;
  readonly #kept = new Map<string, Kept<T>>();
  #size = 0;

  constructor(
    { maxAgeMs, entries = ENTRIES, staleIfErrorMs = 0 }: CacheOptions,
    sizeOf: (value: T) => number,
    now = () => performance.now(),
  ) {
    this.#sizeOf = sizeOf;
    this.#maxAgeMs = maxAgeMs;
    this.#entries = entries;
    this.#staleIfErrorMs = staleIfErrorMs;
    this.#now = now;
  }

  async get(key: string, read: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#now() - kept.readAt < this.#maxAgeMs) {
      this.#keep(key, kept);
      return kept.value;
    }
    try {
      const readAt = this.#now();
      const value = await read();
      this.#keep(key, { value, readAt });
      return value;
    } catch (error) {
      if (kept !== undefined && isUnreachable(error) && this.#now() - kept.readAt < this.#staleIfErrorMs) {
        return kept.value;
      }
      // A credential that is not valid any more ends the right to everything; any other refusal to what was asked for.
      if (isInvalid(error)) this.#clear();
      else if (!isUnreachable(error)) this.#delete(key);
      throw error;
    }
  }

  /** Forgets what begins so: a vault, or one secret in all its versions. */
  forget(prefix: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(prefix)) this.#delete(key);
  }

  #keep(key: string, kept: Kept<T>): void {
    this.#delete(key);
    this.#kept.set(key, kept);
    this.#size += this.#sizeOf(kept.value);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#entries && this.#size <= SIZE_MAX) return;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#size -= this.#sizeOf(kept.value);
    this.#kept.delete(key);
  }

  #clear(): void {
    this.#kept.clear();
    this.#size = 0;
  }
}

function isInvalid(error: unknown): boolean {
  return error instanceof CofferError && error.status === 401;
}

/** There was no decision: no answer, or the service could not work. */
function isUnreachable(error: unknown): boolean {
  return (
    error instanceof CofferError && (error.status === 0 || error.status >= 500) && error.code !== 'INVALID_ARGUMENT'
  );
}
