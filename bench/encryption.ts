import { createCipheriv, randomBytes } from 'node:crypto';
import { bareCases, CASE_COLUMNS, type Case, measureCases, type Settings, USUAL_CONNECTIONS } from './cases.ts';
import type { Installation, Installations } from './installation.ts';
import { writeRequest } from './load.ts';
import type { Table } from './report.ts';
import { post } from './tenants.ts';

const CIPHER_SIZES = [64, 4096, 1024 * 1024] as const;
const BATCH = 1000;

/** Encrypting and decrypting texts of three sizes, many small ones at once, and what is post-quantum. */
export async function encryption(installations: Installations, settings: Settings): Promise<Table[]> {
  const cases: Case[] = [];
  const yardsticks = new Map<string, Case>();
  for (const database of settings.databases) {
    const { name: subject, port, pid, token } = await installations.shared(database);
    for (const { what, request } of await encryptionRequests({ port, token })) {
      if (!yardsticks.has(what)) {
        const [bare] = await bareCases(installations, what, { port, bytes: request }, [USUAL_CONNECTIONS]);
        if (bare === undefined) throw new Error('there is no bare server');
        yardsticks.set(what, bare);
      }
      const yardstick = yardsticks.get(what) as Case;
      cases.push({ ...yardstick, subject, pids: [pid], load: { port, request }, yardstick });
    }
  }
  const inOrder = [...yardsticks.values()].flatMap((bare) => [bare, ...cases.filter((one) => one.yardstick === bare)]);
  const rows = await measureCases(inOrder, settings);
  const ciphers = CIPHER_SIZES.map((size) => `${size} B ${Math.round(cipherPerSecond(size))}/s`);
  const notes = [`The cipher alone, in one thread: ${ciphers.join(', ')}.`];
  return [{ name: 'encryption', title: 'Encryption as a service', columns: CASE_COLUMNS, rows, notes }];
}

async function encryptionRequests({ port, token }: Pick<Installation, 'port' | 'token'>) {
  await post(port, token, '/eaas/keys', { name: 'bench' });
  const found: { what: string; request: Buffer }[] = [];
  const add = (what: string, path: string, body: unknown) =>
    found.push({ what, request: writeRequest('POST', path, token, body) });
  for (const size of CIPHER_SIZES) {
    const plaintext = 'x'.repeat(size);
    const { envelope } = await post(port, token, '/eaas/keys/bench/encrypt', { plaintext });
    add(`encrypt ${size} B`, '/eaas/keys/bench/encrypt', { plaintext });
    add(`decrypt ${size} B`, '/eaas/keys/bench/decrypt', { envelope });
  }
  const digest = Buffer.alloc(64, 1).toString('base64');
  const wrapped = { algorithm: 'ecdh-p256+ml-kem-768', key: Buffer.alloc(32, 1).toString('base64') };
  add('hybrid wrap', '/pqc/hybrid-classical/wrap', wrapped);
  add('dual sign', '/pqc/dual-sign/sign', { digest });
  const items = Array.from({ length: BATCH }, () => ({ plaintext: 'x'.repeat(64) }));
  add(`encrypt ${BATCH} × 64 B`, '/eaas/keys/bench/encrypt-batch', { items });
  return found;
}

/** The cipher alone, in this process: what nobody can be faster than. */
function cipherPerSecond(size: number): number {
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
