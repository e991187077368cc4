import { createPrivateKey } from 'node:crypto';

/** One block between a BEGIN and an END line (RFC 7468). */
export interface PemBlock {
  readonly label: string;
  /** From BEGIN to END, unchanged, so that libraries parse exactly what is stored. */
  readonly text: string;
  readonly body: Buffer;
  /** Read from the label and headers alone: looking further takes the passphrase. */
  readonly isEncrypted: boolean;
}

export interface Pem {
  readonly blocks: readonly PemBlock[];
  /** RFC 7468 permits explanatory text around blocks; some parsers do not. */
  readonly hasTextOutside: boolean;
}

const BEGIN = '-----BEGIN ';
const DASHES = '-----';
const LABEL = /^[A-Z0-9]+(?: [A-Z0-9]+)*$/;
const LABEL_LENGTH_MAX = 64;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const HEADER = /^[A-Za-z-]+: /;

/** Returns null if a block is not closed or its body is not canonical base64. It only searches forward, so it is linear in the text. */
export function readPem(text: string): Pem | null {
  const blocks: PemBlock[] = [];
  let outside = '';
  let at = 0;
  for (;;) {
    const begin = text.indexOf(BEGIN, at);
    if (begin === -1) break;
    const block = readBlock(text, begin);
    if (block === null) return null;
    outside += text.slice(at, begin);
    blocks.push(block);
    at = begin + block.text.length;
  }
  outside += text.slice(at);
  return { blocks, hasTextOutside: outside.trim() !== '' };
}

function readBlock(text: string, begin: number): PemBlock | null {
  const labelEnd = text.indexOf(DASHES, begin + BEGIN.length);
  const label = text.slice(begin + BEGIN.length, Math.max(labelEnd, 0));
  if (label.length > LABEL_LENGTH_MAX || !LABEL.test(label)) return null;
  const bodyStart = labelEnd + DASHES.length;
  const closing = `-----END ${label}-----`;
  const bodyEnd = text.indexOf(closing, bodyStart);
  if (bodyEnd === -1) return null;
  const { headers, base64 } = splitHeaders(text.slice(bodyStart, bodyEnd));
  const body = Buffer.from(base64, 'base64');
  if (!BASE64.test(base64) || body.toString('base64') !== base64) return null;
  // RFC 1421 4.6.1.1: the older forms mark encryption in a header, PKCS #8 in its label.
  const isEncrypted = label === 'ENCRYPTED PRIVATE KEY' || /^Proc-Type: 4,ENCRYPTED$/m.test(headers);
  return { label, text: text.slice(begin, bodyEnd + closing.length), body, isEncrypted };
}

function splitHeaders(inside: string): { headers: string; base64: string } {
  const lines = inside.trim().split(/\r?\n/);
  const blank = HEADER.test(lines[0] ?? '') ? lines.indexOf('') : -1;
  const base64 = lines
    .slice(blank + 1)
    .map((line) => line.trim())
    .join('');
  return { headers: lines.slice(0, Math.max(blank, 0)).join('\n'), base64 };
}

const OPENABLE = ['PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY', 'DSA PRIVATE KEY', 'ENCRYPTED PRIVATE KEY'];

/** Whether node:crypto can open this private key, or could with the passphrase. */
export function isPrivateKeyBlock(block: PemBlock): boolean {
  if (!OPENABLE.includes(block.label)) return false;
  if (block.isEncrypted) return true;
  try {
    createPrivateKey(block.text);
    return true;
  } catch {
    return false;
  }
}
