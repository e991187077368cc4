import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE_MS } from '../clock.ts';
import type { AuditEntry } from './entry.ts';
import { Refusals } from './refusals.ts';

const START = 1_794_715_860_000 - (1_794_715_860_000 % (60 * MINUTE_MS));

function refusal(at: number, tenant = 'tenant_a'): AuditEntry {
  return { tenant_id: tenant, id: `audit_${at}`, at, reason: 'no', details: '' } as AuditEntry;
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

test('hours of flood stay bounded, and every refused call is in a count', async () => {
  const written: AuditEntry[] = [];
  const refusals = new Refusals(async (entry) => void written.push(entry));
  const total = 60 * 100;
  for (let i = 0; i < total; i++) await refusals.record(refusal(START + i * (MINUTE_MS / 100)));
  await refusals.flush();
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
