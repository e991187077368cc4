import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MINUTE_MS } from '../../base/clock.ts';
import type { AuditEntry } from '../entry/entry.ts';
import { Refusals } from './refusals.ts';

const START = 1_794_715_860_000 - (1_794_715_860_000 % (60 * MINUTE_MS));

function refusal(at: number, tenant = 'tenant_a', more: Partial<AuditEntry> = {}): AuditEntry {
  const fixed = { action: 'auth:me', actor_id: '', actor_name: '', ip: '203.0.113.9', reason: 'no', details: '' };
  return { tenant_id: tenant, id: `audit_${at}`, at, ...fixed, ...more } as AuditEntry;
}

test('a flood is written as a few entries and a count', async () => {
  const written: AuditEntry[] = [];
  const refusals = new Refusals(async (entry) => void written.push(entry));
  for (let i = 0; i < 5000; i++) await refusals.record(refusal(START + i));
  assert.equal(written.length, 20);
  await refusals.record(refusal(START + MINUTE_MS));
  assert.equal(written.length, 22);
  assert.equal(JSON.parse(String(written[20]?.details)).suppressed, 4980);
});

test('a flood that comes all at once at the turn of a minute is one minute’s flood', async () => {
  const written: AuditEntry[] = [];
  const refusals = new Refusals(async (entry) => {
    await nextTurn();
    written.push(entry);
  });
  await Promise.all(Array.from({ length: 100 }, (_, i) => refusals.record(refusal(START + i))));
  await Promise.all(Array.from({ length: 100 }, (_, i) => refusals.record(refusal(START + MINUTE_MS + i))));
  assert.equal(written.length, 20 + 1 + 20);
  await refusals.flush(START);
  const counted = written.map((entry) => (entry.details === '' ? 1 : Number(JSON.parse(entry.details).suppressed)));
  assert.equal(
    counted.reduce((a, b) => a + b, 0),
    200,
  );
});

test('hours of flood stay bounded, and every refused call is in a count', async () => {
  const written: AuditEntry[] = [];
  const refusals = new Refusals(async (entry) => void written.push(entry));
  const total = 60 * 100;
  for (let i = 0; i < total; i++) await refusals.record(refusal(START + i * (MINUTE_MS / 100)));
  await refusals.flush(START);
  const counted = written.map((entry) => (entry.details === '' ? 1 : Number(JSON.parse(entry.details).suppressed)));
  assert.equal(
    counted.reduce((a, b) => a + b, 0),
    total,
  );
  assert.ok(written.length <= 600 + 61, `${written.length} entries`);
  assert.equal(new Set(written.map((entry) => entry.id)).size, written.length, 'ids are unique');
});

test('one tenant’s flood leaves another tenant’s budget alone', async () => {
  const written: AuditEntry[] = [];
  const refusals = new Refusals(async (entry) => void written.push(entry));
  for (let i = 0; i < 100; i++) await refusals.record(refusal(START + i, 'tenant_a'));
  await refusals.record(refusal(START + 100, 'tenant_b'));
  assert.equal(written.filter((entry) => entry.tenant_id === 'tenant_b').length, 1);
});

test('noise of one kind, or from one address, hides neither a guessed password nor other addresses', async () => {
  const written: AuditEntry[] = [];
  const refusals = new Refusals(async (entry) => void written.push(entry));
  for (let i = 0; i < 1000; i++) await refusals.record(refusal(START + i));
  const guess = { action: 'auth:login', actor_name: 'ann@example.com' };
  await refusals.record(refusal(START + 1000, 'tenant_a', guess));
  await refusals.record(refusal(START + 1001, 'tenant_a', { ip: '198.51.100.7' }));
  assert.deepEqual(
    written.slice(20).map((entry) => [entry.action, entry.ip]),
    [
      ['auth:login', '203.0.113.9'],
      ['auth:me', '198.51.100.7'],
    ],
  );
  for (let i = 0; i < 100; i++) await refusals.record(refusal(START + 1002 + i, 'tenant_a', guess));
  await refusals.flush(START);
  const summary = written.find((entry) => entry.action === 'auth:login' && entry.details !== '');
  assert.deepEqual(JSON.parse(String(summary?.details)), {
    suppressed: 81,
    accounts: ['ann@example.com'],
    addresses: ['203.0.113.9'],
  });
});

test('a count that could not be written is not lost', async () => {
  let isBroken = false;
  const written: AuditEntry[] = [];
  const refusals = new Refusals(async (entry) => {
    if (isBroken) throw new Error('disk full');
    written.push(entry);
  });
  for (let i = 0; i < 30; i++) await refusals.record(refusal(START + i));
  isBroken = true;
  await assert.rejects(refusals.flush(START));
  isBroken = false;
  await refusals.flush(START);
  assert.equal(JSON.parse(String(written.at(-1)?.details)).suppressed, 10);
});

/** A refusal of an authenticated member without permission. */
function memberRefusal(at: number, more: Partial<AuditEntry> = {}): AuditEntry {
  const member = { actor_id: 'user_a', actor_name: 'ann@example.com', status: 403 };
  return refusal(at, 'tenant_a', { action: 'secrets:read', ...member, ...more });
}

test('a principal who is refused again and again fills little, from however many addresses', async () => {
  const written: AuditEntry[] = [];
  const refusals = new Refusals(async (entry) => void written.push(entry));
  const hours = 2;
  const total = hours * 60 * 300;
  for (let i = 0; i < total; i++) {
    await refusals.record(memberRefusal(START + i * (MINUTE_MS / 300), { ip: `198.51.${i % 200}.7` }), true);
  }
  await refusals.flush(START);
  const counted = written.map((entry) => (entry.details === '' ? 1 : Number(JSON.parse(entry.details).suppressed)));
  assert.equal(
    counted.reduce((a, b) => a + b, 0),
    total,
    'each is recorded or in a count',
  );
  assert.ok(written.length <= hours * (1000 + 61), `${written.length} entries`);
});

test('the first refusal of each kind is recorded, however many came before', async () => {
  const written: AuditEntry[] = [];
  const refusals = new Refusals(async (entry) => void written.push(entry));
  for (let i = 0; i < 3000; i++) await refusals.record(memberRefusal(START + i), true);
  const flooded = written.length;
  await refusals.record(memberRefusal(START + 3000, { action: 'vaults:delete' }), true);
  await refusals.record(memberRefusal(START + 3001, { reason: 'out_of_scope' }), true);
  for (let i = 0; i < 10; i++) await refusals.record(memberRefusal(START + 3002, { action: 'vaults:delete' }), true);
  assert.deepEqual(
    written.slice(flooded).map(({ action, reason }) => [action, reason]),
    [
      ['vaults:delete', 'no'],
      ['secrets:read', 'out_of_scope'],
    ],
  );
  for (let i = 0; i < 3000; i++) {
    await refusals.record(memberRefusal(START + 4000, { reason: `made up ${i}` }), true);
  }
  assert.ok(written.length < flooded + 110, 'who makes up reasons gets no further');
});

test('so is the first of each reason for a connection or method, though strangers have flooded its tenant', async () => {
  const written: AuditEntry[] = [];
  const refusals = new Refusals(async (entry) => void written.push(entry));
  for (let i = 0; i < 3000; i++) await refusals.record(refusal(START + i));
  const flooded = written.length;
  const exchange = (name: string, reason: string, more: Partial<AuditEntry> = {}) =>
    refusals.record(
      refusal(START + 4000, 'tenant_a', { action: 'federation_exchanged', actor_name: name, reason, ...more }),
    );
  for (let i = 0; i < 10; i++) {
    await exchange('deploy', 'the subject does not match');
    await exchange('deploy', 'the token has expired');
    await exchange('other', 'the token has expired');
    await exchange('other', 'the token has expired', { actor_key: 'method 1' });
  }
  assert.equal(written.length, flooded + 4);
  const asClient = { actor_id: 'client', action: 'secrets:read' };
  for (let i = 0; i < 100; i++) await exchange('', 'the client secret is wrong', asClient);
  await exchange('', 'the client secret was replaced', asClient);
  assert.equal(written.length, flooded + 4 + 20 + 1);
  const known = written.length;
  for (let i = 0; i < 100; i++) {
    await exchange(`guess${i}@example.com`, 'no such user', { action: 'auth:login', ip: '203.0.113.9' });
  }
  assert.equal(written.length, known + 20, 'whom a login names is anybody’s to choose');
  const inAnHour = { at: START + 60 * MINUTE_MS };
  for (let i = 0; i < 30; i++) await refusals.record(refusal(inAnHour.at));
  const before = written.length;
  await exchange('deploy', 'the token has expired', inAnHour);
  assert.equal(written.length, before + 1, 'in every hour');
  for (let i = 0; i < 5000; i++) await exchange('deploy', `made up ${i}`, inAnHour);
  assert.ok(written.length <= before + 2001, `${written.length}: bounded`);
});

test('one principal’s flood hides nothing of another, nor of strangers', async () => {
  const written: AuditEntry[] = [];
  const refusals = new Refusals(async (entry) => void written.push(entry));
  for (let i = 0; i < 3000; i++) await refusals.record(memberRefusal(START + i), true);
  const flooded = written.length;
  await refusals.record(memberRefusal(START + 3000, { actor_id: 'user_b' }), true);
  await refusals.record(refusal(START + 3000));
  assert.equal(written.length, flooded + 2);
});

test('budgets of users who were not refused lately are dropped, but no count with them', async () => {
  const written: AuditEntry[] = [];
  const refusals = new Refusals(async (entry) => void written.push(entry));
  for (let i = 0; i < 150; i++) await refusals.record(memberRefusal(START + i), true);
  await refusals.flush(START + 61 * MINUTE_MS);
  assert.equal(JSON.parse(String(written.at(-1)?.details)).suppressed, 50);
  await refusals.record(memberRefusal(START + 62 * MINUTE_MS), true);
  assert.equal(written.length, 102);
});
