import { createHash, createHmac } from 'node:crypto';

export interface SignedRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** The headers of a request, with a Signature Version 4 over all of them and the body. */
export function signedHeaders(
  { method, url, headers, body }: SignedRequest,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  { region, service, now }: { region: string; service: string; now: number },
): Record<string, string> {
  const { host, pathname } = new URL(url);
  const date = new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, '');
  const bodyHash = sha256(body);
  const all: Record<string, string> = {
    ...headers,
    host,
    'x-amz-date': date,
    'x-amz-content-sha256': bodyHash,
    ...(sessionToken !== null && { 'x-amz-security-token': sessionToken }),
  };
  const names = Object.keys(all).sort();
  const canonical = [
    method,
    // Outside S3, each segment of a path is encoded once more than in the URL.
    service === 's3' ? pathname : pathname.split('/').map(encoded).join('/'),
    '',
    ...names.map((name) => `${name}:${all[name]?.trim()}`),
    '',
    names.join(';'),
    bodyHash,
  ].join('\n');
  const day = date.slice(0, 8);
  const scope = [day, region, service, 'aws4_request'];
  const key = scope.reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${secretAccessKey}`);
  const signature = hmac(key, [ALGORITHM, date, scope.join('/'), sha256(canonical)].join('\n')).toString('hex');
  const { host: _, ...sent } = all;
  return {
    ...sent,
    authorization: `${ALGORITHM} Credential=${accessKeyId}/${scope.join('/')}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** RFC 3986: only unreserved characters stay as they are. */
function encoded(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}
