import { createHash, type X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { isTrustedPeer, type TrustedProxies } from '../base/client-address.ts';
import { type CertificateHeader, forwardedCertificate } from './forwarded-certificate.ts';

/** The client certificate of a request. The handshake proved that the client has its key; nothing else about it is checked yet. */
export interface PeerCertificate {
  /** The leaf certificate. */
  readonly der: Uint8Array;
  /** The other certificates that were sent. */
  readonly chain: readonly Uint8Array[];
  /** base64url of the leaf's SHA-256, as in `cnf["x5t#S256"]`. */
  readonly thumbprint: string;
}

/** One more than any check accepts, so that a chain that is too long does not pass for a shorter one. */
const CHAIN_STORED_MAX = 9;

/** A certificate that was sent but cannot be parsed: no check accepts it, and nothing is bound to it. */
export const UNREADABLE_CERTIFICATE: PeerCertificate = { der: new Uint8Array(), chain: [], thumbprint: '' };

export function peerCertificate(der: Uint8Array, chain: readonly Uint8Array[]): PeerCertificate {
  return { der, chain, thumbprint: createHash('sha256').update(der).digest('base64url') };
}

/**
 * The certificate of a request: that of its connection or, from a trusted proxy, the one in the header that the operator configured. A proxy
 * forwards requests of others, so the certificate of its own connection is ignored. The header is ignored if it comes from anyone else.
 */
export function clientCertificate(
  request: IncomingMessage,
  trusted: TrustedProxies,
  header: CertificateHeader | null,
): PeerCertificate | null {
  const { socket } = request;
  if (!isTrustedPeer(socket.remoteAddress ?? '', trusted)) return connectionCertificate(socket);
  if (header === null) return null;
  const forwarded = forwardedCertificate(request.headers, header);
  if (forwarded === 'none') return null;
  return forwarded === 'malformed' ? UNREADABLE_CERTIFICATE : peerCertificate(forwarded.der, forwarded.chain);
}

const certificates = new WeakMap<Socket, PeerCertificate | null>();

/** Read once per connection, because renegotiation, which could change it, is disabled. */
function connectionCertificate(socket: Socket): PeerCertificate | null {
  if (!('encrypted' in socket)) return null;
  let certificate = certificates.get(socket);
  if (certificate === undefined) {
    certificate = readCertificate(socket as TLSSocket);
    certificates.set(socket, certificate);
  }
  return certificate;
}

function readCertificate(socket: TLSSocket): PeerCertificate | null {
  const leaf = socket.getPeerX509Certificate();
  if (leaf === undefined) return null;
  const chain: Uint8Array[] = [];
  let next: X509Certificate | undefined = leaf.issuerCertificate;
  while (next !== undefined && chain.length < CHAIN_STORED_MAX) {
    chain.push(next.raw);
    next = next.issuerCertificate;
  }
  return peerCertificate(leaf.raw, chain);
}
