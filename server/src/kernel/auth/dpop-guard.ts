import { CofferError } from '../base/errors.ts';
import type { Addresses } from '../base/service-urls.ts';
import type { Keyring } from '../keys/keyring.ts';
import type { Database } from '../storage/database.ts';
import type { Cutoff } from '../time/cutoff.ts';
import type { RoutedCall } from './call.ts';
import { InvalidProof, PROOF_ALGORITHMS, PROOF_WINDOW_MS, type Proof, verifyProof } from './dpop.ts';
import { DpopNonces } from './dpop-nonce.ts';

/** The span from the earliest to the latest moment at which a proof is valid. */
export const PROOF_LIFE_MS = 2 * PROOF_WINDOW_MS;

/** The complete check of a DPoP header for tokens and connections: its claims, its single use and its nonce. */
export class DpopGuard {
  readonly #database: Database;
  readonly #addresses: Addresses;
  readonly #nonces: DpopNonces;
  readonly #isNonceRequired: boolean;
  /** The verified proof of each request. The call is replaced when its body arrives; the request stays the same object. */
  readonly #proven = new WeakMap<RoutedCall, { tenantId: string; token: string | null; key: string }>();

  constructor(parts: { database: Database; keyring: Keyring; addresses: Addresses; isNonceRequired: boolean }) {
    this.#database = parts.database;
    this.#addresses = parts.addresses;
    this.#nonces = new DpopNonces(parts.keyring);
    this.#isNonceRequired = parts.isNonceRequired;
  }

  /** The thumbprint of the key that the request proves to hold, or null if it has no proof. An invalid proof is refused. */
  async provenKey(request: RoutedCall, tenantId: string, token: string | null): Promise<string | null> {
    const header = request.call.headers['dpop'];
    if (header === undefined) return null;
    // A proof is valid for one request, but the request may be checked more than once.
    const known = this.#proven.get(request);
    if (known?.tenantId === tenantId && known.token === token) return known.key;
    const key = await this.#spent(String(header), request, tenantId, token);
    this.#proven.set(request, { tenantId, token, key });
    return key;
  }

  async #spent(header: string, { call, now }: RoutedCall, tenantId: string, token: string | null) {
    const proof = await this.#verified(header, {
      method: call.method,
      url: call.url,
      origins: this.#addresses.origins,
      token,
      now,
    });
    await this.#checkNonce(proof, now);
    if (!(await this.#isFirstUse(tenantId, proof))) throw refusedProof('it was used before');
    return proof.jkt;
  }

  async #verified(header: string, request: Parameters<typeof verifyProof>[1]): Promise<Proof> {
    try {
      return await verifyProof(header, request);
    } catch (error) {
      if (error instanceof InvalidProof) throw refusedProof(error.message);
      throw error;
    }
  }

  async #checkNonce({ nonce }: Proof, now: number): Promise<void> {
    if (nonce === null && !this.#isNonceRequired) return;
    if (nonce !== null && (await this.#nonces.isCurrent(nonce, now))) return;
    const reason = nonce === null ? 'it has no nonce' : 'its nonce is not current';
    throw refusedProof(reason, 'use_dpop_nonce', { 'DPoP-Nonce': await this.#nonces.next(now) });
  }

  /** The table is shared by all nodes: if two nodes get the same proof at once, the database accepts only one. */
  async #isFirstUse(tenantId: string, { replayKey, issuedAt }: Proof): Promise<boolean> {
    return this.#database.forTenant(tenantId, 'authentication').transaction(async (tx) => {
      const { numInsertedOrUpdatedRows } = await tx
        .insertInto('dpop_proofs')
        .values({ tenant_id: tenantId, proof: replayKey, expires_at: issuedAt + PROOF_LIFE_MS })
        .onConflict((c) => c.columns(['tenant_id', 'proof']).doNothing())
        .executeTakeFirst();
      return numInsertedOrUpdatedRows === 1n;
    });
  }

  /** A proof that is deleted too early could be used again. */
  async deleteExpired(cutoff: Cutoff): Promise<void> {
    await this.#database.transaction((tx) => tx.deleteFrom('dpop_proofs').where('expires_at', '<=', cutoff).execute());
  }
}

/** The caller learns that the proof is invalid and how to get a nonce. The audit log records why. */
export function refusedProof(reason: string, error = 'invalid_dpop_proof', headers: Record<string, string> = {}) {
  const message =
    error === 'use_dpop_nonce'
      ? 'The DPoP proof requires a current nonce: create a new proof with the nonce from the DPoP-Nonce header.'
      : 'The DPoP proof does not match this request, its token or the key they are bound to. Create a new proof for each request.';
  return new CofferError('INVALID_DPOP_PROOF', message, {
    auditReason: `dpop: ${reason}`,
    headers: { 'WWW-Authenticate': `DPoP error="${error}", algs="${PROOF_ALGORITHMS}"`, ...headers },
  });
}
