import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { path7za } from '7zip-bin';
import { addConnection, type Machine, tlsCall } from '../../../../test/support/machines.ts';
import { addPerson, addTenant, uniqueName } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, auditOf } from '../../../../test/support/vaults.ts';

const GENERATED = /^[a-z2-9]{5}(-[a-z2-9]{5}){4}$/;
const OWN = 'correct horse battery';

interface Exported {
  status: number;
  headers: Headers;
  archive: Buffer;
  password: string | null;
}

onSqliteAtLanding('the archive of a connection', (database) => {
  let service: Service;
  let vault: string;
  let folder: string;
  let sevenZip: string;
  let machine: Machine;
  before(async () => {
    service = await startService(database, { logLevel: 'trace' });
    vault = await addVault(service);
    await addSecret(service, vault, 'db/main', { value: 'x' });
    machine = await addConnection(service, vault, { mtls_required: true });
    folder = mkdtempSync(join(tmpdir(), 'coffer-zip-'));
    // As npm unpacks it, it may not be run.
    sevenZip = join(folder, '7za');
    copyFileSync(path7za, sevenZip);
    chmodSync(sevenZip, 0o700);
  });
  after(async () => {
    rmSync(folder, { recursive: true });
    await service.close();
  });

  async function exported(body?: object, more: { token?: string; headers?: object } = {}): Promise<Exported> {
    const { token = service.adminToken, headers = {} } = more;
    const answer = await fetch(`${service.url}/app-connections/${machine.id}/export-zip`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const archive = Buffer.from(await answer.arrayBuffer());
    const password = answer.headers.get('x-archive-password');
    return { status: answer.status, headers: answer.headers, archive, password };
  }

  /** The files of an archive, as the real 7-Zip unpacks them; throws if the password is another one. */
  function unpacked(archive: Buffer, password: string): (name: string) => string {
    const at = mkdtempSync(join(folder, 'unpacked-'));
    writeFileSync(join(at, 'bundle.zip'), archive);
    execFileSync(sevenZip, ['x', '-y', `-p${password}`, `-o${at}`, join(at, 'bundle.zip')], { stdio: 'pipe' });
    return (name) => readFileSync(join(at, name), 'utf8');
  }

  test('opens with the caller’s own password alone, and what is in it works', async () => {
    const { status, headers, archive, password } = await exported({ password: OWN });
    assert.deepEqual([status, headers.get('content-type'), password], [200, 'application/zip', null]);
    assert.throws(() => unpacked(archive, 'wrong'));
    const read = unpacked(archive, OWN);
    const shown = { certificate: read('client.crt'), private_key: read('client.key') };
    const url = `/app-connections/fetch/${machine.client_id}/${vault}/db/main`;
    assert.equal((await tlsCall(service, shown, url)).status, 200);
    assert.equal(JSON.parse(read('connection.json')).client_id, machine.client_id);
    assert.doesNotMatch(read('connection.json') + read('README.txt'), /Svc_/);
    assert.equal((await auditOf(service, 'action=bundle_exported')).length, 1);
  });

  test('has a generated password unless the caller insists on one, shown once and different each time', async () => {
    const seen = new Set<string>();
    for (const body of [undefined, {}, { certificate_ttl_days: 1 }]) {
      const { status, headers, archive, password } = await exported(body);
      assert.deepEqual([status, headers.get('content-type')], [200, 'application/zip']);
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.match(String(password), GENERATED);
      assert.match(unpacked(archive, String(password))('client.key'), /PRIVATE KEY/);
      assert.throws(() => unpacked(archive, String(password).replaceAll('-', '')));
      assert.throws(() => unpacked(archive, ''));
      seen.add(String(password));
    }
    assert.equal(seen.size, 3);
  });

  test('a weak or malformed password of the caller’s is refused, not replaced', async () => {
    for (const password of ['', 'short', 'eleven char', 'x'.repeat(257), null, 7, true]) {
      const refusal = await exported({ password });
      assert.deepEqual([refusal.status, refusal.password], [422, null], String(password));
    }
    assert.equal((await exported({ passphrase: OWN })).status, 422, 'a misspelled field');
  });

  test('no refusal shows a password', async () => {
    const { owner } = await addTenant(service);
    const person = await addPerson(service);
    for (const [token, status] of [
      [owner.token, 404],
      [person.token, 403],
      ['', 401],
    ] as const) {
      const refusal = await exported({}, { token });
      assert.deepEqual([refusal.status, refusal.password], [status, null]);
    }
  });

  test('the password is in no log, audit entry, metric or table', async () => {
    const headers = { 'idempotency-key': uniqueName('archive') };
    const { password } = await exported({}, { headers });
    const text = String(password);
    assert.match(text, GENERATED);
    assert.ok(!service.logs.join('\n').includes(text), 'the log');
    const entries = await auditOf(service, 'action=bundle_exported');
    assert.ok(entries.length > 0 && !JSON.stringify(entries).includes(text), 'the audit log');
    assert.ok(!(await service.call('GET', '/metrics')).text.includes(text), 'the metrics');
    const { read } = service.app.kernel.database;
    const rows = await read.selectFrom('idempotency_keys').selectAll().execute();
    assert.ok(rows.length > 0);
    for (const { sealed_body } of rows) assert.ok(!Buffer.from(sealed_body).includes(text), 'a stored answer');
  });

  test('a repeated request gets the same archive with its password, and nobody else does', async () => {
    const headers = { 'idempotency-key': uniqueName('archive') };
    const first = await exported({}, { headers });
    const again = await exported({}, { headers });
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.deepEqual([again.archive, again.password], [first.archive, first.password]);
    assert.match(unpacked(again.archive, String(again.password))('client.key'), /PRIVATE KEY/);
    const other = await addPerson(service, { role: 'admin' });
    const theirs = await exported({}, { headers, token: other.token });
    assert.equal(theirs.headers.get('idempotency-replayed'), null);
    assert.notEqual(theirs.password, first.password);
    const stranger = await exported({}, { headers, token: (await addPerson(service)).token });
    assert.deepEqual([stranger.status, stranger.password], [403, null]);
    const changed = await exported({ password: OWN }, { headers });
    assert.deepEqual([changed.status, changed.password], [422, null]);
  });

  test('a repeated request with an own password shows none', async () => {
    const headers = { 'idempotency-key': uniqueName('archive') };
    const [first, again] = [
      await exported({ password: OWN }, { headers }),
      await exported({ password: OWN }, { headers }),
    ];
    assert.deepEqual([again.archive, again.password], [first.archive, null]);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
  });

  test('an answer that 0.4 stored, without headers, is repeated as it was', async () => {
    const { database, idempotency } = service.app.kernel;
    await exported({ password: OWN }, { headers: { 'idempotency-key': uniqueName('archive') } });
    const { tenant_id, actor_id } = await database.read
      .selectFrom('idempotency_keys')
      .selectAll()
      .orderBy('expires_at', 'desc')
      .executeTakeFirstOrThrow();
    const key = uniqueName('archive');
    const asked = ['exportConnectionBundle', { connection: String(machine.id) }, { password: OWN }];
    const request = await idempotency.request(key, tenant_id, actor_id, asked);
    const bytes = Buffer.from('the archive of then');
    const answer = { status: 200, resource: 'app-connection', attributes: {}, body: bytes.toString('base64') };
    await database.transaction((tx) => idempotency.save(tx, request, answer));
    const again = await exported({ password: OWN }, { headers: { 'idempotency-key': key } });
    assert.deepEqual([again.status, again.archive, again.password], [200, bytes, null]);
  });

  test('two requests at once with one key end with one archive and its password', async () => {
    const headers = { 'idempotency-key': uniqueName('archive') };
    const answers = await Promise.all([1, 2, 3].map(() => exported({}, { headers })));
    const shown = answers.filter(({ status }) => status === 200);
    assert.ok(answers.every(({ status }) => status === 200 || status === 409) && shown.length > 0);
    assert.equal(new Set(shown.map(({ password }) => password)).size, 1);
    for (const { archive, password } of shown) unpacked(archive, String(password));
  });
});
