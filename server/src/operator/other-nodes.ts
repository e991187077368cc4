import { StartError } from '../kernel/base/data-folder.ts';
import { connectTo } from '../kernel/storage/database-servers.ts';
import { findNodeSessions } from '../kernel/storage/node-sessions.ts';
import type { Config } from '../settings/config.ts';

const CONNECT_TIMEOUT_MS = 5000;

/**
 * A node still running with the old root key would wrap the key of a new tenant with it, and the data of that tenant could never be decrypted again.
 * On SQLite the lock of the data folder shows a running node; on PostgreSQL the sessions of other nodes do, if the server exposes them.
 */
export async function refuseOtherNodes(config: Config): Promise<void> {
  if (config.databaseUrl === null) return;
  const client = await connectTo(config.databaseUrl, {
    application_name: 'coffer rekey',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  try {
    const { length: sessions } = await findNodeSessions((text) => client.query(text));
    if (sessions === 0) return;
    throw new StartError(
      `Coffer is still running on this database (${sessions} connections). Stop every node first, then retry; nothing was changed.`,
    );
  } finally {
    await client.end();
  }
}
