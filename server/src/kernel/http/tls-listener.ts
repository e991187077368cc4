import { createServer, type Server, type ServerOptions } from 'node:https';
import type { Server as NetServer, Socket } from 'node:net';
import { SECOND_MS } from '../base/clock.ts';
import { StartError } from '../base/data-folder.ts';
import type { CurrentIdentity } from './tls-identity.ts';

/** The same limit as for headers: before the handshake is complete, nothing is known about the client. */
export const HANDSHAKE_TIMEOUT_MS = 10 * SECOND_MS;

/**
 * The listener that requests client certificates. None is required to connect, and none is refused in the handshake, which only proves that the
 * client has the key. Whose certificate it is and whether it is valid is decided for each request, by the identity that the request claims.
 */
export function createTlsListener(identity: CurrentIdentity, nodeOptions: ServerOptions): Server {
  const server = createServer({
    ...nodeOptions,
    ...identity.options,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    requestCert: true,
    rejectUnauthorized: false,
  });
  identity.keep(server);
  return server;
}

/** The HTTP server does not close connections that are still in the handshake; this destroys all of them. */
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

/** Says what is wrong with the port of the TLS listener, if that is why it cannot listen. */
export function tlsPortError(error: unknown, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const problem = { EADDRINUSE: 'is in use', EACCES: 'may not be used by this user' }[code ?? ''];
  if (problem === undefined) return error;
  return new StartError(`Port ${port} (CV_TLS_PORT) ${problem}: set another port, or \`off\`.`);
}
