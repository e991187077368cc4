import { sql } from 'kysely';
import { sealerFor } from '../server/src/features/secrets/sealing.ts';
import { SECRETS, type SecretRow, type SecretVersionRow, VERSIONS } from '../server/src/features/secrets/store.ts';
import { VAULTS, type VaultRow } from '../server/src/features/vaults/index.ts';
import { systemEntry } from '../server/src/kernel/audit/system-entry.ts';
import { systemClock } from '../server/src/kernel/clock.ts';
import { loadConfig } from '../server/src/kernel/config.ts';
import { newId } from '../server/src/kernel/ids.ts';
import { createLogger } from '../server/src/kernel/observability/log.ts';
import { findOperatorTenant } from '../server/src/kernel/storage/tenant-rows.ts';
import { systemTime } from '../server/src/kernel/time/sources.ts';
import { openKernel, openStorage } from '../server/src/open-kernel.ts';
import { pathOf, RARE_TAG, RARE_TYPE, vaultOf } from './data-set.ts';

/**
 * Fills an installation with vaults full of secrets, sealed as the service seals them, straight into its tables: by its API a million
 * would take an hour. The service must have been started once, and must not be running on the same data folder.
 *
 *     CV_DATA_DIR=./data node bench/seed-process.ts <vaults> <secrets in each>
 */
const [vaults, perVault] = process.argv.slice(2).map(Number);
if (vaults === undefined || perVault === undefined)
  throw new Error('say how many vaults, and how many secrets in each');
const ROWS_AT_ONCE = 500;

const config = loadConfig(process.env);
const storage = await openStorage(config);
const log = createLogger({ level: 'warn', format: 'json', stream: process.stderr, ownErrors: [] });
const { kernel } = await openKernel({ config, time: systemTime, log, database: storage.database });
const tenant = await findOperatorTenant(storage.database.read);
if (tenant === undefined) throw new Error('start the service once first');
const tenantId = tenant.tenant_id;

for (let v = 0; v < vaults; v++) {
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
  };
  const sealer = await sealerFor(kernel, vault);
  const rows = Array.from({ length: perVault }, (_, i): SecretRow => {
    const secret_id = newId('sec', now);
    const isRare = i === perVault - 1;
    const value = `value ${v} ${i} ${secret_id}`;
    return {
      tenant_id: tenantId,
      vault_id: vault.vault_id,
      deleted_no: 0,
      path: pathOf(i),
      secret_id,
      secret_no: v * perVault + i + 1,
      type: isRare ? RARE_TYPE : 'generic',
      environment: 'staging',
      protection: 'standard',
      version: 1,
      metadata: '{}',
      tags: isRare ? JSON.stringify([RARE_TAG]) : '[]',
      rotation: null,
      rotation_id: null,
      rotated_at: null,
      next_rotation_at: null,
      created_at: now,
      updated_at: now,
      deleted_at: null,
      ...sealer.seal({ secret_id, protection: 'standard' }, 1, value),
    };
  });
  const headKey = await kernel.audit.headKey(tenantId);
  await storage.database.transaction(async (tx) => {
    await VAULTS.insert(tx, vault);
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
      const some = rows.slice(at, at + ROWS_AT_ONCE);
      await SECRETS.insert(tx, ...some);
      await VERSIONS.insert(tx, ...some.map(firstVersion));
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

function firstVersion(row: SecretRow): SecretVersionRow {
  const { tenant_id, secret_id, version, type, metadata, tags, created_at } = row;
  const { data_key, sealed_version, sealed } = row;
  const author = { author_kind: 'system', author_id: 'seed', author_name: '' };
  const how = { operation: 'create' as const, reason: 'seeded', restored_from: null };
  const value = { data_key, sealed_version, sealed };
  return { tenant_id, secret_id, version, ...how, ...author, type, metadata, tags, created_at, ...value };
}
