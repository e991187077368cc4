import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEntry } from '../../kernel/audit/entry/entry.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';
import { connectionResource, countsOf, UNNAMED } from './counted-entries.ts';

const HOUR = 490_000 * HOUR_MS;
const entry = (fields: Partial<AuditEntry>): AuditEntry => ({
  tenant_id: 'tenant_1',
  id: 'audit_1',
  at: HOUR + 59 * 60_000,
  actor_kind: 'user',
  actor_id: 'user_1',
  actor_name: 'ada@example.com',
  actor_key: 'pat_1',
  action: 'secrets:read',
  resource: 'vault/payments/db/password',
  vault: 'payments',
  decision: 'allow',
  status: 200,
  ip: '192.0.2.7',
  user_agent: '',
  request_id: 'req_1',
  reason: '',
  details: '',
  ...fields,
});
const user = { actor_kind: 'user', actor_id: 'user_1', ip: '192.0.2.7', hour: HOUR };

test('a read counts for its resource and its hour', () => {
  const resource = 'vault/payments/db/password';
  for (const action of ['secrets:read', 'eso:read', 'secrets:detokenize']) {
    assert.deepEqual(countsOf(entry({ action })), [{ ...user, resource, reads: 1, denied: 0 }], action);
  }
});

test('a refused read counts as denied; a read of what does not exist, and other actions, count for nothing', () => {
  const denied = { ...user, reads: 0, denied: 1 };
  assert.deepEqual(countsOf(entry({ decision: 'deny', status: 403 })), [
    { ...denied, resource: 'vault/payments/db/password' },
  ]);
  assert.deepEqual(
    countsOf(entry({ action: 'secrets:export', decision: 'deny', status: 403, resource: 'vault/payments' })),
    [{ ...denied, resource: 'vault/payments' }],
  );
  assert.deepEqual(countsOf(entry({ decision: 'error', status: 404 })), []);
  assert.deepEqual(countsOf(entry({ action: 'secrets:update' })), []);
  assert.deepEqual(countsOf(entry({ action: 'users:list', decision: 'deny', status: 403 })), []);
});

test('a request for many secrets does not count beside the entries of its secrets', () => {
  for (const action of ['secrets:aggregate', 'secrets:export', 'environments:compose']) {
    assert.deepEqual(countsOf(entry({ action, details: '{"secrets":40}' })), []);
  }
});

test('suppressed refusals count as many, for no resource, because the entry names only the last', () => {
  const summary = entry({ decision: 'deny', status: 403, details: '{"suppressed":250,"accounts":[]}' });
  assert.deepEqual(countsOf(summary), [{ ...user, resource: UNNAMED, reads: 0, denied: 250 }]);
});

test('every use of a connection counts for the connection as well', () => {
  const actor = { actor_kind: 'app_connection', actor_id: 'client_1' };
  const base = { ...user, ...actor, reads: 1, denied: 0 };
  assert.deepEqual(countsOf(entry(actor)), [
    { ...base, resource: 'vault/payments/db/password' },
    { ...base, resource: connectionResource('client_1') },
  ]);
  assert.deepEqual(countsOf(entry({ ...actor, action: 'workload:login', resource: 'workload-method/3' })), [
    { ...base, resource: connectionResource('client_1') },
  ]);
  assert.deepEqual(countsOf(entry({ ...actor, action: 'workload:login', decision: 'deny' })), []);
});

test('reads that a vault does not list count for the vault, by reader as far as the summary says', () => {
  const summary = (details: string) =>
    countsOf(
      entry({
        action: 'secrets:reads_counted',
        actor_kind: 'system',
        actor_id: 'unlisted-reads',
        resource: 'vault/bulk',
        ip: '',
        details,
      }),
    );
  const base = { resource: 'vault/bulk', ip: '', hour: HOUR, denied: 0 };
  const by = [
    { kind: 'user', id: 'user_1', name: 'ada', reads: 4 },
    { kind: 'app_connection', id: 'client_1', name: 'ci', reads: 5 },
  ];
  assert.deepEqual(summary(JSON.stringify({ reads: 12, since: '', by, by_others: 3 })), [
    { ...base, actor_kind: 'user', actor_id: 'user_1', reads: 4 },
    { ...base, actor_kind: 'app_connection', actor_id: 'client_1', reads: 5 },
    { ...base, actor_kind: '', actor_id: '', reads: 3 },
  ]);
  const unknown = [{ ...base, actor_kind: '', actor_id: '', reads: 1 }];
  for (const damaged of [
    '{"truncated":true}',
    '{"reads":-4}',
    '{"reads":1,"by":[null,{"kind":1}]}',
    'not JSON',
    '[]',
  ]) {
    assert.deepEqual(summary(damaged), unknown, damaged);
  }
});
