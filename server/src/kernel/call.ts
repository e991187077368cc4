import type { IncomingHttpHeaders } from 'node:http';
import type { PeerCertificate } from './http/peer-certificate.ts';

/** A request as it was received, independent of the HTTP library. */
export interface Call {
  requestId: string;
  /** The method as sent. HEAD requests are handled by the GET endpoint, but a DPoP proof names the method that was sent. */
  method: string;
  /** Path and query, undecoded. */
  url: string;
  headers: IncomingHttpHeaders;
  params: Readonly<Record<string, string>>;
  body: unknown;
  /** The client's address: that of the TCP peer, or the one a trusted proxy reports. */
  address: string;
  /** The client certificate of this connection, or the one a trusted proxy reports. */
  certificate: PeerCertificate | null;
}

/** Attributes of the requested resource that policy conditions can test. */
export interface ResourceAttributes {
  environment?: string | undefined;
  tags?: readonly string[] | undefined;
}
