import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { NONE } from '../../server/src/kernel/endpoint/declaration.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { addPerson, addTenant, addToken, ok, refused, type Tenant } from '../support/people.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { call, type DatabaseKind, onBothDatabases, type Service, startService } from '../support/service.ts';
import { addSecret, addVault, auditOf, POLICY_VERSION, readValue, secretUrl } from '../support/vaults.ts';

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
/** A process that needs more for its heap ends. */
const HEAP_MAX_MIB = 384;
/** What the process may take in all, whatever one tenant does. */
const MEMORY_MAX = 640 * MIB;
const POLICIES = 20;
const TOKENS = 216;
const POLICY_BYTES = 32_700;
const REFUSALS = 2000;
/** By how much a member's refusals may make the log grow in a minute. */
const LOG_GROWTH_MAX = 400 * 1024;

function memoryOf({ pid }: ServiceProcess): number {
  const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) * 1024;
}

/** As many patterns as fit into one policy. */
function largeDocument(no: number) {
  const resource = (s: number) => Array.from({ length: 30 }, (_, at) => `vault/a${no}/b${s}*${at}`);
  const statement = [];
  for (let s = 0; s < 60; s++) {
    statement.push({ effect: 'allow', action: ['secrets:read'], resource: resource(s) });
    if (JSON.stringify({ version: POLICY_VERSION, statement }).length > POLICY_BYTES) statement.pop();
  }
  return { version: POLICY_VERSION, statement };
}

/** What one tenant must not do to the process that others use too. */
for (const kind of ['sqlite', 'postgres'] as DatabaseKind[]) {
  describe(`one tenant (${kind})`, () => {
    let server: ServiceProcess;
    let service: Service;
    let hostile: Tenant;
    let quiet: Tenant;
    let quietVault: string;
    before(async () => {
      const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
      server = await spawnService({ databaseUrl, env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MAX_MIB}` } });
      const adminToken = server.adminToken();
      service = {
        adminToken,
        call: (method, path, options = {}) => call(server.url, method, path, { token: adminToken, ...options }),
      } as Service;
      hostile = await addTenant(service);
      quiet = await addTenant(service);
      quietVault = await addVault(service, {}, quiet.owner.token);
      await addSecret(service, quietVault, 'a', { value: 'quiet' }, quiet.owner.token);
    });
    after(() => stopService(server));

    const servesOthers = async () => {
      assert.equal(await readValue(service, quietVault, 'a', { token: quiet.owner.token }), 'quiet');
      const memory = memoryOf(server);
      assert.ok(memory < MEMORY_MAX, `${Math.round(memory / MIB)} MiB`);
    };

    test('does not exhaust the memory with many tokens and large policies', async () => {
      const { token, id } = hostile.owner;
      for (let no = 0; no < POLICIES; no++) {
        const body = { name: `p${no}`, document: largeDocument(no) };
        await ok(service.call('POST', '/v1/policies', { token, body }), 201);
        const attach = { principal: { user: id } };
        await ok(service.call('POST', `/v1/policies/p${no}/attach`, { token, body: attach }));
      }
      for (let no = 0; no < TOKENS; no++) {
        const made = await addToken(service, token, { name: `t${no}` });
        await ok(service.call('GET', '/auth/me', { token: made.token }));
      }
      await servesOthers();
    });

    test('does not exhaust the memory with tokens whose scopes and addresses are as many as may be', async () => {
      const scope = {
        vaults: [...Array.from({ length: 63 }, (_, i) => `v${i}*${'x'.repeat(40)}`), '*'],
        actions: ['*', ...[...new Set(DECLARATIONS.map((one) => one.permission))].filter((one) => one !== NONE)].slice(
          0,
          64,
        ),
      };
      const ip_allowlist = ['127.0.0.0/8', ...Array.from({ length: 63 }, (_, i) => `10.${i}.0.0/16`)];
      let { token } = hostile.owner;
      for (let depth = 0; depth < 6; depth++) {
        ({ token } = await addToken(service, token, { scope, ip_allowlist }));
      }
      for (let no = 0; no < 200; no++) {
        const made = await addToken(service, token, { scope, ip_allowlist });
        await ok(service.call('GET', '/auth/me', { token: made.token }));
      }
      await servesOthers();
    });
  });
}

/** What a member without rights must not do to the log. */
onBothDatabases('a member without rights', (kind) => {
  let service: Service;
  let tenant: Tenant;
  let token: string;
  let id: string;
  before(async () => {
    service = await startService(kind);
    tenant = await addTenant(service);
    ({ token, id } = await addPerson(service, { tenant }));
  });
  after(() => service.close());

  const path = Array.from({ length: 8 }, () => 'x'.repeat(120)).join('/');
  const headers = { 'user-agent': 'u'.repeat(2000) };
  const denied = async () => {
    const entries = await auditOf(service, 'decision=deny', tenant.owner.token);
    return entries.filter((entry) => entry.actor.id === id);
  };

  async function flood(count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += 50) {
      const answers = Array.from({ length: 50 }, () => service.call('GET', secretUrl('v', path), { token, headers }));
      for (const { status } of await Promise.all(answers)) assert.equal(status, 403);
    }
  }

  test('does not fill the disk with refusals, each of which is recorded or counted', async () => {
    service.clock.advance(MINUTE_MS);
    await flood(REFUSALS);
    const entries = await denied();
    const size = JSON.stringify(entries).length;
    assert.ok(size < LOG_GROWTH_MAX, `${size} bytes of log for ${REFUSALS} refusals`);
    service.clock.advance(MINUTE_MS);
    await flood(50);
    const after = await denied();
    const told = after.filter(({ details }) => details.suppressed === undefined).length;
    const counted = after.reduce((sum, { details }) => sum + (details.suppressed ?? 0), 0);
    assert.equal(told + counted, REFUSALS + 50);
  });

  test('does not hide another attempt behind many refusals', async () => {
    await flood(200);
    const creating = service.call('POST', '/v1/groups', { token, body: { name: 'mine' } });
    await refused(creating, 403, 'INSUFFICIENT_PRIVILEGE');
    const entries = await denied();
    assert.equal(entries.filter(({ action }) => action === 'groups:create').length, 1);
  });

  test('does not hide what others are refused', async () => {
    const other = await addPerson(service, { tenant });
    await flood(200);
    await refused(service.call('GET', secretUrl('v', 'a'), { token: other.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    const entries = await auditOf(service, 'decision=deny', tenant.owner.token);
    assert.equal(entries.filter((entry) => entry.actor.id === other.id).length, 1);
  });
});
