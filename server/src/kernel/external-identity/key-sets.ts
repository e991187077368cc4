import { BoundedCache, KEY_PAIR_BYTES } from '../base/bounded-cache.ts';
import { type Clock, SECOND_MS } from '../base/clock.ts';
import { type HttpClient, type OutgoingAnswer, OutgoingFailure, parseOutgoingUrl } from '../outbound/http-client.ts';
import { parseJson } from '../wire/json.ts';
import type { JwsAlgorithm } from './algorithms.ts';
import { candidateKeys, type ExternalKey, isRecord, type KeySet, parseKeySet } from './key-set.ts';
import { ExternalIdentityRefusal, refuse } from './refusal.ts';

const BYTES_MAX = 32 * 1024 * 1024;
const SET_BYTES = 1024;
const DOCUMENT_BYTES_MAX = 256 * 1024;
/** An unknown key id triggers a fetch of new keys, but invalid tokens must not cause constant fetches. */
export const MISS_COOLDOWN_MS = 30 * SECOND_MS;
/** A source that failed is not fetched again at once. */
export const FAILURE_COOLDOWN_MS = 5 * SECOND_MS;
const DISCOVERY_PATH = '/.well-known/openid-configuration';

/** The source of keys, and how long they are cached. Every field that affects a decision is part of the cache key. */
export interface KeySource {
  /** The tenant: keys fetched for one tenant's settings are never used for another's. */
  readonly owner: string;
  /** If `jwksUrl` is null, the keys are found by discovery from the issuer. */
  readonly issuer: string;
  readonly jwksUrl: string | null;
  readonly ttlMs: number;
  /** See `OutgoingRequest.onlyOpened`. */
  readonly onlyOpened?: boolean;
}

interface CachedSet {
  known: KeySet | null;
  until: number;
  /** When an unknown key id last triggered a fetch. */
  missedAt: number;
  failure: { at: number; error: ExternalIdentityRefusal } | null;
  /** Concurrent callers wait for the same fetch. */
  fetching: Promise<KeySet> | null;
}

function nameOf({ owner, issuer, jwksUrl, ttlMs, onlyOpened = false }: KeySource): string {
  return JSON.stringify([owner, issuer, jwksUrl, ttlMs, onlyOpened]);
}

/** Public keys of outside issuers, fetched when needed and cached for a while. */
export class KeySets {
  readonly #http: HttpClient;
  readonly #clock: Clock;
  readonly #sets = new BoundedCache<string, CachedSet>({
    bytesMax: BYTES_MAX,
    bytesOf: ({ known }, name) => SET_BYTES + 2 * name.length + (known?.keys.length ?? 0) * KEY_PAIR_BYTES,
  });

  constructor(http: HttpClient, clock: Clock) {
    this.#http = http;
    this.#clock = clock;
  }

  /** The one key that can have signed a token with this header. */
  async find(source: KeySource, kid: string | null, algorithm: JwsAlgorithm): Promise<ExternalKey> {
    const cached = this.#cached(source);
    const before = cached.known;
    let set = await this.#current(cached, source);
    let found = candidateKeys(set.keys, kid, algorithm);
    // The issuer may have changed its keys since they were cached, but not if they were fetched just now.
    if (found.length === 0 && set === before && this.#mayLookAgain(cached)) {
      set = await this.#fetch(cached, source);
      found = candidateKeys(set.keys, kid, algorithm);
    }
    const [key, ...more] = found;
    if (kid !== null && set.duplicateKids.has(kid)) notFound('the key set has several keys with this id');
    if (key === undefined) notFound('the key set has no such key');
    if (more.length > 0) refuse('the token does not say which of several keys signed it');
    return key;
  }

  #mayLookAgain(cached: CachedSet): boolean {
    const now = this.#clock.now();
    if (cached.fetching !== null) return true;
    if (now - cached.missedAt < MISS_COOLDOWN_MS) return false;
    cached.missedAt = now;
    return true;
  }

  async #current(cached: CachedSet, source: KeySource): Promise<KeySet> {
    const now = this.#clock.now();
    if (cached.known !== null && now < cached.until) return cached.known;
    const { failure } = cached;
    if (failure !== null && now - failure.at < FAILURE_COOLDOWN_MS) throw failure.error;
    return this.#fetch(cached, source);
  }

  #cached(source: KeySource): CachedSet {
    const name = nameOf(source);
    let cached = this.#sets.get(name);
    if (cached === undefined) {
      cached = { known: null, until: 0, missedAt: Number.NEGATIVE_INFINITY, failure: null, fetching: null };
      this.#sets.set(name, cached);
    }
    return cached;
  }

  /** A failure keeps the known keys, which stay valid until their TTL expires. */
  #fetch(cached: CachedSet, source: KeySource): Promise<KeySet> {
    cached.fetching ??= this.#fetched(source)
      .then(
        (set) => {
          cached.known = set;
          cached.until = this.#clock.now() + source.ttlMs;
          cached.failure = null;
          // Stored again, because its size has grown.
          this.#sets.set(nameOf(source), cached);
          return set;
        },
        (thrown) => {
          const error = thrown instanceof ExternalIdentityRefusal ? thrown : failureOf(thrown);
          cached.failure = { at: this.#clock.now(), error };
          throw error;
        },
      )
      .finally(() => {
        cached.fetching = null;
      });
    return cached.fetching;
  }

  async #fetched(source: KeySource): Promise<KeySet> {
    const url = source.jwksUrl ?? (await this.#discover(source));
    return parseKeySet(await this.#document(url, source, 'the key set')) ?? refuse('the key set is malformed');
  }

  /** OpenID Connect Discovery 1.0, 4.3: a document that names another issuer belongs to somebody else. */
  async #discover(source: KeySource): Promise<string> {
    const base = source.issuer.endsWith('/') ? source.issuer.slice(0, -1) : source.issuer;
    const document = await this.#document(`${base}${DISCOVERY_PATH}`, source, 'the discovery document');
    const { issuer, jwks_uri } = isRecord(document) ? document : {};
    if (issuer !== source.issuer) refuse('the discovery document names another issuer');
    if (typeof jwks_uri === 'string' && parseOutgoingUrl(jwks_uri) !== null) return jwks_uri;
    return refuse('the discovery document names no usable key set');
  }

  async #document(url: string, { owner, onlyOpened = false }: KeySource, what: string): Promise<unknown> {
    const headers = { accept: 'application/json' };
    let answer: OutgoingAnswer;
    try {
      answer = await this.#http.send({
        owner,
        url,
        method: 'GET',
        headers,
        bodyBytesMax: DOCUMENT_BYTES_MAX,
        onlyOpened,
      });
    } catch (error) {
      if (error instanceof OutgoingFailure) refuse(`${what} cannot be fetched: ${error.message}`);
      throw error;
    }
    if (answer.status !== 200) refuse(`${what} cannot be fetched: status ${answer.status}`);
    if (!JSON_TYPES.test(answer.contentType)) refuse(`${what} is not JSON`);
    try {
      return parseJson(answer.body);
    } catch {
      return refuse(`${what} is not JSON`);
    }
  }
}

const JSON_TYPES = /^application\/(?:[a-z0-9.-]+\+)?json$/;

function notFound(reason: string): never {
  throw new ExternalIdentityRefusal(reason, 'JWKS_KEY_NOT_FOUND');
}

function failureOf(thrown: unknown): ExternalIdentityRefusal {
  return new ExternalIdentityRefusal(
    `the keys cannot be fetched: ${thrown instanceof Error ? thrown.name : 'unknown'}`,
  );
}
