import { SECOND_MS } from '../../../kernel/base/clock.ts';
import { refuse } from '../../../kernel/external-identity/refusal.ts';

/** A request to STS that the service builds itself from the parts of a signature. */
export interface CallerIdentityRequest {
  readonly url: string;
  /** Includes the port, if there is one. */
  readonly host: string;
}

const ACTION = 'GetCallerIdentity';
const VERSION = '2011-06-15';
const ALGORITHM = 'AWS4-HMAC-SHA256';
const SIGNED_HEADERS = 'host;x-coffer-audience';
const EXPIRES_MAX_SECONDS = 900;
const URL_FORM = /^(https?:\/\/([a-z0-9.-]+(?::[1-9]\d{0,4})?))\/\?([\x21-\x7e]+)$/;
const CREDENTIAL = /^[A-Z0-9]{16,128}\/(\d{8})\/([a-z0-9-]{1,32})\/sts\/aws4_request$/;
const DATE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

/** Each of these occurs at most once, with a value of this form; any other parameter is refused. */
const PARAMETERS: Readonly<Record<string, RegExp>> = {
  Action: /^[\x21-\x7e]{1,64}$/,
  Version: /^[\x21-\x7e]{1,16}$/,
  'X-Amz-Algorithm': /^[\x21-\x7e]{1,64}$/,
  'X-Amz-Credential': /^[\x21-\x7e]{1,256}$/,
  'X-Amz-Date': /^[\x21-\x7e]{1,32}$/,
  'X-Amz-Expires': /^[1-9]\d{0,5}$/,
  'X-Amz-SignedHeaders': /^[\x21-\x7e]{1,256}$/,
  'X-Amz-Signature': /^[0-9a-f]{64}$/,
  'X-Amz-Security-Token': /^[\x21-\x7e]{1,4096}$/,
};
const OPTIONAL = ['X-Amz-Security-Token'];

const REGION = '[a-z]{2}(?:-gov)?(?:-[a-z]{3,12})+-\\d{1,2}';
const OWN_HOSTS: readonly [RegExp, string][] = [
  [/^sts\.amazonaws\.com$/, 'aws'],
  [/^sts(?:-fips)?\.cn-[a-z]+-\d\.amazonaws\.com\.cn$/, 'aws-cn'],
  [/^sts(?:-fips)?\.us-gov-[a-z]+-\d\.amazonaws\.com$/, 'aws-us-gov'],
  [new RegExp(`^sts(?:-fips)?\\.(?!us-gov-|cn-)${REGION}\\.amazonaws\\.com$`), 'aws'],
];

/** The partition whose accounts an STS host of AWS serves; null for a host that is not AWS's. */
export function partitionOf(host: string): string | null {
  return OWN_HOSTS.find(([form]) => form.test(host))?.[1] ?? null;
}

/**
 * Parses a pre-signed URL and rebuilds the request. If `endpoint` is given, only that one is accepted, otherwise any STS endpoint of AWS. The
 * signature verifies only if every signed part equals what is rebuilt here.
 */
export function readSignedUrl(
  text: string,
  endpoint: string | null,
  now: number,
  windowMs: number,
): CallerIdentityRequest {
  const [, origin = '', host = '', query = ''] = URL_FORM.exec(text) ?? refuse('the signed URL is not an STS URL');
  const isExpected =
    endpoint === null ? origin === `https://${host}` && partitionOf(host) !== null : origin === endpoint;
  if (!isExpected) refuse('the signed URL is for another host');
  const values = parametersOf(query);
  const value = (name: string) => values.get(name) ?? '';
  if (value('Action') !== ACTION) refuse('the signed URL is for another action');
  if (value('Version') !== VERSION) refuse('the signed URL is for another version of STS');
  if (value('X-Amz-Algorithm') !== ALGORITHM) refuse('the signed URL is signed by another algorithm');
  if (value('X-Amz-SignedHeaders') !== SIGNED_HEADERS)
    refuse('the signed URL signs other headers than host and x-coffer-audience');
  const signedAt = timeOf(value('X-Amz-Date'));
  const expiresMs = Number(value('X-Amz-Expires')) * SECOND_MS;
  const [, day] = CREDENTIAL.exec(value('X-Amz-Credential')) ?? refuse('the signed URL has a malformed credential');
  if (day !== value('X-Amz-Date').slice(0, 8)) refuse('the signed URL has a credential of another day');
  if (expiresMs > EXPIRES_MAX_SECONDS * SECOND_MS) refuse('the signed URL is valid for too long');
  if (Math.abs(now - signedAt) > windowMs) refuse('the signed URL was not signed recently');
  if (signedAt + expiresMs <= now) refuse('the signed URL has expired');
  const rebuilt = [...values].map(([name, text]) => `${name}=${encoded(text)}`).join('&');
  return { url: `${origin}/?${rebuilt}`, host };
}

/** A query with a duplicate parameter may be read differently by STS. */
function parametersOf(query: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const part of query.split('&')) {
    const [name = '', value = '', ...more] = part.split('=');
    const form = Object.hasOwn(PARAMETERS, name) ? PARAMETERS[name] : undefined;
    if (form === undefined || more.length > 0)
      refuse('the signed URL has other parameters than a GetCallerIdentity request');
    if (values.has(name)) refuse('the signed URL has a parameter twice');
    const text = decoded(value);
    if (text === null || !form?.test(text)) refuse('the signed URL has a malformed parameter');
    values.set(name, text ?? '');
  }
  const isWhole = Object.keys(PARAMETERS).every((name) => values.has(name) || OPTIONAL.includes(name));
  if (!isWhole) refuse('the signed URL lacks a parameter');
  return values;
}

/** In a signed query `+` is not a space, but some parsers read it as one, so it is refused. */
function decoded(value: string): string | null {
  if (value.includes('+')) return null;
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

/** Encoded as in the signature's canonical query: RFC 3986, with only unreserved characters unescaped. */
function encoded(value: string): string {
  return encodeURIComponent(value).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

function timeOf(text: string): number {
  const [, year, month, day, hours, minutes, seconds] =
    DATE.exec(text) ?? refuse('the signed URL has no readable date');
  const time = Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`);
  return Number.isNaN(time) ? refuse('the signed URL has no readable date') : time;
}
