import { X509Certificate } from 'node:crypto';
import { LINE, readDatabaseValue } from './database-value.ts';
import { isOpenSshKey, OPENSSH_LABEL } from './openssh-key.ts';
import { isPrivateKeyBlock, type PemBlock, readPem } from './pem.ts';
import { templateProblem } from './reference-text.ts';

/** Types whose values have rules. Any other name of the same form is a type too, and accepts any value, including an empty one. */
export const KNOWN_TYPES = [
  'api_key',
  'password',
  'token',
  'database',
  'ssh_key',
  'certificate',
  'json',
  'template',
  'generic',
] as const;
export type KnownType = (typeof KNOWN_TYPES)[number];

export const SECRET_TYPE_PATTERN = '^[a-z][a-z0-9_]{0,63}$';
export const VALUE_BYTES_MAX = 1_048_576;

const RULES: Readonly<Record<KnownType, (value: string) => string | null>> = {
  api_key: lineProblem,
  password: lineProblem,
  token: lineProblem,
  database: databaseProblem,
  ssh_key: sshKeyProblem,
  certificate: certificateProblem,
  json: jsonProblem,
  template: templateProblem,
  generic: () => null,
};

/** Returns why a value does not fit its type, as text that follows a JSON pointer, or null. It never repeats the value. */
export function valueProblem(type: string, value: string): string | null {
  if (Buffer.byteLength(value) > VALUE_BYTES_MAX) return 'must be at most 1,048,576 bytes of UTF-8';
  // Half a surrogate pair has no UTF-8 form: it would be another character after it is sealed and opened.
  if (!value.isWellFormed()) return 'must be well-formed Unicode, without half of a surrogate pair';
  return isKnown(type) ? RULES[type](value) : null;
}

function isKnown(type: string): type is KnownType {
  return Object.hasOwn(RULES, type);
}

function lineProblem(value: string): string | null {
  return LINE.test(value) ? null : 'must be one line of 1 to 4,096 characters, without control characters';
}

function databaseProblem(value: string): string | null {
  const reading = readDatabaseValue(value);
  return 'problem' in reading ? reading.problem : null;
}

function jsonProblem(value: string): string | null {
  try {
    JSON.parse(value);
    return null;
  } catch {
    return 'must be JSON';
  }
}

const SSH_KEY_PROBLEM = 'must be one private key in OpenSSH or PEM form';

function sshKeyProblem(value: string): string | null {
  const pem = readPem(value);
  const [key, ...more] = withoutParameters(pem?.blocks ?? []);
  if (pem === null || key === undefined || more.length > 0) return SSH_KEY_PROBLEM;
  if (key.label !== OPENSSH_LABEL) return isPrivateKeyBlock(key) ? null : SSH_KEY_PROBLEM;
  // ssh accepts its own format only if it starts on the first line.
  return isOpenSshKey(key.body) && !pem.hasTextOutside ? null : SSH_KEY_PROBLEM;
}

function certificateProblem(value: string): string | null {
  const blocks = withoutParameters(readPem(value)?.blocks ?? []);
  const isCertificate = (block: PemBlock | undefined) => block?.label === 'CERTIFICATE';
  const start = isCertificate(blocks[0]) ? 0 : 1;
  const end = isCertificate(blocks.at(-1)) || start === 1 ? blocks.length : blocks.length - 1;
  const chain = blocks.slice(start, end);
  const keys = [...blocks.slice(0, start), ...blocks.slice(end)];
  if (chain.length === 0 || !chain.every(isWholeCertificate)) return 'must be one or more PEM certificates';
  if (!keys.every(isPrivateKeyBlock)) {
    return 'must be PEM certificates with at most one private key, before or after them';
  }
  return null;
}

function isWholeCertificate(block: PemBlock): boolean {
  if (block.label !== 'CERTIFICATE') return false;
  try {
    // OpenSSL stops at the end of the certificate; bytes behind it would be stored without being checked.
    return new X509Certificate(block.text).raw.equals(block.body);
  } catch {
    return false;
  }
}

/** `openssl ecparam -genkey` writes the name of the curve in a separate block before the key. */
function withoutParameters(blocks: readonly PemBlock[]): PemBlock[] {
  return blocks.filter((block) => block.label !== 'EC PARAMETERS');
}
