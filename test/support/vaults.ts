import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tx } from '../../server/src/kernel/storage/database.ts';
import { SYSTEM_TENANT } from '../../server/src/kernel/storage/tables.ts';
import { SECOND_CHECK_MS } from '../../server/src/kernel/time/clock-guard.ts';
import { untilBlocked } from './overtaken.ts';
import { approved, ok, uniqueName } from './people.ts';
import { type Answer, type CallOptions, type Service, startService } from './service.ts';

export const POLICY_VERSION = '2026-01-01';

/** A staging vault unless told; answers its name. */
export async function addVault(service: Service, more: object = {}, token = service.adminToken): Promise<string> {
  const body = { name: uniqueName('vault'), environment: 'staging', ...more };
  return (await ok(service.call('POST', '/v1/vaults', { token, body }), 201)).name;
}

/** A vault whose reads are counted and not listed, which a second admin has to approve. */
export async function addUnlistedVault(service: Service, approver: string): Promise<string> {
  const body = { name: uniqueName('vault'), environment: 'staging', audit: { log_reads: false } };
  await approved(service, service.call('POST', '/v1/vaults', { body }), approver);
  return body.name;
}

export function secretUrl(vault: string, path: string, verb = ''): string {
  return `/v1/vaults/${vault}/secrets/${path}${verb === '' ? '' : `/${verb}`}`;
}

export async function addSecret(
  service: Service,
  vault: string,
  path: string,
  more: object = {},
  token = service.adminToken,
): Promise<Answer['body']> {
  const body = { path, value: `value of ${path}`, ...more };
  return ok(service.call('POST', `/v1/vaults/${vault}/secrets`, { token, body }), 201);
}

/** Many at once, with values that say their path. */
export async function importPaths(service: Service, vault: string, paths: readonly string[]): Promise<void> {
  for (let at = 0; at < paths.length; at += 1000) {
    const secrets = Object.fromEntries(paths.slice(at, at + 1000).map((path) => [path, `value of ${path}`]));
    await ok(service.call('POST', `/v1/vaults/${vault}/import`, { body: { secrets } }));
  }
}

export async function readValue(service: Service, vault: string, path: string, options: CallOptions = {}) {
  return (await ok(service.call('GET', secretUrl(vault, path), options))).value as string;
}

export async function pathsIn(service: Service, vault: string, query = '', token = service.adminToken) {
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? '' : `&cursor=${cursor}`;
    const page = await ok(service.call('GET', `/v1/vaults/${vault}/secrets?${query}${more}`, { token }));
    found.push(...page.secrets.map((secret: { path: string }) => secret.path));
    cursor = page.next_cursor;
  } while (cursor !== null);
  assert.equal(new Set(found).size, found.length, 'a secret came twice');
  return found;
}

export interface Statement {
  effect?: 'allow' | 'deny';
  action: string[];
  resource: string[];
  condition?: object;
}

/** A policy attached to a user or group; answers its name. */
export async function addPolicy(
  service: Service,
  principal: object,
  statements: readonly Statement[],
  token = service.adminToken,
): Promise<string> {
  const name = uniqueName('policy');
  const statement = statements.map((one) => ({ effect: 'allow', ...one }));
  const body = { name, document: { version: POLICY_VERSION, statement } };
  await ok(service.call('POST', '/v1/policies', { token, body }), 201);
  await ok(service.call('POST', `/v1/policies/${name}/attach`, { token, body: { principal } }));
  return name;
}

/** Newest first. */
export async function auditOf(service: Service, query: string, token = service.adminToken): Promise<Answer['body'][]> {
  return (await ok(service.call('GET', `/v1/audit?limit=1000&${query}`, { token }))).entries;
}

/** Runs every job that is due and waits for those the service itself had begun. */
export async function runJobs(service: Service): Promise<void> {
  const { database } = service.app.kernel;
  const called = service.clock.now();
  for (;;) {
    await service.app.jobs.runDue();
    const now = service.clock.now();
    // One that the service began before this call, or before the clock was advanced, and that ended after it, may have seen nothing of what was
    // done or has expired in between: it is due again.
    await database.transaction((tx) =>
      tx
        .updateTable('job_leases')
        .set({ next_run_at: 0 })
        .where('tenant_id', '=', SYSTEM_TENANT)
        .where((eb) =>
          eb.or(
            [called, service.clock.advancedTo].map((at) =>
              eb.and([eb('last_started_at', '<', at), eb('last_finished_at', '>=', at)]),
            ),
          ),
        )
        .execute(),
    );
    const open = await database.read
      .selectFrom('job_leases')
      .select('job')
      .where('tenant_id', '=', SYSTEM_TENANT)
      .where((eb) => eb.or([eb('next_run_at', '<=', now), eb('lease_until', '>', now)]))
      .execute();
    if (open.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Removes what is over now, as the jobs do it: at the second of two looks, an hour apart. What ends in that hour stays. */
export async function runPurges(service: Service): Promise<void> {
  assert.notEqual(await service.app.kernel.clockGuard.check(), null, 'the clock is not trusted');
  service.clock.advance(SECOND_CHECK_MS);
  await runJobs(service);
}

/** Another node beside a service on PostgreSQL, with the same root key. */
export async function startNodeBeside(service: Service, databaseUrl: string): Promise<Service> {
  const dataDir = mkdtempSync(join(tmpdir(), 'coffer-test-'));
  for (const file of ['root.key', 'admin.token']) copyFileSync(join(service.dataDir, file), join(dataDir, file));
  return startService('postgres', { dataDir, databaseUrl });
}

/** Sends a request while a change is made and not yet committed, so that the request has to wait for it. */
export async function whileHeld(
  service: Service,
  change: (tx: Tx) => Promise<unknown>,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const [held, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = service.app.kernel.database.transaction(async (tx) => {
    await change(tx);
    held.resolve();
    await over.promise;
  });
  await held.promise;
  const blocked = await untilBlocked(service, ask);
  over.resolve();
  await holding;
  return blocked();
}
