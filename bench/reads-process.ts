import { loadConfig } from '../server/src/assembly/settings.ts';
import type { AuditEntry } from '../server/src/kernel/audit/entry/entry.ts';
import { DAY_MS, systemClock } from '../server/src/kernel/base/clock.ts';
import { newId } from '../server/src/kernel/base/ids.ts';
import { findOperatorTenant } from '../server/src/kernel/integrity/tenant-rows.ts';
import { createLogger } from '../server/src/kernel/observability/log.ts';
import { systemTime } from '../server/src/kernel/time/sources.ts';
import { openKernel } from '../server/src/start/open-kernel.ts';
import { openStorage } from '../server/src/start/open-storage.ts';
import { resourcesOf } from './scan-data.ts';

/**
 * Writes reads of secrets into the audit log of the operator's tenant, spread over the last days, as requests would have written them. The service
 * must have been started once, and must not be running on the same data folder.
 *
 *     CV_DATA_DIR=./data node bench/reads-process.ts <entries> <days> <resources>
 */
const [entries = 0, days = 0, resources = 0] = process.argv.slice(2, 5).map(Number);
const AT_ONCE = 2000;
const READERS = 200;
/** Each resource is read by some of them only. */
const READERS_EACH = 4;
const ADDRESSES = ['193.0.6.139', '200.160.2.3', '10.0.0.1'];

const config = loadConfig(process.env);
const storage = await openStorage(config);
const log = createLogger({ level: 'warn', format: 'json', stream: process.stderr, ownErrors: [] });
const kernel = await openKernel({ config, time: systemTime, log, database: storage.database });
const tenant = await findOperatorTenant(storage.database.read);
if (tenant === undefined) throw new Error('start the service once first');
const names = resourcesOf(resources);
const now = systemClock.now();
for (let from = 0; from < entries; from += AT_ONCE) {
  const some = Array.from({ length: Math.min(AT_ONCE, entries - from) }, (_, i) => entryOf(from + i));
  await Promise.all(some.map((entry) => kernel.audit.record(entry)));
}
await kernel.audit.close();
await storage.close();

function entryOf(n: number): AuditEntry {
  const at = now - Math.floor((1 - n / entries) * days * DAY_MS);
  // A multiplier without common factors visits all resources before it repeats one.
  const which = (n * 7919) % resources;
  const resource = names[which] ?? '';
  return {
    tenant_id: String(tenant?.tenant_id),
    id: newId('audit', at),
    at,
    actor_kind: 'user',
    actor_id: `user_${(which * READERS_EACH + (n % READERS_EACH)) % READERS}`,
    actor_name: 'reader@example.com',
    actor_key: 'pat',
    action: 'secrets:read',
    resource,
    vault: resource.split('/')[1] ?? '',
    decision: 'allow',
    status: 200,
    ip: ADDRESSES[n % ADDRESSES.length] ?? '',
    user_agent: 'bench',
    request_id: newId('req', at),
    reason: '',
    details: '',
  };
}
