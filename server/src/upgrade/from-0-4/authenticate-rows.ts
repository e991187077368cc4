import type { Logger } from 'pino';
import { AUTHENTICATED_TABLES } from '../../assembly/authenticated-tables.ts';
import { walkChain } from '../../kernel/audit/chain/chain-walk.ts';
import type { Heads } from '../../kernel/audit/chain/heads.ts';
import { systemEntry } from '../../kernel/audit/entry/system-entry.ts';
import type { AuditLog } from '../../kernel/audit/log/audit-log.ts';
import { hasItsPrivateHalf, SIGNING_KEYS } from '../../kernel/auth/signing-keys.ts';
import type { Clock } from '../../kernel/base/clock.ts';
import { StartError } from '../../kernel/base/data-folder.ts';
import type { RootKey } from '../../kernel/crypto/root-key.ts';
import type { AnyAuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import { actionIn, recordsIn } from '../../kernel/integrity/row-verification.ts';
import { findUncheckedOperator } from '../../kernel/integrity/tenant-rows.ts';
import {
  beginAuthentication,
  type Keyring,
  type MacKey,
  unauthenticatedTenantKeys,
} from '../../kernel/keys/keyring.ts';
import type { Database, Reader, Tx } from '../../kernel/storage/database.ts';
import { type SigningKeysTable, SYSTEM_TENANT } from '../../kernel/storage/tables.ts';

interface Parts {
  database: Database;
  root: RootKey;
  keyring: Keyring;
  heads: Heads;
  audit: AuditLog;
  clock: Clock;
  log: Logger;
  acceptRowsOf: string | undefined;
}

const AUTHENTICATE_ACTION = 'server:authenticate_rows';
/** Somebody put back a tenant key as a release before 0.5.0 wrapped it, so that forged rows would be authenticated. */
const AUTHENTICATED_BEFORE = 'the rows were authenticated before';
const TAMPERED =
  'Restore a backup of the database from before the change. If you know who changed the log and trust the rows as they are, run "coffer server authenticate-rows TENANT".';

/**
 * Returns the tenants, and the installation itself, whose rows were written without MACs by a release before 0.5.0. This depends on how the tenant's
 * key is wrapped, not on the rows: deleting MACs must not make rows look as if they never had any.
 */
export async function tenantsToAuthenticate(db: Reader, root: RootKey): Promise<string[]> {
  const tenants = await db.selectFrom('tenants').select('tenant_id').where('row_mac', 'is', null).execute();
  const signing = await db.selectFrom('signing_keys').select('kid').where('row_mac', 'is', null).execute();
  const candidates = [...(signing.length > 0 ? [SYSTEM_TENANT] : []), ...tenants.map(({ tenant_id }) => tenant_id)];
  const found: string[] = [];
  for (const tenantId of candidates) {
    if ((await unauthenticatedTenantKeys(db, root, tenantId)).length > 0) found.push(tenantId);
  }
  return found;
}

/**
 * Authenticates existing rows as they are, once, at the first start after the upgrade, if the tenant's audit log verifies. A tenant whose log was
 * changed is left out and cannot do anything until the operator decides.
 */
export async function authenticateRows(parts: Parts, tenantIds: readonly string[]): Promise<void> {
  for (const tenantId of tenantIds) {
    const problem = tenantId === SYSTEM_TENANT ? null : await historyProblem(parts, tenantId);
    const isAccepted = problem === null || tenantId === parts.acceptRowsOf;
    if (isAccepted) await authenticateTenant(parts, tenantId, problem);
    else await leaveOut(parts, tenantId, problem);
  }
}

async function historyProblem({ database, heads, audit }: Parts, tenantId: string): Promise<string | null> {
  await audit.link();
  const head = await heads.row(database.read, tenantId);
  if (head === undefined) return 'the head of the chain was removed';
  const broken = await walkChain(database.read, { heads, head }, (_seq, _hash, text) =>
    tellsOfAuthenticated(text) ? AUTHENTICATED_BEFORE : null,
  );
  return broken === null ? null : `entry ${broken.seq}: ${broken.reason}`;
}

function tellsOfAuthenticated(text: string): boolean {
  return recordsIn(text).length > 0 || (text.includes(AUTHENTICATE_ACTION) && actionIn(text) === AUTHENTICATE_ACTION);
}

async function leaveOut({ database, keyring, log }: Parts, tenantId: string, problem: string): Promise<void> {
  keyring.setAuthenticated(tenantId, true);
  if ((await findUncheckedOperator(database.read))?.tenant_id === tenantId) {
    throw new StartError(
      `The audit log of ${tenantId}, the operator tenant, was changed (${problem}), so its rows are not trusted. ${TAMPERED}`,
    );
  }
  log.error(
    { tenant: tenantId, problem, what_to_do: TAMPERED },
    'the rows of a tenant could not be authenticated, because its audit log was changed',
  );
}

/** Runs in one transaction: a kill leaves everything as it was, and of several nodes that start together one does it. */
async function authenticateTenant(parts: Parts, tenantId: string, problem: string | null): Promise<void> {
  const { database, root, keyring, audit, clock } = parts;
  const headKey = tenantId === SYSTEM_TENANT ? null : await audit.headKey(tenantId);
  await database.transaction(async (tx) => {
    const keys = await unauthenticatedTenantKeys(tx, root, tenantId, 'locked');
    if (keys.length === 0) return;
    const key = await beginAuthentication(tx, root, keys, clock.now());
    const counts: Record<string, number> = {};
    for (const table of AUTHENTICATED_TABLES)
      counts[table.name] = await authenticateTable(tx, table, tenantId, { key, keyring });
    if (headKey === null) return;
    const entry = systemEntry({
      tenantId,
      actorId: 'start',
      action: AUTHENTICATE_ACTION,
      resource: `tenant/${tenantId}`,
      status: 200,
      details: problem === null ? counts : { ...counts, history: problem },
      now: clock.now(),
    });
    await audit.recordIn(tx, [entry], headKey);
  });
  keyring.setAuthenticated(tenantId, true);
}

async function authenticateTable(
  tx: Tx,
  table: AnyAuthenticatedTable,
  tenantId: string,
  { key, keyring }: { key: MacKey; keyring: Keyring },
): Promise<number> {
  let count = 0;
  for await (const rows of table.walk(tx, tenantId)) {
    for (const row of rows) {
      const isSigningKey = (table as unknown) === SIGNING_KEYS;
      if (isSigningKey && !(await hasItsPrivateHalf(keyring, row as unknown as SigningKeysTable))) continue;
      await table.writeMac(tx, row, table.mac(key, row));
      if (table.isListedAtUpgrade)
        tx.changes.note(tenantId, { table: table.name, key: table.keyText(row) }, table.digest(row), null);
      count++;
    }
  }
  return count;
}
