import { createCipheriv, randomBytes } from 'node:crypto';
import { writeRequest } from './load.ts';
import type { ScaleSubject } from './scale.ts';

export const CIPHER_SIZES = [64, 4096, 1024 * 1024] as const;
const BATCH = 1000;

export interface EncryptionCase {
  what: string;
  /** How many texts each request is about. */
  items: number;
  /** What is sent, for a bare server to be sent as well. */
  request: Buffer;
  answerBytes: number;
}

/** Encrypting and decrypting texts of three sizes, and many small ones at once. */
export async function encryptionCases({ port, token }: ScaleSubject): Promise<EncryptionCase[]> {
  const post = async (path: string, body: unknown) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return { text, body: JSON.parse(text) as { envelope: string } };
  };
  await post('/eaas/keys', { name: 'bench' });
  const cases: EncryptionCase[] = [];
  const add = async (what: string, path: string, body: unknown, items = 1) => {
    const { text } = await post(path, body);
    cases.push({ what, items, request: writeRequest('POST', path, token, body), answerBytes: Buffer.byteLength(text) });
  };
  for (const size of CIPHER_SIZES) {
    const plaintext = 'x'.repeat(size);
    const { envelope } = (await post('/eaas/keys/bench/encrypt', { plaintext })).body;
    await add(`encrypt ${size} B`, '/eaas/keys/bench/encrypt', { plaintext });
    await add(`decrypt ${size} B`, '/eaas/keys/bench/decrypt', { envelope });
  }
  const digest = Buffer.alloc(64, 1).toString('base64');
  const wrapped = { algorithm: 'ecdh-p256+ml-kem-768', key: Buffer.alloc(32, 1).toString('base64') };
  await add('hybrid wrap', '/pqc/hybrid-classical/wrap', wrapped);
  await add('dual sign', '/pqc/dual-sign/sign', { digest });
  const items = Array.from({ length: BATCH }, () => ({ plaintext: 'x'.repeat(64) }));
  await add(`encrypt ${BATCH} × 64 B`, '/eaas/keys/bench/encrypt-batch', { items }, BATCH);
  return cases;
}

/** The cipher alone, in this process: what nobody can be faster than. */
export function cipherPerSecond(size: number): number {
  const key = randomBytes(32);
  const plaintext = 'x'.repeat(size);
  const until = performance.now() + 500;
  let count = 0;
  const started = performance.now();
  while (performance.now() < until) {
    const cipher = createCipheriv('aes-256-gcm', key, randomBytes(12));
    cipher.update(plaintext, 'utf8', 'base64');
    cipher.final('base64');
    cipher.getAuthTag();
    count++;
  }
  return count / ((performance.now() - started) / 1000);
}
