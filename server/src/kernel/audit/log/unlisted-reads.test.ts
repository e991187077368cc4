import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../auth/principal.ts';
import type { AuditEntry } from '../entry/entry.ts';
import { UnlistedReads } from './unlisted-reads.ts';

const person = (id: string, tenantId = 't1') =>
  ({ kind: 'user', tenantId, id, name: `${id}@example.com` }) as unknown as Principal;

function counted() {
  const entries: AuditEntry[] = [];
  let isBroken = false;
  const reads = new UnlistedReads(
    async (entry) => {
      if (isBroken) throw new Error('the disk is full');
      entries.push(entry);
    },
    { now: () => 1_000_000 },
  );
  const told = () =>
    entries.splice(0).map(({ tenant_id, vault, details }) => {
      const { reads: all, by, by_others } = JSON.parse(details);
      return {
        tenant_id,
        vault,
        reads: all,
        by: by.map((one: { id: string; reads: number }) => [one.id, one.reads]),
        by_others,
      };
    });
  return { reads, told, breakDisk: (broken: boolean) => (isBroken = broken) };
}

test('one entry for each vault says how many reads there were, by whom', async () => {
  const { reads, told } = counted();
  for (let i = 0; i < 3; i++) reads.count(person('a'), 'v', 1);
  reads.count(person('b'), 'v', 20);
  reads.count(person('a'), 'w', 1);
  reads.count(person('a', 't2'), 'v', 1);
  await reads.flush();
  assert.deepEqual(told(), [
    {
      tenant_id: 't1',
      vault: 'v',
      reads: 23,
      by: [
        ['a', 3],
        ['b', 20],
      ],
      by_others: 0,
    },
    { tenant_id: 't1', vault: 'w', reads: 1, by: [['a', 1]], by_others: 0 },
    { tenant_id: 't2', vault: 'v', reads: 1, by: [['a', 1]], by_others: 0 },
  ]);
  await reads.flush();
  assert.deepEqual(told(), [], 'nothing is told twice');
});

test('many readers and many vaults keep it small, and nothing is left out of the counts', async () => {
  const { reads, told } = counted();
  for (let i = 0; i < 100; i++) reads.count(person(`p${i}`), 'v', 2);
  await reads.flush();
  const [one] = told();
  assert.deepEqual([one?.reads, one?.by.length, one?.by_others], [200, 10, 180]);
  for (let i = 0; i < 6000; i++) reads.count(person('a'), `v${i}`, 1);
  await reads.flush();
  const all = told();
  assert.equal(all.length, 5001);
  assert.equal(
    all.reduce((sum, entry) => sum + entry.reads, 0),
    6000,
  );
  assert.deepEqual(all.at(-1)?.vault, '*');
});

test('what cannot be written is told later, with what came since', async () => {
  const { reads, told, breakDisk } = counted();
  reads.count(person('a'), 'v', 1);
  breakDisk(true);
  await assert.rejects(reads.flush(), /the disk is full/);
  reads.count(person('a'), 'v', 1);
  reads.count(person('b'), 'v', 1);
  breakDisk(false);
  await reads.flush();
  assert.deepEqual(told(), [
    {
      tenant_id: 't1',
      vault: 'v',
      reads: 3,
      by: [
        ['a', 2],
        ['b', 1],
      ],
      by_others: 0,
    },
  ]);
});
