import { BoundedCache } from '../bounded-cache.ts';
import type { Call } from '../call.ts';
import { type Clock, SECOND_MS } from '../clock.ts';
import type { CredentialKind, EndpointDeclaration } from '../endpoint.ts';
import { CofferError } from '../errors.ts';
import type { Actor, Principal } from '../principal.ts';
import type { Database, Reader } from '../storage/database.ts';
import type { Epochs } from '../storage/epochs.ts';

/** Whoever writes to the database could keep the epoch from rising, so what it stands for is read again now and then all the same. */
const TRUSTED_MS = 30 * SECOND_MS;
/** With the policies that cached principals have, each counted once. */
const PRINCIPALS_BYTES_MAX = 64 * 1024 * 1024;
/** A principal without its rules: texts of the rows it was made from, and the credential it is found by. */
const PRINCIPAL_BYTES = 4 * 1024;
const EPOCHS_BYTES_MAX = 4 * 1024 * 1024;
const EPOCH_BYTES = 128;

/** What a request proved beyond knowing the credential. */
export interface Proofs {
  /** The client's certificate, as checked. */
  readonly mtls: boolean;
  readonly dpop: boolean;
}

export const NO_PROOFS: Proofs = { mtls: false, dpop: false };

/** One request, as far as a proof must fit it. */
export interface ProofRequest {
  readonly call: Call;
  readonly declaration: EndpointDeclaration;
  readonly now: number;
}

/** What a credential is resolved from. */
export interface View {
  readonly db: Reader;
  /** Asked before anything is read from `db` that the epoch stands for. */
  epochOf(tenantId: string): Promise<number | null> | number | null;
}

export interface Resolved {
  principal: Principal;
  /** Read before the rows the principal was made from, so that it can only be too old, never too new. */
  epoch: number;
  /** What each request must show beside the credential, such as a certificate; refuses by throwing. */
  prove?: Prove;
  /** What `prove` holds in memory, at most. */
  proofBytes?: number;
}

interface Cached extends Resolved {
  resolvedAt: number;
}

/** `isAgain`: the request was let in before, and is decided on once more. What admits it, such as a place among sessions, it has. */
export type Prove = (request: ProofRequest, isAgain?: boolean) => Promise<Proofs>;

/** One way to present a credential, offered by the feature that issues it. */
export interface CredentialScheme {
  /**
   * The credential of this request, or null if there is none of this scheme. Throws if it is there but malformed. No two schemes may have
   * the same text for one: what was resolved is kept by it.
   */
  detect(call: Call, declaration: EndpointDeclaration): string | null;
  /** `call` is for what a credential alone does not hold; what it resolves to must not depend on anything else of the request. */
  resolve(credential: string, call: Call, view: View): Promise<Resolved>;
}

export interface Authenticated {
  principal: Principal;
  epoch: number;
  proofs: Proofs;
}

export interface Gate {
  /** Asked when the epoch is wanted for a principal known from before; null leaves the question to us. */
  prefetch(known: Principal): Promise<number | null> | null;
  /** The credential is good; whether the rest of the request is remains to be seen. */
  recognize(principal: Principal): void;
}

/** Turns a credential into a principal. Cached per credential, and trusted only while the tenant's epoch stands. */
export class Authentication {
  readonly #schemes: readonly CredentialScheme[];
  readonly #epochs: Epochs;
  readonly #committed: View;
  readonly #clock: Clock;
  readonly #cache = new BoundedCache<string, Cached>({
    bytesMax: PRINCIPALS_BYTES_MAX,
    bytesOf: ({ principal, proofBytes = 0 }, credential) =>
      PRINCIPAL_BYTES + credential.length + proofBytes + sizeOf(principal.ceilings),
    sharedParts: ({ principal }) => principal.policies,
  });
  /** The highest epoch of each tenant that was seen: one that goes back was put back, and with it what was revoked since would count again. */
  readonly #highest = new BoundedCache<string, number>({ bytesMax: EPOCHS_BYTES_MAX, bytesOf: () => EPOCH_BYTES });

  constructor(
    schemes: readonly CredentialScheme[],
    { database, epochs, clock }: { database: Database; epochs: Epochs; clock: Clock },
  ) {
    this.#schemes = schemes;
    this.#epochs = epochs;
    this.#committed = { db: database.read, epochOf: (tenantId) => epochs.current(tenantId) };
    this.#clock = clock;
  }

  /** At once where nothing has to be waited for: a promise costs as much as finding a known credential. */
  authenticate(
    request: ProofRequest,
    accepted: readonly CredentialKind[],
    gate: Gate,
  ): Authenticated | Promise<Authenticated> {
    const [scheme, credential] = this.#detect(request);
    const known = this.#cache.get(credential);
    if (known === undefined) return this.#resolve(scheme, credential, request, accepted, gate);
    const { tenantId } = known.principal;
    const current = gate.prefetch(known.principal) ?? this.#epochs.current(tenantId);
    if (!(current instanceof Promise)) {
      if (this.#isCurrent(known, current)) return this.#accept(known, request, accepted, gate);
      return this.#resolve(scheme, credential, request, accepted, gate);
    }
    return current.then((epoch) =>
      this.#isCurrent(known, epoch)
        ? this.#accept(known, request, accepted, gate)
        : this.#resolve(scheme, credential, request, accepted, gate),
    );
  }

  #isCurrent({ principal: { tenantId }, epoch: known, resolvedAt }: Cached, epoch: number | null): boolean {
    if (epoch === null || performance.now() - resolvedAt > TRUSTED_MS) return false;
    const highest = this.#highest.get(tenantId) ?? 0;
    if (epoch > highest) this.#highest.set(tenantId, epoch);
    return epoch === known && epoch >= highest;
  }

  async #resolve(
    scheme: CredentialScheme,
    credential: string,
    request: ProofRequest,
    accepted: readonly CredentialKind[],
    gate: Gate,
  ): Promise<Authenticated> {
    this.#cache.delete(credential);
    const resolvedAt = performance.now();
    const resolved = await scheme.resolve(credential, request.call, this.#committed);
    this.#cache.set(credential, { ...resolved, resolvedAt });
    return this.#accept(resolved, request, accepted, gate);
  }

  /**
   * Decides once more on a request that was let in before, as `view` shows its caller now. Nothing is cached: a transaction sees what may
   * never be committed.
   */
  async again(request: ProofRequest, accepted: readonly CredentialKind[], view: View): Promise<Authenticated> {
    const [scheme, credential] = this.#detect(request);
    const resolved = await scheme.resolve(credential, request.call, view);
    this.#refuseUnusable(resolved, accepted);
    const { principal, epoch, prove } = resolved;
    return { principal, epoch, proofs: prove === undefined ? NO_PROOFS : await prove(request, true) };
  }

  #accept(
    resolved: Resolved,
    request: ProofRequest,
    accepted: readonly CredentialKind[],
    gate: Gate,
  ): Authenticated | Promise<Authenticated> {
    this.#refuseUnusable(resolved, accepted);
    const { principal, epoch, prove } = resolved;
    if (prove === undefined) return { principal, epoch, proofs: NO_PROOFS };
    gate.recognize(principal);
    return prove(request).then((proofs) => ({ principal, epoch, proofs }));
  }

  #refuseUnusable({ principal, epoch }: Resolved, accepted: readonly CredentialKind[]): void {
    if (principal.expiresAt <= this.#clock.now()) throw invalidToken('the token has expired', principal);
    if (!accepted.includes(principal.credential)) throw new UnacceptedKind(principal, epoch, accepted);
  }

  /** One credential: with two, which of them counts would be for us to guess, and for others to make us guess. */
  #detect({ call, declaration }: ProofRequest): [CredentialScheme, string] {
    let found: [CredentialScheme, string] | null = null;
    for (const scheme of this.#schemes) {
      const credential = scheme.detect(call, declaration);
      if (credential === null) continue;
      if (found !== null) throw invalidToken('two credentials were sent');
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

/** The credential is good, and of a kind that this endpoint does not take. */
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

/** The caller learns only that the credential is no good; the audit log learns why, and whose it was if that is certain. */
export class RefusedCredential extends CofferError {
  readonly owner: (Actor & { tenantId: string }) | null;
  /** What the log is told of the credential: names and ids, and nothing that is secret. */
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
      // Of a machine even that there is such a client would tell a guesser something.
      details: owner?.kind === 'user' ? { jti: owner.key } : undefined,
    });
    this.owner = owner;
    this.presented = presented;
  }
}

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
