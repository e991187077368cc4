import type { IncomingHttpHeaders } from 'node:http';
import type { PeerCertificate } from './http/peer-certificate.ts';

/** A request as it came, free of the HTTP library. */
export interface Call {
  requestId: string;
  /** As it was sent: HEAD is answered by what is declared for GET, and a proof names what was sent. */
  method: string;
  /** Path and query, undecoded. */
  url: string;
  headers: IncomingHttpHeaders;
  params: Readonly<Record<string, string>>;
  body: unknown;
  /** The client's address: the peer's, or what a trusted proxy says it is. */
  address: string;
  /** What the client showed on this connection, or what a trusted proxy says it showed. */
  certificate: PeerCertificate | null;
}

/** What is known of the thing asked for, for the conditions of policies. */
export interface ResourceAttributes {
  environment?: string | undefined;
  tags?: readonly string[] | undefined;
}
