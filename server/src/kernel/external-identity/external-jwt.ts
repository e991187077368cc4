import { isUtf8 } from 'node:buffer';
import { compactVerify } from 'jose';
import { SECOND_MS } from '../base/clock.ts';
import { parseJson } from '../wire/json.ts';
import { algorithmNamed, type JwsAlgorithm } from './algorithms.ts';
import { type ExternalKey, isRecord, KID_LENGTH_MAX } from './key-set.ts';
import { refuse } from './refusal.ts';

export const TOKEN_LENGTH_MAX = 16 * 1024;
/** The allowed difference between clocks. A token from further in the future is refused. */
export const SKEW_MS = 60 * SECOND_MS;
export const SUBJECT_LENGTH_MAX = 1024;

export interface TokenHeader {
  readonly algorithm: JwsAlgorithm;
  readonly kid: string | null;
}

export type Claims = Readonly<Record<string, unknown>>;

export interface ReadToken {
  readonly text: string;
  readonly header: TokenHeader;
  /** The claims before anything is verified. */
  readonly unverified: Claims;
}

export interface Expectations {
  readonly issuer: string | null;
  readonly audience: string;
  readonly now: number;
  /** The maximum age since it was issued; `iat` is then required. */
  readonly maxAgeMs?: number;
  /** The accepted types, in lower case, if they are not those of an identity. */
  readonly types?: readonly string[];
}

const FORM = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
/** They would let the token choose the key that verifies it, or change what the signature covers (RFC 7515, 4.1; RFC 7797). */
const REFUSED_HEADERS = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64', 'zip', 'enc'] as const;
/** Other types of JWT are signed with the same keys: a proof or a logout token is not an identity (RFC 8725, 3.11). */
const IDENTITY_TYPES: readonly string[] = ['jwt', 'at+jwt', 'jose'];

/** Parses a token, within limits, before any key is looked up. */
export function readToken(text: string, allowed: readonly JwsAlgorithm[], types = IDENTITY_TYPES): ReadToken {
  if (text.length > TOKEN_LENGTH_MAX) refuse('the token is too long');
  if (!FORM.test(text)) refuse('the token is not a signed JWT');
  const [header = '', payload = ''] = text.split('.');
  const fields = decoded(header, 'header');
  for (const name of REFUSED_HEADERS) {
    if (Object.hasOwn(fields, name)) refuse(`the token's header has ${name}, which is not accepted`);
  }
  const algorithm = algorithmNamed(fields['alg']);
  if (algorithm === null || !allowed.includes(algorithm)) refuse('the signature algorithm is not accepted');
  const { typ = 'JWT', kid = null } = fields;
  if (typeof typ !== 'string' || !types.includes(typ.toLowerCase().replace(/^application\//, ''))) {
    refuse('the token is of another kind');
  }
  if (kid !== null && (typeof kid !== 'string' || kid === '' || kid.length > KID_LENGTH_MAX)) {
    refuse("the token's key id is malformed");
  }
  return {
    text,
    header: { algorithm: algorithm as JwsAlgorithm, kid: kid as string | null },
    unverified: decoded(payload, 'payload'),
  };
}

/** Whether this key signed the token, with the algorithm that was accepted and matches the key. */
export async function isSignedBy({ text, header }: ReadToken, { key }: ExternalKey): Promise<boolean> {
  try {
    await compactVerify(text, key, { algorithms: [header.algorithm] });
    return true;
  } catch {
    return false;
  }
}

/** RFC 7519, 4.1, in its strictest form: a single audience, exactly this issuer, and an expiry. */
export function refuseUnfitClaims(claims: Claims, { issuer, audience, now, maxAgeMs }: Expectations): void {
  const { iss, aud, exp, nbf, iat, sub } = claims;
  if (issuer !== null && iss !== issuer) refuse('the token is from another issuer');
  refuseOtherAudience(aud, audience);
  if (!isTime(exp)) refuse('the token has no valid expiry time (exp)');
  else if (exp * SECOND_MS <= now) refuse('the token has expired');
  if (nbf !== undefined) {
    if (!isTime(nbf)) refuse('the token has a malformed nbf');
    else if (nbf * SECOND_MS > now + SKEW_MS) refuse('the token is not valid yet');
  }
  if (iat !== undefined || maxAgeMs !== undefined) {
    if (!isTime(iat)) refuse('the token has no valid time of issue (iat)');
    else if (iat * SECOND_MS > now + SKEW_MS) refuse('the token was issued in the future');
    else if (maxAgeMs !== undefined && now - iat * SECOND_MS > maxAgeMs) refuse('the token was issued too long ago');
  }
  if (sub !== undefined && !isName(sub)) refuse('the subject is malformed');
}

/** If a token is also for other audiences, those others could use it here. */
export function refuseOtherAudience(aud: unknown, audience: string): void {
  if (Array.isArray(aud) && aud.length > 1) refuse('the token is for several audiences');
  const single = Array.isArray(aud) ? aud[0] : aud;
  if (typeof single !== 'string' || audience === '' || single !== audience) refuse('the token is for another audience');
}

/** The name of an identity: text without control characters, short enough to be matched and recorded. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME_FORM.test(value) && value.length <= SUBJECT_LENGTH_MAX;
}
const NAME_FORM = /^\P{C}+$/u;

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 && value < 1e12;
}

function decoded(part: string, what: string): Record<string, unknown> {
  const bytes = Buffer.from(part, 'base64url');
  // One spelling: bits that no decoder reads must be zero (RFC 4648, 3.5).
  if (bytes.toString('base64url') !== part || !isUtf8(bytes)) refuse(`the token's ${what} is malformed`);
  try {
    const value = parseJson(bytes);
    if (isRecord(value)) return value;
  } catch {
    // The parser's message is not repeated, because it is about the content of the token.
  }
  return refuse(`the token's ${what} is malformed`);
}
