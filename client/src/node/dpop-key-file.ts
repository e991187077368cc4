import type { DpopKey } from '../dpop.ts';
import { CofferError } from '../errors.ts';
import { readCredential, writePrivateFile } from './files.ts';

/** Loaded where there is such a key: most programs have none. */
const cryptography = () => process.getBuiltinModule('node:crypto');

/** The key for DPoP proofs from a PEM file (PKCS #8, P-256). */
export async function dpopKeyFromFile(file: string): Promise<DpopKey> {
  const pem = readCredential(file);
  try {
    const { createPrivateKey, createPublicKey } = cryptography();
    const key = createPrivateKey(pem);
    const { kty, crv, x, y } = createPublicKey(key).export({ format: 'jwk' });
    if (crv !== 'P-256') throw new Error('another curve');
    const privateKey = await crypto.subtle.importKey(
      'jwk',
      key.export({ format: 'jwk' }),
      { name: 'ECDSA', namedCurve: 'P-256' },
      false,
      ['sign'],
    );
    return { privateKey, publicJwk: { kty, crv, x, y } as DpopKey['publicJwk'] };
  } catch {
    throw new CofferError(`The file ${file} holds no private key on the curve P-256, in PEM.`, {
      code: 'INVALID_ARGUMENT',
    });
  }
}

/** Writes a new key into a file that only its owner can read. */
export async function createDpopKeyFile(file: string): Promise<DpopKey> {
  const { privateKey } = cryptography().generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writePrivateFile(file, privateKey.export({ format: 'pem', type: 'pkcs8' }) as string);
  return dpopKeyFromFile(file);
}
