import type { Match } from './match.ts';
import { NextMatch } from './next-match.ts';

/** Blocks between lines that say what they hold. Only private keys count: certificates and public keys are meant to be seen. */

const LABEL =
  '(?:[A-Z0-9]{2,12} ){0,4}(?:PRIVATE KEY(?: BLOCK)?|ENCRYPTED SESSION KEY|OpenVPN Static key V1|OpenVPN tls-crypt-v2 client key)';
const BEGIN = new RegExp(`-{2,5} ?BEGIN ${LABEL} ?-{2,5}`, 'g');
const END = new RegExp(`-{2,5} ?END ${LABEL} ?-{2,5}`, 'g');
/** What may stand between the lines: what is encoded, headers, and the quotes of a literal. */
const BODY = /[A-Za-z0-9+/=\s:,.\\"'()*-]{0,16384}/y;
/** Sixteen characters without an end of a line, as each key has them. */
const ENCODED = /[A-Za-z0-9+/]{16}/;
/** A block ends here at the latest: the largest key is shorter. */
export const BLOCK_LENGTH_MAX = 16_384;

export function privateKeys(text: string): Match[] {
  if (!text.includes('PRIVATE KEY') && !text.includes(' BEGIN ') && !text.includes('BEGIN OpenVPN')) return [];
  const matches: Match[] = [];
  const ends = new NextMatch(text, END);
  for (const { index: start, 0: begin } of text.matchAll(BEGIN)) {
    if ((matches.at(-1)?.end ?? 0) > start) continue;
    const bodyStart = start + begin.length;
    BODY.lastIndex = bodyStart;
    const bodyEnd = bodyStart + (BODY.exec(text)?.[0].length ?? 0);
    const last = ends.from(bodyStart);
    const isEnded = last !== null && last.index <= bodyEnd;
    const isKey = ENCODED.test(text.slice(bodyStart, Math.min(isEnded ? last.index : bodyEnd, bodyStart + 2048)));
    const end = isEnded ? last.index + last[0].length : bodyEnd;
    // Documentation shows the lines around a key without one.
    matches.push({ start, end, kind: 'private_key', rule: 'private-key', confidence: isKey ? 'high' : 'low' });
  }
  return matches;
}

const PUBLIC_BEGIN =
  /-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}(?:PUBLIC KEY(?: BLOCK)?|CERTIFICATE(?: REQUEST)?|CRL|PKCS7|CMS|SIGNATURE|DH PARAMETERS)-----/g;
const PUBLIC_END = /-----END /g;
const NOT_IN_BLOCK = /[^A-Za-z0-9+/=\s:.\\"'()-]/g;

/** Says of a position whether it is in a certificate or public key, whose lines look as random as a secret. Positions are given in rising order. */
export function publicBlocks(text: string): (position: number) => boolean {
  const blocks: { start: number; end: number }[] = [];
  const [ends, others] = [new NextMatch(text, PUBLIC_END), new NextMatch(text, NOT_IN_BLOCK)];
  for (const { index: start, 0: begin } of text.includes('-----BEGIN ') ? text.matchAll(PUBLIC_BEGIN) : []) {
    const bodyStart = start + begin.length;
    const end = ends.from(bodyStart)?.index ?? text.length;
    const other = others.from(bodyStart)?.index ?? text.length;
    if (other < end || end - bodyStart > BLOCK_LENGTH_MAX) continue;
    blocks.push({ start, end });
  }
  return (position) => {
    let [low, high] = [0, blocks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((blocks[middle]?.start ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    return position < (blocks[low - 1]?.end ?? 0);
  };
}
