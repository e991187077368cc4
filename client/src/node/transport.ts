import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import type { ClientIdentity, Transport, TransportRequest, TransportResponse } from '../transport.ts';
import { exchange, type WholeAnswer } from './exchange.ts';

export interface NodeTransportOptions {
  /** The CA certificates to trust instead of those of the system, in PEM. */
  ca?: string;
  /** The client certificate to show. Called for each request; one that came with a token is shown instead. */
  identity?: () => ClientIdentity;
  /** The socket of `coffer agent run`, which adds the credentials; the address of the service then only gives the path. */
  socketPath?: string;
  /** How many bytes an answer may have: 64 MiB unless given. */
  bytesMax?: number;
  /** Whether connections stay open for the next request: true unless given. */
  keepAlive?: boolean;
}

const BYTES_MAX = 64 * 1024 * 1024;
/** Loaded with the first request: a command that sends none starts sooner without them. */
const http = () => process.getBuiltinModule('node:http');
const https = () => process.getBuiltinModule('node:https');
/** Nothing but a program that means the socket sends it: a page or a proxy that was talked into calling it does not. */
export const SOCKET_HEADER = 'x-coffer-agent';

/** Sends by Node's own HTTP client, which starts faster than `fetch` and can show a client certificate. */
export function nodeTransport(options: NodeTransportOptions = {}): Transport {
  const { ca, identity, socketPath, bytesMax = BYTES_MAX, keepAlive = true } = options;
  let plain: HttpAgent | null = null;
  let bare: HttpsAgent | null = null;
  let showing: { agent: HttpsAgent; cert: string } | null = null;
  const newAgent = (shown: Partial<ClientIdentity>) =>
    new (https().Agent)({ keepAlive, minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }), ...shown });
  const agentFor = ({ url, identity: own }: TransportRequest): HttpAgent => {
    if (!url.startsWith('https:')) {
      plain ??= new (http().Agent)({ keepAlive });
      return plain;
    }
    const shown = own ?? identity?.();
    if (shown === undefined) {
      bare ??= newAgent({});
      return bare;
    }
    if (showing === null || showing.cert !== shown.cert) {
      if (showing !== null) retire(showing.agent);
      showing = { agent: newAgent({ cert: shown.cert, key: shown.key }), cert: shown.cert };
    }
    return showing.agent;
  };
  return (request) =>
    socketPath === undefined
      ? send(request, { agent: agentFor(request) }, bytesMax)
      : send({ ...request, headers: { ...request.headers, [SOCKET_HEADER]: '1' } }, { socketPath }, bytesMax);
}

/** Connections that showed the former certificate end with what they are doing. */
function retire(agent: HttpsAgent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

async function send(
  request: TransportRequest,
  route: { agent: HttpAgent } | { socketPath: string },
  bytesMax: number,
): Promise<TransportResponse> {
  const { status, headers, body } = await exchange({ ...request, route, bytesMax });
  return { status, headers: { get: (name) => headerOf(headers, name) }, text: async () => body.toString('utf8') };
}

function headerOf(headers: WholeAnswer['headers'], name: string): string | null {
  const value = headers[name.toLowerCase()];
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}
