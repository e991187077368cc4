import { hash } from 'node:crypto';
import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound, tooLarge } from '../../kernel/base/errors.ts';
import { decodeBase64 } from '../../kernel/crypto/base64.ts';
import type { Body, Output, Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { type Items, plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { UniqueViolation } from '../../kernel/storage/database.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import {
  type CompositePublicKey,
  DIGEST_BYTES,
  parseCompositePublic,
  SIGNATURE_PUBLIC_KEY_BYTES,
  signDigest,
  verifyDigest,
} from './composite-signature.ts';
import type * as contract from './contract.ts';
import { MESSAGE_BYTES_MAX, readPqcKey, SIGNATURE_ALGORITHM } from './contract.ts';
import { HYBRID_KEMS, type HybridPrivateKey, type KemAlgorithm } from './hybrid-kem.ts';
import { unwrapKey, WRAPPED_KEY_BYTES, wrapKey } from './key-wrap.ts';
import { keyIdOf, PQC_ALGORITHMS, type PqcKey, type PqcKeys } from './keys.ts';
import * as store from './store.ts';

/** Wrapping and signing for a tenant. Audit entries record which key was used, never keys or messages. */
export class Pqc {
  readonly #keys: PqcKeys;

  constructor(keys: PqcKeys) {
    this.#keys = keys;
  }

  async wrap(ctx: Context, body: Body<typeof contract.wrapKey>): Promise<Output<typeof contract.wrapKey>> {
    const { algorithm } = body;
    const key = fieldBytes('/body/key', body.key, WRAPPED_KEY_BYTES);
    const kem = HYBRID_KEMS[algorithm];
    const isOwn = body.public_key === undefined;
    const publicKey =
      body.public_key === undefined
        ? (await this.#keys.newest(ctx.tenantId, algorithm)).publicKey
        : fieldBytes('/body/public_key', body.public_key, kem.publicKeyBytes);
    const keyId = keyIdOf(algorithm, publicKey);
    const wrapped = wrapKey(kem, publicKey, key, { algorithm, keyId });
    key.fill(0);
    if (wrapped === null) throw invalidField('/body/public_key', `must be a public key of ${algorithm}`);
    ctx.record.describe({ algorithm, key: keyId, ...(!isOwn && { own_key: false }) });
    return { algorithm, key_id: keyId, wrapped: wrapped.toString('base64') };
  }

  /** All failures get the same response, because the reason would help an attacker. */
  async unwrap(ctx: Context, body: Body<typeof contract.unwrapKey>): Promise<Output<typeof contract.unwrapKey>> {
    const { algorithm, key_id: keyId } = body;
    const own = await this.#keys.find(ctx.tenantId, keyId);
    const wrapped = decodeBase64(body.wrapped);
    const privateKey = own === null ? null : privateKeyFor(own, algorithm);
    const key =
      privateKey === null || wrapped === null
        ? null
        : unwrapKey(HYBRID_KEMS[algorithm], privateKey, wrapped, { algorithm, keyId });
    // The id comes from the caller, so it is recorded only if it names an existing key.
    ctx.record.describe({ algorithm, ...(own !== null && { key: keyId }) });
    if (key === null) throw new CofferError('DECRYPT_FAILED', 'The ciphertext could not be opened.');
    return { algorithm, key_id: keyId, key: key.toString('base64') };
  }

  async sign(ctx: Context, body: Body<typeof contract.dualSign>): Promise<Output<typeof contract.dualSign>> {
    const digest = digestIn(body);
    const { keyId, publicKey, privateKey } = await this.#keys.newest(ctx.tenantId, SIGNATURE_ALGORITHM);
    const signature = await signDigest(privateKey, digest);
    ctx.record.describe({ key: keyId });
    return {
      algorithm: SIGNATURE_ALGORITHM,
      key_id: keyId,
      signature: signature.toString('base64'),
      public_key: publicKey.toString('base64'),
    };
  }

  async verify(ctx: Context, body: Body<typeof contract.dualVerify>): Promise<Output<typeof contract.dualVerify>> {
    const digest = digestIn(body);
    const { keyId, publicKey } = await this.#verifyingKey(ctx, body);
    const signature = decodeBase64(body.signature) ?? Buffer.alloc(0);
    const halves = await verifyDigest(publicKey, digest, signature);
    const valid = halves.rsaPss && halves.mlDsa;
    ctx.record.describe({ key: keyId, valid });
    return { valid, rsa_pss_valid: halves.rsaPss, ml_dsa_valid: halves.mlDsa, key_id: keyId };
  }

  async #verifyingKey(
    ctx: Context,
    { key_id, public_key }: Body<typeof contract.dualVerify>,
  ): Promise<{ keyId: string; publicKey: CompositePublicKey }> {
    if (public_key === undefined) {
      if (key_id === undefined) throw invalidField('/body/key_id', 'is required unless public_key is given');
      const own = await this.#keys.find(ctx.tenantId, key_id);
      const publicKey = own?.algorithm === SIGNATURE_ALGORITHM ? parseCompositePublic(own.publicKey) : null;
      if (publicKey === null) throw notFound('signing key');
      return { keyId: key_id, publicKey };
    }
    const bytes = fieldBytes('/body/public_key', public_key, SIGNATURE_PUBLIC_KEY_BYTES);
    const publicKey = parseCompositePublic(bytes);
    if (publicKey === null) throw invalidField('/body/public_key', `must be a public key of ${SIGNATURE_ALGORITHM}`);
    const keyId = keyIdOf(SIGNATURE_ALGORITHM, bytes);
    if (key_id !== undefined && key_id !== keyId) {
      throw invalidField('/body/key_id', 'must be the id of public_key, or be omitted');
    }
    return { keyId, publicKey };
  }

  async list(ctx: Context, query: Query<typeof contract.listPqcKeys>) {
    const [, algorithm = '', version = ''] =
      decodeCursor(await plainCursor(ctx, query.cursor), CURSOR_KIND, ALGORITHM_FORM, VERSION_FORM) ?? [];
    const after = algorithm === '' ? null : { algorithm, version: Number(version) };
    const limit = query.limit ?? LIST_LIMIT_DEFAULT;
    const found = await store.listKeys(ctx.database.read, ctx.tenantId, query.algorithm ?? null, { after, limit });
    const page = await visiblePage(ctx, found, KEYS);
    const keys: contract.PqcKey[] = [];
    for (const row of page.rows) keys.push(toWire(await this.#keys.load(row)));
    return { keys, next_cursor: page.next_cursor };
  }

  async read(ctx: Context, keyId: string): Promise<contract.PqcKey> {
    const key = await this.#keys.find(ctx.tenantId, keyId);
    if (key === null) throw notFound('key');
    return toWire(key);
  }

  async rotate(ctx: Context, body: Body<typeof contract.rotatePqcKey>): Promise<contract.PqcKey> {
    // Prepared before the transaction: generating a key takes a while, and sealing it may need a transaction of its own.
    const row = await this.#keys.prepareNext(ctx.tenantId, body.algorithm);
    const { key_id: keyId, version, created_at: createdAt } = row;
    const publicKey = Buffer.from(row.public_key);
    const made = toWire({ keyId, algorithm: body.algorithm, version, publicKey, createdAt });
    const { reason = '' } = body;
    ctx.record.describe({ key: keyId, algorithm: body.algorithm, version, ...(reason !== '' && { reason }) });
    try {
      return await ctx.change(async (tx) => {
        await store.insertKey(tx, row);
        return made;
      });
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error;
      throw new CofferError('IN_USE', 'The key was rotated concurrently: read it again.');
    }
  }
}

/** A key is not a resource of its own: permission is decided for all of them together. */
const KEYS: Items<store.PqcKeyRow> = { permissions: [readPqcKey.permission], resources: () => [readPqcKey.resource] };
const CURSOR_KIND = new RegExp(`^${store.CURSOR_KIND}$`);
const ALGORITHM_FORM = new RegExp(`^(?:${PQC_ALGORITHMS.map((name) => name.replaceAll('+', '\\+')).join('|')})$`);
const VERSION_FORM = /^[1-9]\d{0,14}$/;

function privateKeyFor(key: PqcKey, algorithm: KemAlgorithm): HybridPrivateKey | null {
  return key.algorithm === algorithm ? (key.privateKey as HybridPrivateKey) : null;
}

function fieldBytes(pointer: string, text: string, length: number): Buffer {
  const bytes = decodeBase64(text);
  if (bytes?.length !== length) throw invalidField(pointer, `must be ${length} bytes in base64 with padding`);
  return bytes;
}

function digestIn({ message, digest }: { message?: string; digest?: string }): Buffer {
  if (message !== undefined && digest === undefined) {
    if (Buffer.byteLength(message) > MESSAGE_BYTES_MAX) {
      throw tooLarge('/body/message', MESSAGE_BYTES_MAX);
    }
    return hash('sha512', message, 'buffer');
  }
  if (digest !== undefined && message === undefined) return fieldBytes('/body/digest', digest, DIGEST_BYTES);
  throw invalidField('/body/message', 'or digest is required, but not both');
}

type Shown = Pick<PqcKey, 'keyId' | 'algorithm' | 'version' | 'publicKey' | 'createdAt'>;

function toWire({ keyId, algorithm, version, publicKey, createdAt }: Shown): contract.PqcKey {
  return {
    key_id: keyId,
    algorithm,
    version,
    public_key: publicKey.toString('base64'),
    created_at: timestamp(createdAt),
  };
}
