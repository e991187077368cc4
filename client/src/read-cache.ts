import { CofferError } from './errors.ts';

export interface CacheOptions {
  /** How long a value is served without asking the service. */
  maxAgeMs: number;
  /** How many responses are cached: 1,024 unless given. The least recently used one is evicted first. */
  entries?: number;
  /** If the service cannot be reached, a value up to this age is served. Never unless given, and never after a refusal. */
  staleIfErrorMs?: number;
}

const ENTRIES = 1024;
/** Of all values together. */
const SIZE_MAX = 64 * 1024 * 1024;

interface Cached<T> {
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
  readonly #cached = new Map<string, Cached<T>>();
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
    const cached = this.#cached.get(key);
    if (cached !== undefined && this.#now() - cached.readAt < this.#maxAgeMs) {
      this.#keep(key, cached);
      return cached.value;
    }
    try {
      const readAt = this.#now();
      const value = await read();
      this.#keep(key, { value, readAt });
      return value;
    } catch (error) {
      if (cached !== undefined && isUnreachable(error) && this.#now() - cached.readAt < this.#staleIfErrorMs) {
        return cached.value;
      }
      // A credential that is not valid any more ends the right to everything; any other refusal ends the right to this response.
      if (isInvalid(error)) this.#clear();
      else if (!isUnreachable(error)) this.#delete(key);
      throw error;
    }
  }

  /** Evicts every key with this beginning: a vault, or one secret in all its versions. */
  evict(prefix: string): void {
    for (const key of this.#cached.keys()) if (key.startsWith(prefix)) this.#delete(key);
  }

  #keep(key: string, cached: Cached<T>): void {
    this.#delete(key);
    this.#cached.set(key, cached);
    this.#size += this.#sizeOf(cached.value);
    for (const oldest of this.#cached.keys()) {
      if (this.#cached.size <= this.#entries && this.#size <= SIZE_MAX) return;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    const cached = this.#cached.get(key);
    if (cached === undefined) return;
    this.#size -= this.#sizeOf(cached.value);
    this.#cached.delete(key);
  }

  #clear(): void {
    this.#cached.clear();
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
