import type { ResourceAttributes } from '../../kernel/auth/call.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { connectionResources, connectionsByKey } from '../app-connections/storage/index.ts';
import { attributesOf } from '../secrets/index.ts';
import { secretsById } from '../secrets/storage/index.ts';
import { vaultsById } from '../vaults/storage/index.ts';
import type { AnomalyRow } from './store.ts';

type About = Pick<AnomalyRow, 'anomaly_id' | 'resource' | 'vault_id' | 'secret_id' | 'connection_no'>;

/** Every name by which policies may mean an anomaly, and what they may ask about what it is about. */
export interface Named {
  resources: readonly string[];
  attributes: ResourceAttributes;
}

/** No row has these keys. They make the same queries run whatever is found, so that the time of a response tells nothing. */
const NO_ID = '';
const NO_NUMBER = -1;

/** How policies name these anomalies, by what the secrets, vaults and connections are now. */
export async function namesOf(db: Reader, tenantId: string, rows: readonly About[]): Promise<Map<string, Named>> {
  const secrets = await secretsById(
    db,
    tenantId,
    keysOf(rows, NO_ID, ({ secret_id }) => secret_id),
  );
  const vaults = await vaultsById(
    db,
    tenantId,
    keysOf(rows, NO_ID, ({ vault_id }) => vault_id),
  );
  const numbers = keysOf(rows, NO_NUMBER, ({ connection_no }) => connection_no);
  const connections = await connectionsByKey(db, tenantId, numbers);
  const secretOf = new Map(secrets.map((secret) => [secret.secret_id, secret]));
  const vaultOf = new Map(vaults.map((vault) => [vault.vault_id, vault]));
  const connectionOf = new Map(connections.map((connection) => [Number(connection.connection_no), connection]));
  return new Map(
    rows.map((row) => {
      const located = secretOf.get(row.secret_id ?? NO_ID) ?? vaultOf.get(row.vault_id ?? NO_ID);
      const connection = row.connection_no === null ? undefined : connectionOf.get(Number(row.connection_no));
      const aliases = connection === undefined ? [] : connectionResources(connection);
      const resources = new Set([`anomaly/${row.anomaly_id}`, row.resource, ...aliases]);
      const attributes = located === undefined ? {} : attributesOf(located);
      return [row.anomaly_id, { resources: [...resources], attributes }];
    }),
  );
}

/** Never empty, so that for one anomaly and for none the same queries run. */
function keysOf<K>(rows: readonly About[], none: K, keyOf: (row: About) => K | null): K[] {
  return rows.length === 0 ? [none] : [...new Set(rows.map((row) => keyOf(row) ?? none))];
}

export function isVisible(ctx: Context, named: Named | undefined): boolean {
  return named !== undefined && ctx.access.mayByAny([ctx.declaration.permission], named.resources, named.attributes);
}

/** Refuses a caller who may not do this with the anomaly. Without one, the caller is decided on as for one about nothing. */
export function authorizeAnomaly(ctx: Context, anomalyId: string, named: Named | undefined): void {
  const { resources, attributes } = named ?? { resources: [`anomaly/${anomalyId}`], attributes: {} };
  const isAllowed = ctx.access.mayByAny([ctx.declaration.permission], resources, attributes);
  if (!isAllowed) {
    for (const resource of resources) ctx.access.refuseDenied(ctx.declaration.permission, resource, attributes);
  }
  ctx.access.authorizeWithin(`anomaly/${anomalyId}`, isAllowed, attributes);
}
