import assert from 'node:assert/strict';
import { CheckpointSet } from '../../cli/src/verify/checkpoints.ts';
import { type Result, verifyLog } from '../../cli/src/verify/verification.ts';
import { systemEntry } from '../../server/src/kernel/audit/entry/system-entry.ts';
import { SECOND_CHECK_MS } from '../../server/src/kernel/time/clock-guard.ts';
import { ok } from './people.ts';
import type { Answer, Service } from './service.ts';
import { until } from './until.ts';
import { auditOf, runJobs } from './vaults.ts';

export type Entry = Answer['body'];

/** Many entries about a vault, written as requests would write them. */
export async function fill(service: Service, vault: string, entries: number): Promise<void> {
  const { audit, clock, operatorTenantId } = service.app.kernel;
  const facts = { tenantId: operatorTenantId, actorId: 'operator', action: 'secrets:read', status: 200 } as const;
  const resource = `vault/${vault}/filled`;
  const all = Array.from({ length: entries }, () => systemEntry({ ...facts, resource, details: {}, now: clock.now() }));
  await Promise.all(all.map((entry) => audit.record(entry)));
  await audit.link();
}

export async function verified(service: Service, token = service.adminToken): Promise<Entry> {
  return ok(service.call('GET', '/v1/audit/verify', { token }));
}

/** What `coffer-verify` says of the log as it is exported, with the checkpoints that the service lists. */
export async function verifiedOffline(
  service: Service,
  change = (lines: string[]) => lines,
  fromSeq = 1,
): Promise<Result> {
  const page = await ok(service.call('GET', '/v1/audit/checkpoints?limit=1000'));
  const { text } = await service.call('GET', `/v1/audit/export?from_seq=${fromSeq}`);
  const checkpoints = new CheckpointSet();
  checkpoints.add(JSON.stringify(page), (where, what) => assert.fail(`${where} ${what}`));
  const trusted = new Set<string>(page.keys.map((key: Entry) => key.key_id));
  async function* lines() {
    yield* change(text.trimEnd().split('\n'));
  }
  return verifyLog(lines(), { checkpoints, checkpointProblems: [], trusted, fromSeq, tenantId: null });
}

/** Purges what is over now: a checkpoint covers it, and an hour lies between two looks. The service may have run the job at some other time. */
export async function purgeAudit(service: Service): Promise<void> {
  await makePurgeDue(service);
  await runJobs(service);
}

/** The clock goes on by an hour: an entry that waited for its place in the chain meanwhile would have waited too long. */
export async function makePurgeDue(service: Service): Promise<void> {
  const { clockGuard, database } = service.app.kernel;
  // A checkpoint covers only what is linked when it is signed.
  await linkAll(service);
  await sign(service);
  assert.notEqual(await clockGuard.check(), null, 'the clock is not trusted');
  await linkAll(service);
  service.clock.advance(SECOND_CHECK_MS);
  // A run that began before the clock went on purges too little, and says at its end when the next one is due.
  await until('a job does not end', async () => {
    const lease = database.read.selectFrom('job_leases').select('lease_until').where('job', '=', 'purge-audit');
    return (await lease.execute()).every(({ lease_until }) => Number(lease_until ?? 0) <= service.clock.now());
  });
  await database.transaction((tx) =>
    tx.updateTable('job_leases').set({ next_run_at: 0 }).where('job', '=', 'purge-audit').execute(),
  );
}

/** On PostgreSQL a segment is linked only after all earlier ones of its node were committed, and jobs may be writing one. */
export async function linkAll(service: Service): Promise<void> {
  const { audit, database } = service.app.kernel;
  await until('an entry is not linked', async () => {
    await audit.link();
    const unlinked = database.read.selectFrom('audit_segments').select('id').where('first_seq', 'is', null).limit(1);
    return (await unlinked.executeTakeFirst()) === undefined;
  });
}

/** Again if it took too long: the service stops what takes longer than its deadline, as it may on a slow machine. */
export async function sign(service: Service): Promise<Entry> {
  let answer: Answer | undefined;
  await until('no checkpoint is signed', async () => {
    answer = await service.call('POST', '/v1/audit/checkpoints');
    return answer.status !== 503;
  });
  return ok(Promise.resolve(answer as Answer), 201);
}

export const purgesOf = (service: Service) => auditOf(service, 'action=audit:purge');
export const readsOf = (service: Service, vault: string) => auditOf(service, `action=secrets:read&vault=${vault}`);

export async function verdictOf(service: Service): Promise<[boolean, number]> {
  const { valid, purged } = await verified(service);
  return [valid, purged];
}
