import { type Clock, MINUTE_MS, SECOND_MS } from '../base/clock.ts';
import { SealError } from './provider.ts';
import type { ServiceCalls } from './service-calls.ts';

const RENEW_BEFORE_MS = 5 * MINUTE_MS;
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

export interface IssuedToken {
  readonly token: string;
  readonly lifeMs: number;
}

/** An access token that is got again before it ends, and once when it is refused. */
export class BearerToken {
  readonly #clock: Clock;
  readonly #get: () => Promise<IssuedToken>;
  #held: { token: string; renewAt: number } | null = null;
  #getting: Promise<string> | null = null;

  constructor(clock: Clock, get: () => Promise<IssuedToken>) {
    this.#clock = clock;
    this.#get = get;
  }

  async use<T>(work: (token: string) => Promise<T>): Promise<T> {
    const token = await this.#current();
    try {
      return await work(token);
    } catch (error) {
      if (!(error instanceof SealError) || error.problem !== 'denied') throw error;
      if (this.#held?.token === token) this.#held = null;
      return work(await this.#current());
    }
  }

  async #current(): Promise<string> {
    if (this.#held !== null && this.#clock.now() < this.#held.renewAt) return this.#held.token;
    this.#getting ??= this.#renewed().finally(() => {
      this.#getting = null;
    });
    return this.#getting;
  }

  async #renewed(): Promise<string> {
    const { token, lifeMs } = await this.#get();
    const renewAt = this.#clock.now() + lifeMs - Math.min(RENEW_BEFORE_MS, lifeMs / 2);
    this.#held = { token, renewAt };
    return token;
  }
}

/** A response of OAuth 2.0 (RFC 6749, 5.1). Azure writes the seconds as text. */
export function issuedToken(calls: ServiceCalls, members: Record<string, unknown>): IssuedToken {
  const token = calls.text(members, 'access_token');
  const seconds = Number(members['expires_in']);
  if (!TOKEN.test(token) || !Number.isFinite(seconds) || seconds <= 0) throw calls.malformed();
  return { token, lifeMs: seconds * SECOND_MS };
}
