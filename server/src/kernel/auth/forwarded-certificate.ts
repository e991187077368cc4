import type { IncomingHttpHeaders } from 'node:http';
import { headerPart } from '../base/headers.ts';

/** `client-cert`: RFC 9440. `x-client-cert`: URL-escaped PEM, like nginx's `$ssl_client_escaped_cert`. */
export const CERTIFICATE_HEADERS = ['client-cert', 'x-client-cert'] as const;
export type CertificateHeader = (typeof CERTIFICATE_HEADERS)[number];

export interface Forwarded {
  readonly der: Uint8Array;
  readonly chain: readonly Uint8Array[];
}

const BINARY_ITEM = /^:([A-Za-z0-9+/]+={0,2}):$/;
const PEM = /^-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\t\n\r ]+)-----END CERTIFICATE-----[\t\n\r ]*$/;

/**
 * The client certificate that a proxy reports. Only the header that the operator configured is read: the proxy may not know another one and pass it
 * on, and then the client has written it. Proxies that saw no certificate leave the header out or empty.
 */
export function forwardedCertificate(
  headers: IncomingHttpHeaders,
  header: CertificateHeader,
): Forwarded | 'none' | 'malformed' {
  const text = headers[header] ?? '';
  const chainText = header === 'client-cert' ? (headers['client-cert-chain'] ?? '') : '';
  if (typeof text !== 'string' || typeof chainText !== 'string') return 'malformed';
  if (text === '') return chainText === '' ? 'none' : 'malformed';
  const der = header === 'client-cert' ? binaryItem(text) : escapedPem(text);
  const chain = chainText === '' ? [] : chainText.split(',').map((item) => binaryItem(headerPart(item)));
  if (der === null || !chain.every((item) => item !== null)) return 'malformed';
  return { der, chain };
}

/** A byte sequence of structured fields (RFC 8941, 3.3.5). */
function binaryItem(text: string): Uint8Array | null {
  const [, base64] = BINARY_ITEM.exec(text) ?? [];
  return base64 === undefined ? null : canonicalBase64(base64);
}

function escapedPem(text: string): Uint8Array | null {
  try {
    const [, base64] = PEM.exec(decodeURIComponent(text)) ?? [];
    return base64 === undefined ? null : canonicalBase64(base64.replaceAll(/[\t\n\r ]+/g, ''));
  } catch {
    return null;
  }
}

function canonicalBase64(base64: string): Uint8Array | null {
  const bytes = Buffer.from(base64, 'base64');
  return bytes.toString('base64') === base64 ? bytes : null;
}
