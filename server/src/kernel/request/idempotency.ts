import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import type { ResourceAttributes } from '../auth/call.ts';
import { type Clock, DAY_MS } from '../base/clock.ts';
import { CofferError, invalidField } from '../base/errors.ts';
import { sha256 } from '../crypto/digest.ts';
import { seal, sealedKeyVersion, unseal } from '../crypto/sealing.ts';
import type { Keyring } from '../keys/keyring.ts';
import type { Database, Tx } from '../storage/database.ts';
import { NotReplicated } from '../storage/scram-client.ts';
import type { Cutoff } from '../time/cutoff.ts';

/** These keys do not seal directly: the key of each response is derived from one of them and from the caller's Idempotency-Key. */
const PURPOSE = 'idempotent-answers';
/** The purpose of responses that releases before 0.5.0 sealed. They expire a day after the upgrade. */
const OLD_PURPOSE = 'idempotency';
const DERIVED_BYTES = 32;
const STORED_MS = DAY_MS;
const KEY_FORM = /^[\x21-\x7e]{1,255}$/;

export interface SavedAnswer {
  status: number;
  body: string;
  /** The resource that was authorized, with its attributes. A replay is authorized again. */
  resource: string;
  attributes: ResourceAttributes;
}

/** One use of an Idempotency-Key: its caller and its request. */
export interface IdempotentRequest {
  tenantId: string;
  /** The credential, not the person: a response may contain a credential that is shown only once, to the one who requested it. */
  actorId: string;
  keyHash: Buffer;
  /** As the caller sent it. It is never stored, so the database and the root key alone do not open the response. */
  key: string;
  /** A digest of the request. It is stored only sealed: otherwise anyone with the database could guess a password in the body. */
  requestDigest: string;
  /** Derived before the transaction, in which the response is sealed with it. */
  sealing: { key: KeyObject; version: number };
}

/**
 * A write with an Idempotency-Key happens once. The response is stored, sealed, in the transaction of the change itself: after a kill at any
 * moment, either both exist or neither.
 */
export class Idempotency {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #inFlight = new Set<string>();

  constructor(database: Database, keyring: Keyring, clock: Clock) {
    this.#database = database;
    this.#keyring = keyring;
    this.#clock = clock;
  }

  async request(key: string, tenantId: string, actorId: string, input: unknown): Promise<IdempotentRequest> {
    if (!KEY_FORM.test(key)) {
      throw invalidField('/headers/idempotency-key', 'must be 1 to 255 visible ASCII characters');
    }
    const { version } = await this.#keyring.macKey(tenantId, PURPOSE);
    const sealing = { version, key: await this.#derived(tenantId, version, key) };
    const requestDigest = sha256(JSON.stringify(input)).toString('base64');
    return { tenantId, actorId, keyHash: sha256(key), key, requestDigest, sealing };
  }

  /**
   * RFC 5869. A response may contain a private key that is shown only once: anyone who has our keys must still guess the caller's key to open it.
   */
  async #derived(tenantId: string, version: number, key: string): Promise<KeyObject> {
    const ours = await this.#keyring.keyAt(tenantId, PURPOSE, version);
    return createSecretKey(Buffer.from(hkdfSync('sha256', ours, key, PURPOSE, DERIVED_BYTES)));
  }

  /** Runs `act` unless the response is stored or this node is still processing the same key. `act` must store its response with `save`. */
  async once<T>(request: IdempotentRequest, act: () => Promise<T>): Promise<{ saved: SavedAnswer } | { result: T }> {
    const saved = await this.#find(request);
    if (saved !== null) return { saved };
    const slot = `${request.tenantId} ${request.actorId} ${request.keyHash.toString('latin1')}`;
    if (this.#inFlight.has(slot)) {
      throw new CofferError('IN_USE', 'A request with this Idempotency-Key is still running: repeat it shortly.', {
        retryAfterSeconds: 1,
      });
    }
    this.#inFlight.add(slot);
    try {
      return { result: await act() };
    } catch (error) {
      // What no standby confirmed may still be lost, although this server has the response.
      if ((error as Error).cause instanceof NotReplicated) throw error;
      // Another node may have committed the same key first, which made this one fail; then its response is used.
      const other = await this.#find(request);
      if (other === null) throw error;
      return { saved: other };
    } finally {
      this.#inFlight.delete(slot);
    }
  }

  async save(tx: Tx, request: IdempotentRequest, answer: SavedAnswer): Promise<void> {
    const { tenantId, actorId, keyHash, requestDigest, sealing } = request;
    const now = this.#clock.now();
    await tx
      .deleteFrom('idempotency_keys')
      .where('tenant_id', '=', tenantId)
      .where('actor_id', '=', actorId)
      .where('key_hash', '=', keyHash)
      .where('expires_at', '<=', now)
      .execute();
    await tx
      .insertInto('idempotency_keys')
      .values({
        tenant_id: tenantId,
        actor_id: actorId,
        key_hash: keyHash,
        status: answer.status,
        is_key_bound: 1,
        sealed_body: seal(
          sealing.key,
          sealing.version,
          place(request),
          sealedText([requestDigest, answer.resource, answer.attributes, answer.body]),
        ),
        expires_at: now + STORED_MS,
      })
      .execute();
  }

  async #find(request: IdempotentRequest): Promise<SavedAnswer | null> {
    const row = await this.#database.read
      .selectFrom('idempotency_keys')
      .select(['status', 'sealed_body', 'is_key_bound'])
      .where('tenant_id', '=', request.tenantId)
      .where('actor_id', '=', request.actorId)
      .where('key_hash', '=', request.keyHash)
      .where('expires_at', '>', this.#clock.now())
      .executeTakeFirst();
    if (row === undefined) return null;
    const text = (await this.#open(request, row)).toString('utf8');
    const [digest, resource, attributes, body] = parseStored(text);
    if (digest !== request.requestDigest) {
      throw invalidField(
        '/headers/idempotency-key',
        'was already used for another request: use a new key for each request',
      );
    }
    return { status: row.status, resource, attributes, body };
  }

  async #open(request: IdempotentRequest, row: { sealed_body: Uint8Array; is_key_bound: number }): Promise<Buffer> {
    if (row.is_key_bound === 0) return this.#keyring.unseal(OLD_PURPOSE, place(request), row.sealed_body);
    const { tenantId, key, sealing } = request;
    const version = sealedKeyVersion(row.sealed_body);
    const derived = version === sealing.version ? sealing.key : await this.#derived(tenantId, version, key);
    return unseal(derived, place(request), row.sealed_body);
  }

  async deleteExpired(cutoff: Cutoff): Promise<void> {
    await this.#database.transaction((tx) =>
      tx.deleteFrom('idempotency_keys').where('expires_at', '<=', cutoff).execute(),
    );
  }
}

type Stored = [requestDigest: string, resource: string, attributes: ResourceAttributes, body: string];

/** Before 0.2.0, resources were stored without attributes. */
type StoredBefore = [requestDigest: string, resource: string, body: string];

function parseStored(text: string): Stored {
  const stored = JSON.parse(text) as Stored | StoredBefore;
  return stored.length === 3 ? [stored[0], stored[1], {}, stored[2]] : stored;
}

function sealedText(stored: Stored): Buffer {
  return Buffer.from(JSON.stringify(stored), 'utf8');
}

function place({ tenantId, actorId, keyHash }: IdempotentRequest) {
  return { tenantId, table: 'idempotency_keys', row: `${actorId} ${keyHash.toString('hex')}` };
}
