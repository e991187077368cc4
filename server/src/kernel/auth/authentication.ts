import { BoundedCache } from '../base/bounded-cache.ts';
import { type Clock, SECOND_MS } from '../base/clock.ts';
import { CofferError } from '../base/errors.ts';
import type { CredentialKind, EndpointDeclaration } from '../endpoint/declaration.ts';
import type { Database, Reader } from '../storage/database.ts';
import type { Epochs } from '../storage/epochs.ts';
import type { SchemaFence } from '../storage/schema-fence.ts';
import type { Call, RoutedCall } from './call.ts';
import type { Actor, Principal } from './principal.ts';

/** Anyone who can write to the database could keep the epoch from rising, so cached principals are resolved again at this interval anyway. */
const TRUSTED_MS = 30 * SECOND_MS;
/** Including the policies of cached principals, each counted once. */
const PRINCIPALS_BYTES_MAX = 64 * 1024 * 1024;
/** A principal without its policies: the texts of its rows, and the credential it is cached under. */
const PRINCIPAL_BYTES = 4 * 1024;
const EPOCHS_BYTES_MAX = 4 * 1024 * 1024;
const EPOCH_BYTES = 128;

/** What a request proved in addition to its credential. */
export interface Proofs {
  /** A verified client certificate. */
  readonly mtls: boolean;
  readonly dpop: boolean;
}

export const NO_PROOFS: Proofs = { mtls: false, dpop: false };

/** The data a credential is resolved from. */
export interface View {
  readonly db: Reader;
  /** Must be called before any row that the epoch protects is read from `db`. */
  epochOf(tenantId: string): Promise<number | null> | number | null;
}

export interface Resolved {
  principal: Principal;
  /** Read before the rows of the principal, so that it can only be too old, never too new. */
  epoch: number;
  /** Checks what each request must show besides the credential, such as a certificate; throws to refuse. */
  prove?: Prove;
  /** The memory that `prove` holds, at most. */
  proofBytes?: number;
}

interface Cached extends Resolved {
  resolvedAt: number;
}

/** `isAgain`: the request was accepted before and is checked once more. It keeps what it was granted then, such as its place among the sessions. */
export type Prove = (request: RoutedCall, isAgain?: boolean) => Promise<Proofs>;

/** What authentication needs of the service. */
export interface AuthenticationParts {
  readonly database: Database;
  readonly epochs: Epochs;
  readonly schemaFence: SchemaFence;
  readonly clock: Clock;
}

/** One kind of credential, provided by the feature that issues it. */
export interface CredentialScheme {
  /** Set if the settings hold the credential: neither an epoch nor a row decides about it, so it is checked without the database. */
  readonly isConfigured?: true;
  /**
   * The credential of this request, or null if it has none of this scheme. Throws if it is malformed. Two schemes must never return the same text,
   * because resolved principals are cached under it.
   */
  detect(call: Call, declaration: EndpointDeclaration): string | null;
  /** `call` provides what the credential alone does not contain. The result must not depend on anything else in the request. */
  resolve(credential: string, call: Call, view: View): Promise<Resolved>;
}

export interface Authenticated {
  principal: Principal;
  epoch: number;
  proofs: Proofs;
}

export interface Gate {
  /** Called when the epoch is needed for a cached principal. If it returns null, the epoch is read without it. */
  prefetch(known: Principal): Promise<number | null> | null;
  /** Called when the credential is valid, before the rest of the request is checked. */
  recognize(principal: Principal): void;
}

/** Resolves a credential to a principal. The result is cached per credential and valid only as long as the tenant's epoch does not change. */
export class Authentication {
  readonly #schemes: readonly CredentialScheme[];
  readonly #epochs: Epochs;
  readonly #schemaFence: SchemaFence;
  readonly #committed: View;
  readonly #clock: Clock;
  readonly #cache = new BoundedCache<string, Cached>({
    bytesMax: PRINCIPALS_BYTES_MAX,
    bytesOf: ({ principal, proofBytes = 0 }, credential) =>
      PRINCIPAL_BYTES + credential.length + proofBytes + sizeOf(principal.ceilings),
    sharedParts: ({ principal }) => principal.policies,
  });
  /**
   * The highest epoch seen per tenant. An epoch that decreases was restored from an older state, in which revoked credentials would be valid again.
   */
  readonly #highest = new BoundedCache<string, number>({ bytesMax: EPOCHS_BYTES_MAX, bytesOf: () => EPOCH_BYTES });

  constructor(schemes: readonly CredentialScheme[], { database, epochs, schemaFence, clock }: AuthenticationParts) {
    this.#schemes = schemes;
    this.#epochs = epochs;
    this.#schemaFence = schemaFence;
    this.#committed = { db: database.read, epochOf: (tenantId) => epochs.current(tenantId) };
    this.#clock = clock;
  }

  /** Synchronous if nothing has to be awaited, because a promise costs as much as the lookup of a cached credential. */
  authenticate(
    request: RoutedCall,
    accepted: readonly CredentialKind[],
    gate: Gate,
  ): Authenticated | Promise<Authenticated> {
    const [scheme, credential] = this.#detect(request);
    if (scheme.isConfigured === true) {
      return scheme
        .resolve(credential, request.call, this.#committed)
        .then((resolved) => this.#accept(resolved, request, accepted, gate));
    }
    const known = this.#cache.get(credential);
    if (known === undefined) return this.#resolve({ scheme, credential }, request, accepted, gate);
    const { tenantId } = known.principal;
    const current = gate.prefetch(known.principal) ?? this.#epochs.current(tenantId);
    if (!(current instanceof Promise)) {
      if (this.#isCurrent(known, current)) return this.#accept(known, request, accepted, gate);
      return this.#resolve({ scheme, credential }, request, accepted, gate);
    }
    return current.then((epoch) =>
      this.#isCurrent(known, epoch)
        ? this.#accept(known, request, accepted, gate)
        : this.#resolve({ scheme, credential }, request, accepted, gate),
    );
  }

  #isCurrent({ principal: { tenantId }, epoch: known, resolvedAt }: Cached, epoch: number | null): boolean {
    if (epoch === null || performance.now() - resolvedAt > TRUSTED_MS) return false;
    const highest = this.#highest.get(tenantId) ?? 0;
    if (epoch > highest) this.#highest.set(tenantId, epoch);
    return epoch === known && epoch >= highest;
  }

  async #resolve(
    { scheme, credential }: { scheme: CredentialScheme; credential: string },
    request: RoutedCall,
    accepted: readonly CredentialKind[],
    gate: Gate,
  ): Promise<Authenticated> {
    this.#cache.delete(credential);
    const resolvedAt = performance.now();
    const [resolved] = await Promise.all([
      scheme.resolve(credential, request.call, this.#committed),
      this.#schemaFence.check(),
    ]);
    this.#cache.set(credential, { ...resolved, resolvedAt });
    return this.#accept(resolved, request, accepted, gate);
  }

  /**
   * Checks a request again that was accepted before, with the caller as `view` shows it now. Nothing is cached, because a transaction may see rows
   * that are never committed.
   */
  async again(request: RoutedCall, accepted: readonly CredentialKind[], view: View): Promise<Authenticated> {
    const [scheme, credential] = this.#detect(request);
    const resolved = await scheme.resolve(credential, request.call, view);
    await this.#schemaFence.check();
    this.#refuseUnusable(resolved, request, accepted);
    const { principal, epoch, prove } = resolved;
    return { principal, epoch, proofs: prove === undefined ? NO_PROOFS : await prove(request, true) };
  }

  #accept(
    resolved: Resolved,
    request: RoutedCall,
    accepted: readonly CredentialKind[],
    gate: Gate,
  ): Authenticated | Promise<Authenticated> {
    this.#refuseUnusable(resolved, request, accepted);
    const { principal, epoch, prove } = resolved;
    if (prove === undefined) return { principal, epoch, proofs: NO_PROOFS };
    gate.recognize(principal);
    return prove(request).then((proofs) => ({ principal, epoch, proofs }));
  }

  #refuseUnusable({ principal, epoch }: Resolved, { call }: RoutedCall, accepted: readonly CredentialKind[]): void {
    // A token that a program put into the cookie outlives every sign-out of the console.
    if (call.session !== undefined && principal.credential !== 'session') {
      throw invalidToken('the cookie of the console holds no session');
    }
    if (principal.expiresAt <= this.#clock.now()) throw invalidToken('the token has expired', principal);
    if (!accepted.includes(principal.credential)) throw new UnacceptedKind(principal, epoch, accepted);
  }

  /** A request must have exactly one credential. With two, an attacker could influence which one counts. */
  #detect({ call, declaration }: RoutedCall): [CredentialScheme, string] {
    let found: [CredentialScheme, string] | null = null;
    for (const scheme of this.#schemes) {
      const credential = scheme.detect(call, declaration);
      if (credential === null) continue;
      if (found !== null) throw twoCredentials();
      found = [scheme, credential];
    }
    if (found === null) throw invalidToken('no credential was given');
    return found;
  }
}

function sizeOf(ceilings: Principal['ceilings']): number {
  let bytes = 0;
  for (const ceiling of ceilings) bytes += ceiling.bytes;
  return bytes;
}

/** The credential is valid, but this endpoint does not accept its kind. */
export class UnacceptedKind extends Error {
  readonly principal: Principal;
  readonly epoch: number;
  readonly accepted: readonly CredentialKind[];

  constructor(principal: Principal, epoch: number, accepted: readonly CredentialKind[]) {
    super('unaccepted kind of credential');
    this.principal = principal;
    this.epoch = epoch;
    this.accepted = accepted;
  }
}

const NO_TOKEN =
  'The token is missing, malformed, expired or revoked. Send a valid one as "Authorization: Bearer <token>".';

/** The caller learns only that the credential is invalid. The audit log records why, and the owner if that is certain. */
export class RefusedCredential extends CofferError {
  readonly owner: (Actor & { tenantId: string }) | null;
  /** What is recorded about the credential: names and ids, nothing secret. */
  readonly presented: Readonly<Record<string, string>> | null;

  constructor(
    reason: string,
    owner: RefusedCredential['owner'],
    message = NO_TOKEN,
    presented: RefusedCredential['presented'] = null,
  ) {
    super('INVALID_TOKEN', message, {
      auditReason: reason,
      headers: { 'WWW-Authenticate': 'Bearer' },
      // For a machine, even the existence of the client would help somebody who guesses.
      details: owner?.kind === 'user' ? { jti: owner.key } : undefined,
    });
    this.owner = owner;
    this.presented = presented;
  }
}

/** The caller knows what they sent, so this reveals nothing about either credential. */
export function twoCredentials(): RefusedCredential {
  return new RefusedCredential('two credentials were sent', null, TWO_CREDENTIALS);
}
const TWO_CREDENTIALS =
  'The request has two credentials: send one of them, such as "Authorization: Bearer <token>" or the client headers.';

export function invalidToken(reason: string, principal?: Principal): RefusedCredential {
  const owner = principal && {
    tenantId: principal.tenantId,
    kind: principal.kind,
    id: principal.id,
    name: principal.name,
    key: principal.credentialId,
  };
  return new RefusedCredential(reason, owner ?? null);
}
