import type { IncomingHttpHeaders } from 'node:http';
import type { Deadline } from '../endpoint/deadline.ts';
import type { EndpointDeclaration } from '../endpoint/declaration.ts';
import type { Trace } from '../observability/trace.ts';
import type { PeerCertificate } from './peer-certificate.ts';

/** A request as it was received, independent of the HTTP library. */
export interface Call {
  readonly requestId: string;
  /** The method as sent. HEAD requests are handled by the GET endpoint, but a DPoP proof names the method that was sent. */
  readonly method: string;
  /** Path and query, undecoded. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The session in the cookie of the console, or null if there is none. Absent if the console did not send the request. */
  readonly session?: string | null | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** The client's address: that of the TCP peer, or the one a trusted proxy reports. */
  readonly address: string;
  /** The client certificate of this connection, or the one a trusted proxy reports. */
  readonly certificate: PeerCertificate | null;
  /** Aborted when the connection of the caller is closed before the response is written. Absent if nobody waits, as for a stored request. */
  readonly departure?: () => AbortSignal;
  /** Absent for bulk requests, and if nobody waits. */
  readonly deadline?: Deadline | undefined;
  /** Absent if the request is not traced. */
  readonly trace?: Trace | undefined;
}

/** A call with the endpoint it was routed to. */
export interface RoutedCall {
  readonly call: Call;
  readonly declaration: EndpointDeclaration;
  /** The time of the request: when its body had arrived, if it has one. */
  readonly now: number;
}

/** Attributes of the requested resource that policy conditions can test. */
export interface ResourceAttributes {
  readonly environment?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}
