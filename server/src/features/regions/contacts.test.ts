import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RegionConfig } from '../../kernel/platform/config.ts';
import { Contacts, UNREACHABLE_MS } from './contacts.ts';

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
  contacts.noteComplete('us', time.at, 0);
  assert.equal(contacts.hasLease(), true);
});

test('a lease lasts from the beginning of the pull, and needs as many regions as the quorum', () => {
  const { contacts, time } = contactsOf(['us', 'ap', 'sa', 'af']);
  const begun = time.at;
  time.at += 5000;
  contacts.noteComplete('us', begun, 0);
  assert.equal(contacts.hasLease(), false, 'five regions need two others');
  contacts.noteComplete('ap', time.at, 0);
  assert.equal(contacts.hasLease(), true);
  time.at = begun + LEASE_MS - 1;
  assert.equal(contacts.hasLease(), true);
  time.at++;
  assert.equal(contacts.hasLease(), false);
  contacts.noteComplete('sa', time.at, 0);
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
  contacts.noteComplete('us', time.at, 1);
  assert.deepEqual(contacts.lags(), [{ peer: 'us', value: 0 }]);
  assert.equal(contacts.differences('us'), 1);
  time.at += UNREACHABLE_MS;
  assert.equal(contacts.isReachable('us'), false);
});
