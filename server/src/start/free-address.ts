import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { tlsPortError } from '../kernel/http/tls-listener.ts';
import type { Config } from '../settings/config.ts';

/**
 * Throws if another program uses the address, before a first start creates a folder, keys and a database for a service that then cannot listen. Later
 * starts learn it when they listen.
 */
export async function refuseTakenAddress({ dataDir, host, port, tlsPort }: Config): Promise<void> {
  if (existsSync(join(dataDir, 'lock'))) return;
  await tryToListen(host, port);
  if (tlsPort?.isChosen !== true) return;
  try {
    await tryToListen(host, tlsPort.port);
  } catch (error) {
    throw tlsPortError(error, tlsPort.port);
  }
}

async function tryToListen(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const server = createServer();
  server.listen({ host, port });
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}
