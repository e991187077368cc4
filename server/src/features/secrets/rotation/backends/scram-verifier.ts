import { createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { sha256 } from '../../../../kernel/crypto/digest.ts';

/** PostgreSQL's own default, and the least that RFC 7677 permits. */
const ITERATIONS = 4096;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

/** SASLprep (RFC 5802, 3) leaves printable ASCII unchanged, so only such passwords are accepted here. */
export const PREPARED_PASSWORD = /^[\x20-\x7e]+$/;

const derive = promisify(pbkdf2);

/**
 * The SCRAM verifier that a server stores instead of a password (RFC 5803). Given as the password in a statement, it is stored as it is. So the
 * password itself appears in no statement, and in none of the logs and views that show statements.
 */
export async function scramVerifier(password: string, salt: Buffer = randomBytes(SALT_BYTES)): Promise<string> {
  if (!PREPARED_PASSWORD.test(password)) throw new TypeError('the password must be printable ASCII');
  const salted = await derive(password, salt, ITERATIONS, KEY_BYTES, 'sha256');
  const storedKey = sha256(hmac(salted, 'Client Key')).toString('base64');
  const serverKey = hmac(salted, 'Server Key').toString('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
