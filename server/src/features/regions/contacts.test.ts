import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Contacts, type Moment, quorums, UNREACHABLE_MS, waitMs } from './contacts.ts';
import type { RegionConfig } from './settings.ts';

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
  const time = { at: 1_000_000, suspended: 0, elapsed: () => time.at, uptime: () => time.at + time.suspended };
  const contacts = new Contacts(config, time);
  const confirm = (region: string, { leaseMs, at = contacts.moment() }: { leaseMs: number; at?: Moment }) =>
    contacts.noteComplete(region, { confirmedAt: at, leaseMs, differences: 0 });
  return { contacts, time, confirm };
}

test('a process that has pulled nothing yet has no lease', () => {
  const { contacts, confirm } = contactsOf(['us', 'ap']);
  assert.equal(contacts.hasLease(), false);
  contacts.noteReached('us');
  assert.equal(contacts.hasLease(), false, 'a pull that ended incomplete is no contact');
  assert.equal(contacts.isReachable('us'), true);
  confirm('us', { leaseMs: LEASE_MS });
  assert.equal(contacts.hasLease(), true);
});

test('a lease lasts from the beginning of the pull, and needs as many regions as the quorum', () => {
  const { contacts, time, confirm } = contactsOf(['us', 'ap', 'sa', 'af']);
  const at = contacts.moment();
  time.at += 5000;
  confirm('us', { leaseMs: LEASE_MS, at });
  assert.equal(contacts.hasLease(), false, 'five regions need two others');
  confirm('ap', { leaseMs: LEASE_MS });
  assert.equal(contacts.hasLease(), true);
  time.at = at.elapsed + LEASE_MS - 1;
  assert.equal(contacts.hasLease(), true);
  time.at++;
  assert.equal(contacts.hasLease(), false);
  confirm('sa', { leaseMs: LEASE_MS });
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
  contacts.noteComplete('us', { confirmedAt: contacts.moment(), leaseMs: LEASE_MS, differences: 1 });
  assert.deepEqual(contacts.lags(), [{ peer: 'us', value: 0 }]);
  assert.equal(contacts.differences('us'), 1);
  time.at += UNREACHABLE_MS;
  assert.equal(contacts.isReachable('us'), false);
});

test('a region relies on a contact for the shorter lease, and a promotion waits for the longest', () => {
  const { contacts, time, confirm } = contactsOf(['us', 'ap']);
  confirm('us', { leaseMs: LEASE_MS / 3 });
  time.at += LEASE_MS / 3 - 1;
  assert.equal(contacts.hasLease(), true);
  time.at++;
  assert.equal(contacts.hasLease(), false, 'us would wait no longer');
  confirm('ap', { leaseMs: 0 });
  assert.equal(contacts.hasLease(), false, 'a region that does not wait at all confirms nothing');
  assert.ok(waitMs([1000, LEASE_MS, 0]) > LEASE_MS);
  assert.equal(waitMs([0, 0]), 0);
});

test('whatever the leases are, a promotion that a confirming region noted waits until the confirmation has ended', () => {
  const leases = fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 2, maxLength: 5 });
  fc.assert(
    fc.property(leases, fc.integer({ min: 1, max: 100_000 }), fc.nat(), (others, own, pick) => {
      const names = others.map((_, i) => `r${i}`);
      const { contacts, time, confirm } = contactsOf(names, own);
      const begun = time.at;
      for (const [i, name] of names.entries()) confirm(name, { leaseMs: others[i] ?? 0 });
      // Those that noted the promotion: as many as it needs, from anywhere in the list, without the former region itself.
      const { toPromote } = quorums(names.length + 1);
      const noted = names.map((_, i) => others[(i + pick) % names.length] ?? 0).slice(0, toPromote);
      time.at = begun + waitMs(noted);
      assert.equal(contacts.hasLease(), false);
    }),
  );
});

test('lesson 35: a lease counts time in which the machine was suspended', () => {
  const { contacts, time, confirm } = contactsOf(['us', 'ap']);
  confirm('us', { leaseMs: LEASE_MS });
  time.suspended += LEASE_MS;
  assert.equal(contacts.hasLease(), false, 'the monotonic clock has not moved');
  confirm('us', { leaseMs: LEASE_MS });
  assert.equal(contacts.hasLease(), true, 'the next complete pull begins anew');
});

test('after any suspension the lease is over until it is renewed, and the seconds of a coarse clock are none', () => {
  const { contacts, time, confirm } = contactsOf(['us', 'ap']);
  confirm('us', { leaseMs: LEASE_MS });
  time.suspended += 3000;
  assert.equal(contacts.hasLease(), false);
  confirm('us', { leaseMs: LEASE_MS });
  time.suspended += 999;
  assert.equal(contacts.hasLease(), true);
  time.at += LEASE_MS - 999;
  assert.equal(contacts.hasLease(), false, 'the clock counts that has passed more time');
});

test('a clock that stands still or is missing gives no lease', () => {
  const { contacts, time, confirm } = contactsOf(['us', 'ap']);
  confirm('us', { leaseMs: LEASE_MS });
  time.at += 5000;
  time.suspended -= 5000;
  assert.equal(contacts.hasLease(), false, 'the uptime has not moved');
  time.suspended = Number.NaN;
  confirm('us', { leaseMs: LEASE_MS });
  assert.equal(contacts.hasLease(), false, 'there is no uptime');
});

test('a promotion waits by the clock that does not count a suspension', () => {
  const { contacts, time } = contactsOf(['us', 'ap']);
  const before = contacts.elapsed();
  time.suspended += LEASE_MS;
  assert.equal(contacts.elapsed(), before);
});
