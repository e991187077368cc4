import type { IncomingHttpHeaders } from 'node:http';
import { BoundedCache } from '../bounded-cache.ts';
import type { Clock } from '../clock.ts';
import type { CredentialKind } from '../endpoint.ts';
import { CofferError } from '../errors.ts';
import type { Principal } from '../principal.ts';
import type { Epochs } from '../storage/epochs.ts';

const CACHE_CAPACITY = 20_000;

export interface Resolved {
  principal: Principal;
  /** Read before the rows the principal was made from, so that it can only be too old, never too new. */
  epoch: number;
}

/** One way to present a credential, offered by the feature that issues it. */
export interface CredentialScheme {
  /** The credential in these headers, or null if there is none of this scheme. Throws if it is there but malformed. */
  detect(headers: IncomingHttpHeaders): string | null;
  resolve(credential: string): Promise<Resolved>;
}

/** Turns a credential into a principal. Cached per credential, and trusted only while the tenant's epoch stands. */
export class Authentication {
  readonly #schemes: readonly CredentialScheme[];
  readonly #epochs: Epochs;
  readonly #clock: Clock;
  readonly #cache = new BoundedCache<string, Resolved>(CACHE_CAPACITY);

  constructor(schemes: readonly CredentialScheme[], epochs: Epochs, clock: Clock) {
    this.#schemes = schemes;
    this.#epochs = epochs;
    this.#clock = clock;
  }

  /** `admit` is asked before a credential never seen before is examined: the place to slow guessers down. */
  async authenticate(
    headers: IncomingHttpHeaders,
    accepted: readonly CredentialKind[],
    admit: () => void,
  ): Promise<Principal> {
    const [scheme, credential] = this.#detect(headers);
    let resolved = this.#cache.get(credential);
    if (resolved === undefined) admit();
    else {
      const current = this.#epochs.current(resolved.principal.tenantId);
      const epoch = current instanceof Promise ? await current : current;
      if (epoch !== resolved.epoch) resolved = undefined;
    }
    if (resolved === undefined) {
      this.#cache.delete(credential);
      resolved = await scheme.resolve(credential);
      this.#cache.set(credential, resolved);
    }
    const { principal } = resolved;
    if (principal.expiresAt <= this.#clock.now()) throw invalidToken('the token has expired', principal);
    if (!accepted.includes(principal.credential)) {
      throw invalidToken(`a ${principal.credential} is not accepted here`, principal);
    }
    return principal;
  }

  #detect(headers: IncomingHttpHeaders): [CredentialScheme, string] {
    for (const scheme of this.#schemes) {
      const credential = scheme.detect(headers);
      if (credential !== null) return [scheme, credential];
    }
    throw invalidToken('no credential was given');
  }
}

/** The caller learns only that the token is no good; the audit log learns why, and whose it was if that is certain. */
export class RefusedCredential extends CofferError {
  readonly owner: { tenantId: string; id: string; name: string; key: string } | null;

  constructor(reason: string, owner: RefusedCredential['owner']) {
    super(
      'INVALID_TOKEN',
      'The token is missing, malformed, expired or revoked. Send a valid one as "Authorization: Bearer <token>".',
      {
        auditReason: reason,
        headers: { 'WWW-Authenticate': 'Bearer' },
        details: owner === null ? undefined : { jti: owner.key },
      },
    );
    this.owner = owner;
  }
}

export function invalidToken(reason: string, principal?: Principal): RefusedCredential {
  const owner = principal && {
    tenantId: principal.tenantId,
    id: principal.id,
    name: principal.name,
    key: principal.credentialId,
  };
  return new RefusedCredential(reason, owner ?? null);
}
