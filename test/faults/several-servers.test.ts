import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PostgresDatabase } from '../../server/src/kernel/storage/postgres.ts';
import { freePort } from '../support/ports.ts';
import { type PostgresServer, query, startPostgres, startStandby } from '../support/postgres.ts';
import { runService } from '../support/process.ts';
import { DatabaseProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';

let primary: PostgresServer;
let standby: PostgresServer;
let proxy: DatabaseProxy;
const open: PostgresDatabase[] = [];

const portOf = ({ url }: PostgresServer) => Number(new URL(url).port);
const several = (...ports: number[]) =>
  `postgres://coffer:coffer@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/postgres?target_session_attrs=read-write`;
const database = (url: string) => {
  const made = new PostgresDatabase(url, 4);
  open.push(made);
  return made;
};
const insert = (one: PostgresDatabase, n: number) =>
  one.transaction(async (tx) => void (await tx.execute('insert into noted values ($1)', [n])));
const counted = async (one: PostgresDatabase) =>
  Number((await one.read.execute('select count(*) as n from noted', [])).rows.map((row) => Object(row).n)[0]);

before(async () => {
  primary = await startPostgres();
  standby = await startStandby(primary);
  proxy = await DatabaseProxy.before(primary.url);
  await query(primary.url, 'create table noted (n integer)');
});
after(async () => {
  await Promise.all(open.map((one) => one.close().catch(() => {})));
  await standby?.remove();
  await primary?.remove();
});

test('a multi-host URL that cannot be followed is refused at the start, without its password', async () => {
  for (const databaseUrl of [
    'postgres://coffer:MARKER@127.0.0.1:1,127.0.0.1:1/x',
    'postgres://coffer:MARKER@127.0.0.1:1,:2/x',
    'postgres://coffer:MARKER@127.0.0.1:1,127.0.0.1:2/x?target_session_attrs=standby',
  ]) {
    const { code, stderr } = await runService({ databaseUrl });
    assert.equal(code, 1);
    assert.match(stderr, /CV_DATABASE_URL must be a URL such as/);
    assert.doesNotMatch(stderr, /MARKER|\bat .*\.[jt]s:/);
  }
  const databaseUrl = several(await freePort(), portOf(standby)).replace(':coffer@', ':MARKER@');
  const { code, stderr } = await runService({ databaseUrl });
  assert.equal(code, 1);
  assert.match(stderr, /None of the servers in CV_DATABASE_URL accepts writes/);
  assert.doesNotMatch(stderr, /MARKER/);
});

test('the server that accepts writes is found, wherever it is in the list', async () => {
  const closed = await freePort();
  for (const ports of [
    [portOf(primary), portOf(standby)],
    [portOf(standby), portOf(primary)],
    [closed, portOf(standby), portOf(primary)],
  ]) {
    const found = database(several(...ports));
    const before = await counted(found);
    await insert(found, 1);
    assert.equal(await counted(found), before + 1);
  }
});

test('a server that takes connections and says nothing is passed over', async () => {
  const silent = await DatabaseProxy.before(primary.url);
  silent.weather = { kind: 'silent' };
  await insert(database(several(silent.port, portOf(primary))), 2);
});

test('a commit that no synchronous standby confirms is not acknowledged', async () => {
  const following = database(several(portOf(primary), portOf(standby)));
  await insert(following, 3);
  await standby.stop();
  await assert.rejects(insert(following, 4), /The database is unavailable now/);
  await assert.rejects(following.write('insert into noted values ($1)', [5]), /The database is unavailable now/);
  // It says that it is ready only once it is promoted, so nobody waits for that here.
  standby.start().catch(() => {});
  await until('the standby confirms again', () =>
    insert(following, 6).then(
      () => true,
      () => false,
    ),
  );
});

test('when a standby is promoted, connections move there, and those to the former server are left', async () => {
  const following = database(several(proxy.port, portOf(standby)));
  await insert(following, 7);
  const before = await counted(following);
  // The former server lives, and takes no writes any more.
  await query(standby.url, 'select pg_promote()');
  await query(primary.url, `alter system set default_transaction_read_only = on`);
  await query(primary.url, 'select pg_reload_conf()');
  await until('writes go to the promoted server', () =>
    insert(following, 8).then(
      () => true,
      () => false,
    ),
  );
  assert.equal(await counted(following), before + 1, 'reads go there too');
  assert.deepEqual(await query(standby.url, 'select count(*)::integer as n from noted where n = 8'), [{ n: 1 }]);
  assert.deepEqual(await query(primary.url, 'select count(*)::integer as n from noted where n = 8'), [{ n: 0 }]);
});
