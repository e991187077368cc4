import { sql } from 'kysely';
import { loadConfig } from '../server/src/assembly/settings.ts';
import { newSecretRow, versionRow } from '../server/src/features/secrets/storage/secret-rows.ts';
import { SECRETS, type SecretRow, VERSIONS } from '../server/src/features/secrets/storage/tables.ts';
import { sealerFor } from '../server/src/features/secrets/value/sealing.ts';
import { VAULTS, type VaultRow } from '../server/src/features/vaults/storage/index.ts';
import { systemEntry } from '../server/src/kernel/audit/entry/system-entry.ts';
import { systemClock } from '../server/src/kernel/base/clock.ts';
import { newId } from '../server/src/kernel/base/ids.ts';
import { findOperatorTenant, findTenantByName } from '../server/src/kernel/integrity/tenant-rows.ts';
import { createLogger } from '../server/src/kernel/observability/log.ts';
import type { Reader } from '../server/src/kernel/storage/database.ts';
import { systemTime } from '../server/src/kernel/time/sources.ts';
import { openKernel } from '../server/src/start/open-kernel.ts';
import { openStorage } from '../server/src/start/open-storage.ts';
import { ownerOf, pathOf, RARE_TAG, RARE_TYPE, vaultOf } from './data-set.ts';

/**
 * Fills an installation with vaults full of secrets, sealed as the service seals them, straight into its tables: by its API a million
 * would take an hour. The service must have been started once, and must not be running on the same data folder.
 *
 *     CV_DATA_DIR=./data node bench/seed-process.ts <vaults> <secrets in each> [tenant …]
 *
 * The operator's tenant and those named get vaults in turn.
 */
const [vaults, perVault] = process.argv.slice(2, 4).map(Number);
const names = process.argv.slice(4);
if (vaults === undefined || perVault === undefined)
  throw new Error('say how many vaults, and how many secrets in each');
const ROWS_AT_ONCE = 500;
const SEEDED = { operation: 'create', reason: 'seeded', author: { kind: 'system', id: 'seed', name: '' } } as const;

const config = loadConfig(process.env);
const storage = await openStorage(config);
const log = createLogger({ level: 'warn', format: 'json', stream: process.stderr, ownErrors: [] });
const opened = await openKernel({ config, time: systemTime, log, database: storage.database });
const tenantIds: string[] = [];
for (const find of [findOperatorTenant, ...names.map((name) => (db: Reader) => findTenantByName(db, name))]) {
  const tenant = await find(storage.database.read);
  if (tenant === undefined) throw new Error('start the service once first, and create the tenants');
  tenantIds.push(tenant.tenant_id);
}
const kernel = { ...opened, operatorTenantId: String(tenantIds[0]) };

for (let v = 0; v < vaults; v++) {
  const tenantId = ownerOf(v, tenantIds);
  const now = systemClock.now();
  const vault: VaultRow = {
    tenant_id: tenantId,
    name: vaultOf(v),
    vault_id: newId('vault', now),
    description: '',
    environment: 'staging',
    tags: '[]',
    status: 'active',
    rotation_days: 90,
    log_reads: 1,
    audit_retention_days: null,
    is_zero_knowledge: 0,
    secrets_count: perVault,
    approval_id: null,
    created_at: now,
    updated_at: now,
    deleted_at: null,
    purge_at: null,
    change_control: null,
  };
  const sealer = await sealerFor(kernel, vault);
  const rows = Array.from({ length: perVault }, (_, i): SecretRow => {
    const isRare = i === perVault - 1;
    const row = newSecretRow({
      tenant_id: tenantId,
      vault_id: vault.vault_id,
      path: pathOf(i),
      type: isRare ? RARE_TYPE : 'generic',
      environment: 'staging',
      tags: isRare ? JSON.stringify([RARE_TAG]) : '[]',
      value: `value ${v} ${i} ${newId('sec', now)}`,
      sealer,
      now,
    });
    return { ...row, secret_no: v * perVault + i + 1 };
  });
  const headKey = await kernel.audit.headKey(tenantId);
  await storage.database.transaction(async (tx) => {
    await VAULTS.insert(tx, vault);
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
      const some = rows.slice(at, at + ROWS_AT_ONCE);
      await SECRETS.insert(tx, ...some);
      await VERSIONS.insert(tx, ...some.map((row) => versionRow(row, SEEDED)));
    }
    const tagged = rows
      .filter((row) => row.tags !== '[]')
      .map(({ tenant_id, vault_id, path }) => ({ tenant_id, vault_id, path, tag: RARE_TAG }));
    await tx.insertInto('secret_tags').values(tagged).execute();
    const facts = { actorId: 'operator', action: 'vault_created', status: 201, details: { seeded: true } } as const;
    const entry = systemEntry({ tenantId, resource: `vault/${vault.name}`, now, ...facts });
    await kernel.audit.recordIn(tx, [entry], headKey);
  });
}
// What PostgreSQL's own housekeeping does a minute after so many inserts: without it, it would guess how to find things.
if (storage.database.kind === 'postgres') await storage.database.transaction((tx) => sql`analyze`.execute(tx));
await storage.close();
process.stdout.write(`${vaults * perVault} secrets in ${vaults} vaults\n`);
