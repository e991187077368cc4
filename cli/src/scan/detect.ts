import { assignmentsIn } from './assignments.ts';
import { formatsIn, type Match } from './formats.ts';
import { entropyOf, isCode, isDummy, isIdentifier, isMadeOfWords, isMixed } from './judgement.ts';

/** Something in a text that looks like a secret. */
export interface Detected extends Match {
  value: string;
  /** It counts only if a vault has it. */
  isWeak: boolean;
}

const WORD_LENGTH_MIN = 16;
const RANDOM_LENGTH_MIN = 32;
const RANDOM_LENGTH_MAX = 128;
/** Lines of a minified file or of data. */
const LINE_LENGTH_MAX = 2000;

/** Files of digests, where everything looks random. */
const DIGESTS =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock|go\.sum|Cargo\.lock|poetry\.lock|uv\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock|mix\.lock|flake\.lock|packages\.lock\.json|\.terraform\.lock\.hcl)$|\.(?:min\.(?:js|css)|map|svg|sum|sha\d+|po|ipynb|tsbuildinfo)$/i;
/** What publishes itself: digests of packages and images, public keys, fragments of a certificate. */
const PUBLIC_BEFORE =
  /(?:sha(?:1|224|256|384|512)[-:]|ssh-(?:rsa|ed25519|dss) |ecdsa-sha2-nistp\d{3} |integrity[="': ]{1,6}|(?:sum|hash|digest|checksum|fingerprint|etag|commit|revision)["']?[ \t]{0,4}[:=][ \t]{0,4}["']?|;base64,|SHA256:|"(?:n|x|y|kid)": ?")$/i;
const PUBLIC_BLOCK =
  /-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}(?:PUBLIC KEY(?: BLOCK)?|CERTIFICATE(?: REQUEST)?|CRL|PKCS7|CMS|SIGNATURE|DH PARAMETERS)-----[A-Za-z0-9+/=\s:.\\]{0,16384}-----END /g;
/** Headers may stand before what is encoded. It is one even if its end is missing, as in a part of a file. */
const PRIVATE_KEY =
  /-----BEGIN (?:[A-Z0-9]{2,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----(?=(?:[\s"'+]|\\[nr]|\\(?![nr])|[A-Za-z-]{1,20}: [^\n]{0,200}\n){0,40}[A-Za-z0-9+/=]{16})[A-Za-z0-9+/=\s:,.\\"'()]{0,16384}/g;
const URL_PASSWORD =
  /(?<=\b[a-z][a-z0-9+.-]{1,30}):\/\/[^\s:/@"'`<>?#]{0,128}:(?<value>[^\s:/@"'`<>?#]{3,256})@(?=[\w[.-])/dgi;
const SURROUNDED: readonly { kind: string; form: RegExp }[] = [
  { kind: 'password-in-url', form: URL_PASSWORD },
  { kind: 'telegram-token', form: /(?<value>(?<![0-9])\d{8,10}:AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])/dg },
  {
    kind: 'authorization-header',
    form: /\b(?:Bearer|Basic)[ \t]{1,4}(?<value>(?=[A-Za-z_.~+/-]{0,40}\d)[A-Za-z0-9_.~+/-]{20,4096}={0,2})/dg,
  },
  {
    kind: 'signature-in-url',
    form: /[?&](?:sig|X-Amz-Signature|X-Goog-Signature|access_token)=(?<value>[A-Za-z0-9%_-]{32,512})/dg,
  },
  { kind: 'password-statement', form: /IDENTIFIED BY '(?<value>[^'\n]{6,256})'/dgi },
  { kind: 'totp-seed', form: /otpauth:\/\/[ht]otp\/[^\s"'<>]{0,200}?secret=(?<value>[A-Z2-7]{16,128})/dgi },
];

const IN_WORD = classOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-.=~');
function classOf(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}

/** Everything in a text that looks like a secret, in its order and without overlaps. */
export function detect(bytes: Buffer, file: string): Detected[] {
  // One character for each byte: patterns are ASCII, and such strings are searched fastest.
  const text = bytes.toString('latin1');
  const matches: (Match & { isWeak?: boolean })[] = [];
  const hasDigests = DIGESTS.test(file);
  const publicBlocks = text.includes('-----BEGIN ') ? [...text.matchAll(PUBLIC_BLOCK)] : [];
  const isPublic = (start: number) => isInside(publicBlocks, start);

  for (const match of text.includes('PRIVATE KEY') ? text.matchAll(PRIVATE_KEY) : [])
    matches.push({ kind: 'private-key', start: match.index, end: match.index + match[0].length });
  let start = 0;
  for (let i = 0; i <= bytes.length; i++) {
    if (i < bytes.length && IN_WORD[bytes[i] as number] === 1) continue;
    if (i - start >= WORD_LENGTH_MIN) {
      matches.push(...formatsIn(text, start, i));
      if (i - start >= RANDOM_LENGTH_MIN && !hasDigests) {
        const random = randomIn(text, start, i);
        if (random !== null && !isPublic(random.start)) matches.push(random);
      }
    }
    start = i + 1;
  }
  for (const { kind, form } of SURROUNDED) {
    for (const match of text.matchAll(form)) {
      const [from, to] = match.indices?.groups?.['value'] ?? [0, 0];
      const value = text.slice(from, to);
      if (!isDummy(value) && !isCode(value)) matches.push({ kind, start: from, end: to });
    }
  }
  if (!hasDigests) matches.push(...assignmentsIn(text, file).filter((one) => !isPublic(one.start)));
  return withoutOverlaps(matches).map((match) => ({
    ...match,
    isWeak: match.isWeak === true,
    value: Buffer.from(text.slice(match.start, match.end), 'latin1').toString('utf8'),
  }));
}

/** A literal that only looks random. Digests in hexadecimal have one case, and names are made of words. */
function randomIn(text: string, from: number, to: number): Match | null {
  const word = text.slice(from, to);
  // The word may have the name and the sign before its value.
  const skipped = /^[A-Za-z0-9_.-]{1,64}=(?=[A-Za-z0-9+/_-]{32})/.exec(word)?.[0].length ?? 0;
  const [start, value] = [from + skipped, word.slice(skipped)];
  const before = text.charAt(start - 1);
  const isLiteral = /["'`]/.test(before)
    ? text.charAt(to) === before
    : /[=:\s]/.test(before) && /[\s,;]|^$/.test(text.charAt(to));
  if (!isLiteral || value.length > RANDOM_LENGTH_MAX || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(value)) return null;
  const digits = value.match(/\d/g)?.length ?? 0;
  if (!isMixed(value) || digits < 3 || isMadeOfWords(value) || isDummy(value) || isIdentifier(value)) return null;
  // Without quotes it may be a part of a sentence or of data: it must be the whole value of a name.
  if (
    !/["'`]/.test(before) &&
    !/[A-Za-z0-9_"'\]][ \t]{0,4}[=:][ \t]{0,4}$/.test(text.slice(Math.max(0, start - 16), start))
  )
    return null;
  if (entropyOf(value) < 4.5 || PUBLIC_BEFORE.test(text.slice(Math.max(0, start - 48), start))) return null;
  const lineStart = text.lastIndexOf('\n', start) + 1;
  const lineEnd = text.indexOf('\n', start);
  if ((lineEnd === -1 ? text.length : lineEnd) - lineStart > LINE_LENGTH_MAX) return null;
  return { kind: 'random-text', start, end: to };
}

/** Whether a position is in one of the blocks, which are in their order. */
function isInside(blocks: readonly RegExpExecArray[], position: number): boolean {
  let [low, high] = [0, blocks.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((blocks[middle]?.index ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  const block = blocks[low - 1];
  return block !== undefined && position < block.index + block[0].length;
}

/** Of two that overlap one stays: what a known format explains is not reported again for its looks. */
function withoutOverlaps<T extends Match & { isWeak?: boolean }>(matches: readonly T[]): T[] {
  const weight = ({ kind, isWeak }: T) => (isWeak === true ? 3 : (GENERAL[kind] ?? 0));
  const separate: T[] = [];
  for (const match of matches.toSorted((a, b) => a.start - b.start || weight(a) - weight(b))) {
    const last = separate.at(-1);
    if (last === undefined || match.start >= last.end) separate.push(match);
    else if (weight(match) < weight(last)) separate[separate.length - 1] = match;
  }
  return separate;
}

const GENERAL: Readonly<Record<string, number>> = {
  'password-in-url': 1,
  'authorization-header': 1,
  'signature-in-url': 1,
  password: 1,
  'secret-value': 2,
  'random-text': 2,
};
