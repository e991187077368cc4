import { isUtf8 } from 'node:buffer';
import { compactVerify } from 'jose';
import { SECOND_MS } from '../clock.ts';
import { parseJson } from '../http/json.ts';
import { algorithmNamed, type OutsideAlgorithm } from './algorithms.ts';
import { isRecord, KID_LENGTH_MAX, type OutsideKey } from './key-set.ts';
import { refuse } from './refusal.ts';

export const TOKEN_LENGTH_MAX = 16 * 1024;
/** Clocks differ; what is from further in the future than this is not. */
export const SKEW_MS = 60 * SECOND_MS;
export const SUBJECT_LENGTH_MAX = 1024;

export interface TokenHeader {
  readonly algorithm: OutsideAlgorithm;
  readonly kid: string | null;
}

export type Claims = Readonly<Record<string, unknown>>;

export interface ReadToken {
  readonly text: string;
  readonly header: TokenHeader;
  /** Nothing is verified yet. */
  readonly unverified: Claims;
}

export interface Expectations {
  readonly issuer: string | null;
  readonly audience: string;
  readonly now: number;
  /** How long ago it may have been issued; `iat` is required then. */
  readonly maxAgeMs?: number;
}

const FORM = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
/** They would let the token choose the key that verifies it, or change what a signature covers (RFC 7515, 4.1; RFC 7797). */
const REFUSED_HEADERS = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64', 'zip', 'enc'] as const;
/** Other kinds of JWT are signed with the same keys: a proof or a logout token is no identity (RFC 8725, 3.11). */
const TYPES = ['jwt', 'at+jwt', 'jose'];

/** Takes a token apart, within bounds, before any key is looked for. */
export function readToken(text: string, allowed: readonly OutsideAlgorithm[]): ReadToken {
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
  if (typeof typ !== 'string' || !TYPES.includes(typ.toLowerCase().replace(/^application\//, ''))) {
    refuse('the token is of another kind');
  }
  if (kid !== null && (typeof kid !== 'string' || kid === '' || kid.length > KID_LENGTH_MAX)) {
    refuse("the token's key id is malformed");
  }
  return {
    text,
    header: { algorithm: algorithm as OutsideAlgorithm, kid: kid as string | null },
    unverified: decoded(payload, 'payload'),
  };
}

/** Whether this key signed it, by the algorithm that was found acceptable and fits the key. */
export async function isSignedBy({ text, header }: ReadToken, { key }: OutsideKey): Promise<boolean> {
  try {
    await compactVerify(text, key, { algorithms: [header.algorithm] });
    return true;
  } catch {
    return false;
  }
}

/** RFC 7519, 4.1, with nothing left to choose: one audience, the very issuer, and an end. */
export function refuseUnfitClaims(claims: Claims, { issuer, audience, now, maxAgeMs }: Expectations): void {
  const { iss, aud, exp, nbf, iat, sub } = claims;
  if (issuer !== null && iss !== issuer) refuse('the token is from another issuer');
  refuseOtherAudience(aud, audience);
  if (!isTime(exp)) refuse('the token has no end');
  else if (exp * SECOND_MS <= now) refuse('the token has expired');
  if (nbf !== undefined) {
    if (!isTime(nbf)) refuse('the token says in no readable way from when it is valid');
    else if (nbf * SECOND_MS > now + SKEW_MS) refuse('the token is not valid yet');
  }
  if (iat !== undefined || maxAgeMs !== undefined) {
    if (!isTime(iat)) refuse('the token does not say when it was issued');
    else if (iat * SECOND_MS > now + SKEW_MS) refuse('the token was issued in the future');
    else if (maxAgeMs !== undefined && now - iat * SECOND_MS > maxAgeMs) refuse('the token was issued too long ago');
  }
  if (sub !== undefined && !isName(sub)) refuse('the subject is malformed');
}

/** A token for us and for others could be used here by those others. */
export function refuseOtherAudience(aud: unknown, audience: string): void {
  if (Array.isArray(aud) && aud.length > 1) refuse('the token is for several audiences');
  const single = Array.isArray(aud) ? aud[0] : aud;
  if (typeof single !== 'string' || audience === '' || single !== audience) refuse('the token is for another audience');
}

/** A name that an identity goes by: text without control characters, of a length that can be matched and recorded. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME_FORM.test(value) && value.length <= SUBJECT_LENGTH_MAX;
}
const NAME_FORM = /^\P{C}+$/u;

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 && value < 1e12;
}

function decoded(part: string, what: string): Record<string, unknown> {
  const bytes = Buffer.from(part, 'base64url');
  // One spelling: bits that no reader looks at must be zero (RFC 4648, 3.5).
  if (bytes.toString('base64url') !== part || !isUtf8(bytes)) refuse(`the token's ${what} is malformed`);
  try {
    const value = parseJson(bytes);
    if (isRecord(value)) return value;
  } catch {
    // What it says is not repeated: it is part of the token.
  }
  return refuse(`the token's ${what} is malformed`);
}
