import { argon2idAsync } from '@noble/hashes/argon2.js';
import type { Envelope } from './zero-knowledge-envelope.ts';

/** RFC 9106, 4, the second recommended option. The parameters are fixed, because the envelope does not store them. */
const ARGON2 = { memoryKib: 65_536, passes: 3, lanes: 4 } as const;
const KEY_BYTES = 32;

type Header = Pick<Envelope, 'algorithm' | 'derivation' | 'salt'>;
type Bytes = Uint8Array<ArrayBuffer>;

/** The key of an envelope. The two algorithms never share a key: HKDF binds the algorithm in `info`, and every envelope has its own salt. */
export function deriveKey({ algorithm, derivation, salt }: Header, secret: Bytes): Promise<Bytes> {
  return derivation === 'argon2id' ? argon2id(secret, salt) : hkdf(secret, salt, `zk:v1:${algorithm}`);
}

/** RFC 5869 with SHA-256. */
async function hkdf(secret: Bytes, salt: Bytes, info: string): Promise<Bytes> {
  const key = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveBits']);
  const parameters = { name: 'HKDF', hash: 'SHA-256', salt, info: new TextEncoder().encode(info) };
  return new Uint8Array(await crypto.subtle.deriveBits(parameters, key, KEY_BYTES * 8));
}

interface NodeCrypto {
  argon2?(
    algorithm: 'argon2id',
    parameters: object,
    done: (error: Error | null, key: Uint8Array<ArrayBuffer>) => void,
  ): void;
}

/** Node's own is four times as fast and does not block the main thread. It is looked up at run time, because a browser has no `process`. */
function nodeCrypto(): NodeCrypto | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): NodeCrypto | undefined } };
  return process?.getBuiltinModule?.('node:crypto');
}

function argon2id(message: Bytes, nonce: Bytes): Promise<Bytes> {
  const { memoryKib: memory, passes, lanes: parallelism } = ARGON2;
  const native = nodeCrypto()?.argon2;
  if (native === undefined) return argon2idPortable(message, nonce);
  const parameters = { message, nonce, memory, passes, parallelism, tagLength: KEY_BYTES };
  return new Promise((resolve, reject) => {
    native('argon2id', parameters, (error, key) => (error === null ? resolve(new Uint8Array(key)) : reject(error)));
  });
}

/** The same without Node. */
export async function argon2idPortable(message: Bytes, nonce: Bytes): Promise<Bytes> {
  const { memoryKib: m, passes: t, lanes: p } = ARGON2;
  return new Uint8Array(await argon2idAsync(message, nonce, { m, t, p, dkLen: KEY_BYTES }));
}
