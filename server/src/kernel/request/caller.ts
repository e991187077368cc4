import { NO_PROOFS, type Proofs } from '../auth/authentication.ts';
import type { Actor, Principal } from '../auth/principal.ts';

const ANONYMOUS: Actor = { kind: 'anonymous', id: '', name: '', key: '' };

/** Who sent the request, as far as that is known. */
export class Caller {
  #principal: Principal | null = null;
  #tenantId: string | null = null;
  #actor = ANONYMOUS;
  #epoch = NaN;
  #proofs = NO_PROOFS;

  get principal(): Principal {
    if (this.#principal === null) throw new Error('a public endpoint has no principal');
    return this.#principal;
  }

  get principalOrNull(): Principal | null {
    return this.#principal;
  }

  get tenantId(): string {
    if (this.#tenantId === null) throw new Error('the tenant is not known yet');
    return this.#tenantId;
  }

  get tenantIdOrNull(): string | null {
    return this.#tenantId;
  }

  /** The caller as the audit log names it. */
  get actor(): Actor {
    return this.#actor;
  }

  /** The tenant's epoch when the caller was authenticated. Data cached under another epoch is stale. */
  get epoch(): number {
    return this.#epoch;
  }

  /** What the request proved in addition to its credential. */
  get proofs(): Proofs {
    return this.#proofs;
  }

  become(principal: Principal, epoch: number, proofs: Proofs = NO_PROOFS): void {
    this.#principal = principal;
    this.#epoch = epoch;
    this.#proofs = proofs;
    this.recognize(principal);
  }

  /** Records who owns the credential before it is known whether they may use it for this request. */
  recognize(principal: Principal): void {
    const { kind, id, name, credentialId, auditKey = credentialId } = principal;
    this.identify(principal.tenantId, { kind, id, name, key: auditKey });
  }

  /** Called by public endpoints once they know who sent the request, or whose account it is about. */
  identify(tenantId: string, actor: Actor): void {
    this.#tenantId = tenantId;
    this.#actor = actor;
  }
}
