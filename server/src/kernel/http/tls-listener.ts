import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import type { Server as NetServer, Socket } from 'node:net';
import { SECOND_MS } from '../clock.ts';
import type { CurrentIdentity } from './tls-identity.ts';

/** As long as headers may take: before it is over nothing is known about who is there. */
export const HANDSHAKE_TIMEOUT_MS = 10 * SECOND_MS;

/**
 * The listener that asks its clients for certificates. None is needed to connect, and none is refused in the handshake, which only proves
 * that the client has the key: whose it is and whether it is good is decided for each request, by what the request claims to be.
 */
export function createTlsListener(
  identity: CurrentIdentity,
  nodeOptions: ServerOptions,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const server = createServer(
    {
      ...nodeOptions,
      ...identity.options,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      requestCert: true,
      rejectUnauthorized: false,
    },
    answer,
  );
  identity.keep(server);
  return server;
}

/** Connections that are still shaking hands are not the HTTP server's to close; this cuts off every one there is. */
export function connectionCutter(server: NetServer): () => void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}
