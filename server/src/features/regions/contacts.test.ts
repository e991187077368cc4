import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RegionConfig } from '../../kernel/platform/config.ts';
import { Contacts, quorums, UNREACHABLE_MS, waitMs } from './contacts.ts';

const LEASE_MS = 30_000;

function contactsOf(peers: readonly string[], leaseMs = LEASE_MS) {
  const config: RegionConfig = {
    name: 'eu',
    urls: {},
    peers: peers.map((name) => ({ name, certFile: '', syncUrl: '' })),
    certFile: '',
    keyFile: '',
    leaseMs,
  };
  const time = { at: 1_000_000, elapsed: () => time.at };
  return { contacts: new Contacts(config, time), time };
}

test('a process that has pulled nothing yet has no lease', () => {
  const { contacts, time } = contactsOf(['us', 'ap']);
  assert.equal(contacts.hasLease(), false);
  contacts.noteReached('us');
  assert.equal(contacts.hasLease(), false, 'a pull that ended incomplete is no contact');
  assert.equal(contacts.isReachable('us'), true);
  contacts.noteComplete('us', { confirmedAt: time.at, leaseMs: LEASE_MS, differences: 0 });
  assert.equal(contacts.hasLease(), true);
});

test('a lease lasts from the beginning of the pull, and needs as many regions as the quorum', () => {
  const { contacts, time } = contactsOf(['us', 'ap', 'sa', 'af']);
  const begun = time.at;
  time.at += 5000;
  contacts.noteComplete('us', { confirmedAt: begun, leaseMs: LEASE_MS, differences: 0 });
  assert.equal(contacts.hasLease(), false, 'five regions need two others');
  contacts.noteComplete('ap', { confirmedAt: time.at, leaseMs: LEASE_MS, differences: 0 });
  assert.equal(contacts.hasLease(), true);
  time.at = begun + LEASE_MS - 1;
  assert.equal(contacts.hasLease(), true);
  time.at++;
  assert.equal(contacts.hasLease(), false);
  contacts.noteComplete('sa', { confirmedAt: time.at, leaseMs: LEASE_MS, differences: 0 });
  assert.equal(contacts.hasLease(), true, 'any two will do');
});

test('without other regions, or with the rule turned off, there is always a lease', () => {
  assert.equal(contactsOf([]).contacts.hasLease(), true);
  assert.equal(contactsOf(['us', 'ap'], 0).contacts.hasLease(), true);
});

test('a region that sends pages is reachable, and lags until one is complete', () => {
  const { contacts, time } = contactsOf(['us']);
  assert.equal(contacts.isReachable('us'), false);
  contacts.noteReached('us');
  time.at += 2000;
  assert.deepEqual(contacts.lags(), [{ peer: 'us', value: 2 }]);
  contacts.noteComplete('us', { confirmedAt: time.at, leaseMs: LEASE_MS, differences: 1 });
  assert.deepEqual(contacts.lags(), [{ peer: 'us', value: 0 }]);
  assert.equal(contacts.differences('us'), 1);
  time.at += UNREACHABLE_MS;
  assert.equal(contacts.isReachable('us'), false);
});

test('a region relies on a contact for the shorter lease, and a promotion waits for the longest', () => {
  const { contacts, time } = contactsOf(['us', 'ap']);
  const confirmedAt = time.at;
  contacts.noteComplete('us', { confirmedAt, leaseMs: LEASE_MS / 3, differences: 0 });
  time.at += LEASE_MS / 3 - 1;
  assert.equal(contacts.hasLease(), true);
  time.at++;
  assert.equal(contacts.hasLease(), false, 'us would wait no longer');
  contacts.noteComplete('ap', { confirmedAt: time.at, leaseMs: 0, differences: 0 });
  assert.equal(contacts.hasLease(), false, 'a region that does not wait at all confirms nothing');
  assert.ok(waitMs([1000, LEASE_MS, 0]) > LEASE_MS);
  assert.equal(waitMs([0, 0]), 0);
});

test('whatever the leases are, a promotion that a confirming region noted waits until the confirmation has ended', () => {
  const leases = fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 2, maxLength: 5 });
  fc.assert(
    fc.property(leases, fc.integer({ min: 1, max: 100_000 }), fc.nat(), (others, own, pick) => {
      const names = others.map((_, i) => `r${i}`);
      const { contacts, time } = contactsOf(names, own);
      const begun = time.at;
      for (const [i, name] of names.entries())
        contacts.noteComplete(name, { confirmedAt: begun, leaseMs: others[i] ?? 0, differences: 0 });
      // Those that noted the promotion: as many as it needs, from anywhere in the list, without the former region itself.
      const { toPromote } = quorums(names.length + 1);
      const noted = names.map((_, i) => others[(i + pick) % names.length] ?? 0).slice(0, toPromote);
      time.at = begun + waitMs(noted);
      assert.equal(contacts.hasLease(), false);
    }),
  );
});
