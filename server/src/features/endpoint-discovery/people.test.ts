import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoginShell } from './login-shell.ts';
import { formerOwner, isOrphan, type KnownPerson, ownersOf, People } from './people.ts';

const person = (email: string, more: Partial<KnownPerson> = {}): KnownPerson => ({
  userId: `user_${email}`,
  email,
  status: 'active',
  isMember: true,
  isAdmin: false,
  ...more,
});
const ADA = person('ada@example.com');
const BOB = person('bob@example.com', { isMember: false });
const EVE = person('eve@example.com', { status: 'former' });
const OTHER_EVE = person('eve@elsewhere.example');
const ROOT = person('root@example.com', { isMember: false, isAdmin: true });

const emails = (people: readonly KnownPerson[]) => people.map(({ email }) => email);
const keyed = (username: string, comments: string[] = [''], userId: string | null = null) => ({
  userId,
  username,
  keys: comments.map((comment) => ({ comment })),
});

test('an account belongs to whom it is linked, else by its name, else by a comment', () => {
  const people = new People([ADA, BOB, EVE]);
  const owners = (account: Parameters<typeof ownersOf>[1]) => emails(ownersOf(people, account));
  assert.deepEqual(owners(keyed('ada', ['bob@example.com'], BOB.userId)), ['bob@example.com']);
  assert.deepEqual(owners(keyed('ADA', ['bob@example.com'])), ['ada@example.com']);
  assert.deepEqual(owners(keyed('deploy', ['bob@example.com'])), ['bob@example.com']);
  assert.deepEqual(owners(keyed('deploy', ['bob@laptop'])), ['bob@example.com']);
  assert.deepEqual(owners(keyed('deploy', ['bob'])), ['bob@example.com']);
  assert.deepEqual(owners(keyed('deploy', ['key of bob for laptop'])), [], 'a word in a sentence names nobody');
  assert.deepEqual(owners(keyed('ada', [''], 'user_gone')), []);
});

test('an account without a member is an orphan, if a key opens it', () => {
  const people = new People([ADA, BOB, EVE, ROOT]);
  assert.equal(isOrphan(people, keyed('ada')), false);
  assert.equal(isOrphan(people, keyed('root')), false, 'an admin reaches every vault');
  assert.equal(isOrphan(people, keyed('bob')), true);
  assert.equal(isOrphan(people, keyed('eve')), true);
  assert.equal(isOrphan(people, keyed('nobody')), true);
  assert.equal(isOrphan(people, keyed('nobody', [])), false);
});

test('a key is of somebody who left only if it cannot be of somebody who is there', () => {
  assert.equal(formerOwner(new People([ADA, EVE]), 'eve@laptop'), EVE);
  assert.equal(formerOwner(new People([ADA, EVE]), 'eve@example.com laptop'), EVE);
  assert.equal(formerOwner(new People([EVE, OTHER_EVE]), 'eve@laptop'), undefined);
  assert.equal(formerOwner(new People([EVE, OTHER_EVE]), 'eve@example.com'), EVE);
  assert.equal(formerOwner(new People([EVE, { ...EVE, status: 'active' }]), 'eve@example.com'), undefined);
  assert.equal(formerOwner(new People([ADA]), 'eve@laptop'), undefined);
});

test('nobody logs in with nologin or false, however it is written', () => {
  for (const shell of ['/usr/sbin/nologin', '/sbin/nologin', 'nologin', '/bin/false', '/bin/false ', '/bin/false -x'])
    assert.equal(isLoginShell(shell), false, shell);
  for (const shell of ['/bin/bash', '', '/opt/false/sh', '/bin/falsey', '/usr/bin/nologin-not'])
    assert.equal(isLoginShell(shell), true, shell);
});
