import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hasSameServers, parseDatabaseUrl, SERVERS_MAX, serverName } from './database-url.ts';

test('one server is left as it is written', () => {
  for (const url of [
    'postgres://coffer@db.example.com:5432/coffer',
    'postgresql://u:p@db/coffer?sslmode=verify-full&sslrootcert=/etc/ca.pem',
    'postgres://u:p%40ss@[::1]:5432/coffer',
    'postgres:///coffer?host=/var/run/postgresql',
    'postgres://u:p@/coffer?host=/var/run/postgresql',
    'postgres://u:p@ss@db/coffer',
  ])
    assert.deepEqual(parseDatabaseUrl(url), { servers: [url], isWritableRequired: false });
});

test('several servers become a URL each, of which one must accept writes', () => {
  const url = 'postgres://u:p@h1:5433,h2,[2001:db8::1]:5434/coffer?sslmode=require&target_session_attrs=read-write';
  assert.deepEqual(parseDatabaseUrl(url), {
    servers: ['h1:5433', 'h2', '[2001:db8::1]:5434'].map((host) => `postgres://u:p@${host}/coffer?sslmode=require`),
    isWritableRequired: true,
  });
  assert.equal(parseDatabaseUrl('postgres://u@h1,h2/coffer')?.isWritableRequired, true);
  const one = parseDatabaseUrl('postgres://u@h1/coffer?target_session_attrs=read-write');
  assert.deepEqual(one, { servers: ['postgres://u@h1/coffer'], isWritableRequired: true });
});

test('what cannot be followed is refused', () => {
  const many = Array.from({ length: SERVERS_MAX + 1 }, (_, i) => `h${i}`).join(',');
  for (const url of [
    '',
    'h1,h2',
    'mysql://h1/coffer',
    'postgres://u@h1,,h2/coffer',
    'postgres://u@h1,/coffer',
    'postgres://u@h1,:5432/coffer',
    'postgres://u@h1,h1/coffer',
    'postgres://u@h1:port,h2/coffer',
    'postgres://u@h1:99999/coffer',
    'postgres://u@h1:5432:1,h2/coffer',
    'postgres://u@[::1,h2/coffer',
    'postgres://u@h1 ,h2/coffer',
    `postgres://u@${many}/coffer`,
    'postgres://u@h1,h2/coffer?target_session_attrs=standby',
    'postgres://u@h1,h2/coffer?target_session_attrs=any',
    'postgres://u@h1,h2/coffer?target_session_attrs=',
    'postgres://u@h1/coffer?target_session_attrs=read-write&target_session_attrs=read-write',
  ])
    assert.equal(parseDatabaseUrl(url), null, url);
});

test('the name of a server has neither user nor password', () => {
  assert.equal(serverName('postgres://user:MARKER@h1:5432/coffer?x=MARKER'), 'h1:5432');
  assert.equal(serverName('postgres://user:MAR@KER@h1/coffer'), 'h1');
  assert.equal(serverName('postgres://user:MARKER@/coffer'), 'the local server');
});

test('each server gets the same user, database and parameters, and no other host', () => {
  const host = fc.stringMatching(/^[a-z][a-z0-9-]{0,9}(\.[a-z]{1,5})?$/);
  const port = fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: undefined });
  const servers = fc.uniqueArray(fc.tuple(host, port), { minLength: 1, maxLength: SERVERS_MAX, selector: String });
  const password = fc.string({ maxLength: 20 }).map(encodeURIComponent);
  fc.assert(
    fc.property(servers, password, fc.boolean(), (list, secret, isReadWrite) => {
      const hosts = list.map(([name, number]) => (number === undefined ? name : `${name}:${number}`));
      const query = isReadWrite ? '?target_session_attrs=read-write' : '';
      const parsed = parseDatabaseUrl(`postgres://u:${secret}@${hosts.join(',')}/coffer${query}`);
      assert.deepEqual(
        parsed?.servers,
        hosts.map((one) => `postgres://u:${secret}@${one}/coffer`),
      );
      assert.equal(parsed?.isWritableRequired, isReadWrite || hosts.length > 1);
    }),
  );
});

test('no text makes it throw', () => {
  fc.assert(fc.property(fc.string(), (text) => void parseDatabaseUrl(`postgres://${text}`)));
});

test('URLs that differ in the password only have the same servers', () => {
  const same = (a: string, b: string) => hasSameServers(a, b);
  const url = 'postgres://u:one@h1,h2:5433/coffer?sslmode=require';
  assert.equal(same(url, url.replace('one', 'two%3A')), true);
  assert.equal(same(url, url.replace(':one', '')), true);
  for (const [from, to] of [
    ['u:', 'v:'],
    ['h2', 'h3'],
    ['5433', '5434'],
    ['/coffer', '/other'],
    ['require', 'disable'],
  ] as const)
    assert.equal(same(url, url.replace(from, to)), false, to);
  assert.equal(same('', ''), false);
});
