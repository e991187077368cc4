import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { newIssuerKey, publicPem, signed } from '../support/external-issuer.ts';
import { assertChainValid, readAll } from '../support/load.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { newDataDir, pause, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { type CallOptions, call } from '../support/service.ts';

function folderWithKey(write: (file: string) => void): string {
  const dataDir = newDataDir();
  mkdirSync(dataDir, { mode: 0o700 });
  write(join(dataDir, 'root.key'));
  return dataDir;
}

describe('two nodes on one PostgreSQL', () => {
  let databaseUrl: string;
  let a: ServiceProcess;
  let b: ServiceProcess;
  let token: string;

  const send = (node: ServiceProcess, method: string, path: string, options: CallOptions = {}) =>
    call(node.url, method, path, { token, ...options });

  before(async () => {
    databaseUrl = await newPostgresDatabase();
    a = await spawnService({ databaseUrl });
    const dataDir = folderWithKey((file) => copyFileSync(join(a.dataDir, 'root.key'), file));
    b = await spawnService({ databaseUrl, dataDir });
    token = a.adminToken();
  });

  test('the second one makes nothing of its own', async () => {
    assert.match(b.stdout(), /Coffer is ready at/);
    assert.doesNotMatch(b.stdout(), /token_file/);
    assert.equal(existsSync(join(b.dataDir, 'admin.token')), false);
    const { body } = await send(b, 'GET', '/v1/tenants');
    assert.equal(body.tenants.length, 1);
  });

  test('every job that is due at the start runs once', async () => {
    await pause(3000);
    const leases = await query(databaseUrl, 'select job, runs, last_outcome from job_leases order by job');
    assert.ok(leases.length >= 3, JSON.stringify(leases));
    for (const { job, runs, last_outcome } of leases) {
      assert.deepEqual([Number(runs), last_outcome], [1, 'success'], String(job));
    }
  });

  test('a job that becomes due again runs once more', async () => {
    for (let runs = 2; runs <= 4; runs++) {
      await query(databaseUrl, `update job_leases set next_run_at = 0 where job = 'rotate-signing-keys'`);
      await pause(2500);
      const [lease] = await query(databaseUrl, `select runs from job_leases where job = 'rotate-signing-keys'`);
      assert.equal(Number(lease?.['runs']), runs);
    }
  });

  test('a token revoked through one is refused by the other on its next request', async () => {
    for (let round = 0; round < 50; round++) {
      const [one, other] = round % 2 === 0 ? [a, b] : [b, a];
      const made = await send(one, 'POST', '/auth/tokens', { body: { name: `round ${round}` } });
      assert.equal(made.status, 201, made.text);
      for (const node of [other, one]) {
        assert.equal((await send(node, 'GET', '/auth/me', { token: made.body.token })).status, 200, `round ${round}`);
      }
      assert.equal((await send(one, 'DELETE', `/auth/tokens/${made.body.id}`)).status, 200);
      const refused = await send(other, 'GET', '/auth/me', { token: made.body.token });
      assert.equal(refused.status, 401, `round ${round}`);
    }
  });

  test('nor does a revoked token read a secret through the other, beside others who read it at the same moment', async () => {
    const secret = '/v1/vaults/shared/secrets/db';
    await send(a, 'POST', '/v1/vaults', { body: { name: 'shared', environment: 'staging' } });
    await send(a, 'POST', '/v1/vaults/shared/secrets', { body: { path: 'db', value: 'x' } });
    for (let round = 0; round < 30; round++) {
      const [one, other] = round % 2 === 0 ? [a, b] : [b, a];
      const made = await send(one, 'POST', '/auth/tokens', { body: { name: `reader ${round}` } });
      const reads = () =>
        Promise.all(
          [token, made.body.token, token, made.body.token].map((t) => send(other, 'GET', secret, { token: t })),
        );
      for (const { status, text } of [...(await reads()), ...(await reads())]) assert.equal(status, 200, text);
      assert.equal((await send(one, 'DELETE', `/auth/tokens/${made.body.id}`)).status, 200);
      assert.deepEqual(
        (await reads()).map(({ status }) => status),
        [200, 401, 200, 401],
        `round ${round}`,
      );
    }
  });

  test('a person disabled through one is refused by the other on the next request, and their tokens stay revoked', async () => {
    const password = 'a long enough passphrase for a test';
    const email = 'disabled@example.com';
    const made = await send(a, 'POST', '/v1/users', { body: { email, password, role: 'auditor' } });
    assert.equal(made.status, 201, made.text);
    const logIn = async (node: ServiceProcess) => {
      const login = await send(node, 'POST', '/auth/login', {
        token: null,
        body: { tenant: 'default', email, password },
      });
      assert.equal(login.status, 200, login.text);
      return String(login.body.token);
    };
    for (let round = 0; round < 6; round++) {
      const [one, other] = round % 2 === 0 ? [a, b] : [b, a];
      const own = await logIn(other);
      const me = () => send(other, 'GET', '/auth/me', { token: own });
      assert.equal((await me()).status, 200);
      const set = (status: string) => send(one, 'PATCH', `/v1/users/${made.body.id}`, { body: { status } });
      assert.equal((await set('disabled')).status, 200);
      assert.equal((await me()).status, 401, `round ${round}`);
      assert.equal((await set('active')).status, 200);
      assert.equal((await me()).status, 401, `round ${round}`);
    }
  });

  test('a workload’s token ends on both with the method it came by, whichever of them hears it', async () => {
    const key = await newIssuerKey('1');
    const [vault, name] = ['for-workloads', 'workloads'];
    assert.equal((await send(a, 'POST', '/v1/vaults', { body: { name: vault, environment: 'staging' } })).status, 201);
    const secret = await send(a, 'POST', `/v1/vaults/${vault}/secrets`, { body: { path: 'x', value: 'y' } });
    assert.equal(secret.status, 201, secret.text);
    const connection = await send(a, 'POST', '/v1/app-connections', { body: { name, vault, mtls_required: false } });
    const config = {
      trust_domain: 'prod.example',
      trust_bundle_pem: publicPem(key),
      expected_audience: 'coffer',
      allowed_spiffe_ids: ['spiffe://prod\\.example/shop'],
    };
    for (let round = 0; round < 6; round++) {
      const [one, other] = round % 2 === 0 ? [a, b] : [b, a];
      const body = { name: `round-${round}`, type: 'spiffe', app_connection_id: connection.body.id, config };
      const method = await send(one, 'POST', '/workload-identity/methods', { body });
      assert.equal(method.status, 201, method.text);
      const exp = Math.floor(Date.now() / 1000) + 60;
      const jwt_svid = await signed(key, { sub: 'spiffe://prod.example/shop', aud: 'coffer', exp });
      const logIn = (node: ServiceProcess) =>
        send(node, 'POST', '/workload-identity/login', { token: null, body: { method_id: method.body.id, jwt_svid } });
      const login = await logIn(other);
      assert.equal(login.status, 200, login.text);
      const read = (node: ServiceProcess) =>
        send(node, 'GET', `/v1/vaults/${vault}/secrets/x`, { token: login.body.cv_jwt });
      for (const node of [a, b]) assert.equal((await read(node)).status, 200, `round ${round}`);
      assert.equal((await send(one, 'DELETE', `/workload-identity/methods/${method.body.id}`)).status, 200);
      for (const node of [other, one]) {
        assert.equal((await read(node)).status, 401, `round ${round}`);
        assert.equal((await logIn(node)).status, 401, `round ${round}`);
      }
    }
  });

  test('an Idempotency-Key used on both at once makes one token, and both get its answer', async () => {
    for (let round = 0; round < 10; round++) {
      const name = `once ${round}`;
      const post = (node: ServiceProcess) => idempotent(node, '/auth/tokens', `token-${round}`, { name });
      const bodies = await Promise.all([post(a), post(b)]);
      assert.deepEqual(bodies[0], bodies[1]);
      const [row] = await query(databaseUrl, 'select count(*)::integer as made from tokens where name = $1', [name]);
      assert.equal(row?.['made'], 1);
    }
  });

  test('an Idempotency-Key used on both at once makes one user, and both get its answer', async () => {
    for (let round = 0; round < 10; round++) {
      const email = `once-${round}@example.com`;
      const post = (node: ServiceProcess) => idempotent(node, '/v1/users', `user-${round}`, { email });
      const bodies = await Promise.all([post(a), post(b)]);
      assert.deepEqual(bodies[0], bodies[1]);
      const [row] = await query(databaseUrl, 'select count(*)::integer as made from users where email = $1', [email]);
      assert.equal(row?.['made'], 1);
    }
  });

  /** "Still in flight" asks to repeat; a repetition gets the one response. */
  async function idempotent(node: ServiceProcess, path: string, key: string, body: unknown): Promise<unknown> {
    for (;;) {
      const answer = await send(node, 'POST', path, { body, headers: { 'idempotency-key': key } });
      if (answer.status === 201) return answer.body;
      assert.equal(`${answer.status} ${answer.body.error.code}`, '409 IN_USE', answer.text);
      await pause(20);
    }
  }

  test('a limit is shared: what one counts, the other knows within a second or two', async (t) => {
    const limit = 100;
    const tenant = await send(a, 'POST', '/v1/tenants', {
      body: { name: 'limited', owner_email: 'o@example.com', rate_limits: { read: limit } },
    });
    assert.equal(tenant.status, 201, tenant.text);
    const owner = { token: tenant.body.owner.token };
    let allowed = 0;
    let refusals = 0;
    // Until both refuse for good: however slow the machine is, the limit is reached first.
    const end = Date.now() + 30_000;
    for (let i = 0; refusals < 2 * limit && Date.now() < end; i++) {
      const answer = await send(i % 2 === 0 ? a : b, 'GET', '/auth/me', owner);
      if (answer.status === 200) allowed++;
      else {
        refusals++;
        assert.equal(answer.status, 429, answer.text);
      }
    }
    t.diagnostic(`${allowed} of a limit of ${limit} were allowed`);
    assert.ok(allowed >= limit && allowed <= 2 * limit, `${allowed} allowed`);
    for (const node of [a, b]) {
      const refused = await send(node, 'GET', '/auth/me', owner);
      assert.equal(refused.status, 429);
      assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
    }
  });

  test('what both wrote is one chain, with every entry once', async () => {
    const emails = Array.from({ length: 40 }, (_, i) => `chain-${i}@example.com`);
    const made = await Promise.all(
      emails.map((email, i) => send(i % 2 === 0 ? a : b, 'POST', '/v1/users', { body: { email } })),
    );
    for (const answer of made) assert.equal(answer.status, 201, answer.text);
    await Promise.all([assertChainValid(a.url, token), assertChainValid(b.url, token)]);
    const entries = await readAll(b.url, token, '/v1/audit', 'entries');
    for (const answer of made) {
      const id = answer.headers.get('x-request-id');
      assert.equal(entries.filter((entry) => entry['request_id'] === id).length, 1);
    }
    const seqs = entries.map((entry) => entry['seq']).filter((seq) => seq !== null);
    assert.equal(new Set(seqs).size, seqs.length, 'two entries in one place');
  });

  test('one goes, the other stays', async () => {
    await stopService(a);
    assert.equal((await send(b, 'GET', '/auth/me')).status, 200);
    await assertChainValid(b.url, token);
    await stopService(b);
  });
});

test('two nodes that start at the same moment on an empty database set it up once', async () => {
  const key = `${Buffer.alloc(32, 9).toString('base64')}\n`;
  for (let round = 0; round < 3; round++) {
    const databaseUrl = await newPostgresDatabase();
    const folders = [0, 1].map(() => folderWithKey((file) => writeFileSync(file, key, { mode: 0o600 })));
    const nodes = await Promise.all(folders.map((dataDir) => spawnService({ databaseUrl, dataDir })));
    const firsts = nodes.filter((node) => existsSync(join(node.dataDir, 'admin.token')));
    assert.equal(firsts.length, 1, 'one of them has the token');
    const token = firsts[0]?.adminToken() ?? '';
    for (const node of nodes) {
      const isFirst = node === firsts[0];
      assert.equal(/token_file/.test(node.stdout()), isFirst, 'only it says where the token is');
      const { status, body, text } = await call(node.url, 'GET', '/v1/tenants', { token });
      assert.equal(status, 200, text);
      assert.deepEqual(
        body.tenants.map((tenant: { name: string }) => tenant.name),
        ['default'],
      );
      const users = await call(node.url, 'GET', '/v1/users', { token });
      assert.equal(users.body.users.length, 1);
    }
    for (const node of nodes) await stopService(node);
  }
});

test('two nodes with the same passphrase that start at the same moment find the same key', async () => {
  const databaseUrl = await newPostgresDatabase();
  const env = { CV_ROOT_KEY_PROVIDER: 'passphrase', CV_ROOT_PASSPHRASE: 'a passphrase for both of them' };
  const nodes = await Promise.all([spawnService({ databaseUrl, env }), spawnService({ databaseUrl, env })]);
  const first = nodes.find((node) => existsSync(join(node.dataDir, 'admin.token')));
  const token = first?.adminToken() ?? '';
  for (const node of nodes) {
    const made = await call(node.url, 'POST', '/auth/tokens', { token, body: { name: 'seals and signs' } });
    assert.equal(made.status, 201, made.text);
  }
  for (const node of nodes) await stopService(node);
});

test('a node with another root key is refused, and changes nothing', async () => {
  const databaseUrl = await newPostgresDatabase();
  const first = await spawnService({ databaseUrl });
  const wrong = folderWithKey((file) =>
    writeFileSync(file, `${Buffer.alloc(32, 1).toString('base64')}\n`, { mode: 0o600 }),
  );
  await assert.rejects(spawnService({ databaseUrl, dataDir: wrong }), /cannot decrypt this database/);
  assert.equal((await call(first.url, 'GET', '/auth/me', { token: first.adminToken() })).status, 200);
  await stopService(first);
});
