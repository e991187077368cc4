import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import {
  openZeroKnowledge,
  sealZeroKnowledge,
  type ZeroKnowledgeLocation,
} from '../../client/src/zero-knowledge-index.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { nameOf } from '../support/endpoint-inputs.ts';
import { addCluster, addClusterPolicy, sync } from '../support/fleet.ts';
import { addConnection } from '../support/machines.ts';
import { addColleague, addTenant, approve, ok, refused, uniqueName } from '../support/people.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../support/service.ts';
import { addSecret, addVault, auditOf, readValue, secretUrl } from '../support/vaults.ts';

/**
 * Every endpoint that sees values or works in a vault, and what it does with a zero-knowledge one. `refused`: it needs plaintext.
 * `refused in part`: depending on the input, tried below. `envelope`: it takes or gives the envelope as it is. `metadata`: it sees no value.
 * `withheld`: it says that it leaves the value out. `no vault`: what it works on is in none. An endpoint that is not here fails the test.
 */
const BOUNDARY: Record<string, 'refused' | 'refused in part' | 'envelope' | 'metadata' | 'withheld' | 'no vault'> = {
  'GET /v1/vaults': 'metadata',
  'POST /v1/vaults': 'metadata',
  'GET /v1/vaults/{vault}': 'metadata',
  'PATCH /v1/vaults/{vault}': 'metadata',
  'DELETE /v1/vaults/{vault}': 'metadata',
  'POST /v1/vaults/{vault}/restore': 'metadata',
  'GET /v1/vaults/{vault}/members': 'metadata',
  'GET /v1/users/{user_id}/vaults': 'metadata',
  'POST /v1/vaults/{vault}/members': 'metadata',
  'PATCH /v1/vaults/{vault}/members/{member_id}': 'metadata',
  'DELETE /v1/vaults/{vault}/members/{member_id}': 'metadata',
  'POST /v1/vaults/{vault}/members/review': 'metadata',
  'GET /v1/vaults/{vault}/passphrase-check': 'envelope',
  'PUT /v1/vaults/{vault}/passphrase-check': 'envelope',
  'GET /v1/vaults/{vault}/secrets': 'metadata',
  'POST /v1/vaults/{vault}/secrets': 'refused in part',
  'GET /v1/vaults/{vault}/secrets/{path*}': 'envelope',
  'PUT /v1/vaults/{vault}/secrets/{path*}': 'refused in part',
  'DELETE /v1/vaults/{vault}/secrets/{path*}': 'metadata',
  'POST /v1/vaults/{vault}/secrets/{path*}/restore': 'metadata',
  'GET /v1/vaults/{vault}/secrets/{path*}/versions': 'metadata',
  'GET /v1/vaults/{vault}/secrets/{path*}/risk': 'metadata',
  'POST /v1/vaults/{vault}/secrets/{path*}/rotate': 'refused in part',
  'POST /v1/vaults/{vault}/secrets/{path*}/rollback': 'envelope',
  'POST /v1/vaults/{vault}/secrets/{path*}/move': 'refused in part',
  'POST /v1/vaults/{vault}/secrets/{path*}/copy': 'refused in part',
  'GET /v1/vaults/{vault}/aggregate': 'envelope',
  'POST /v1/vaults/{vault}/search': 'refused',
  'GET /vaults/collisions': 'metadata',
  'POST /v1/vaults/{vault}/tokenize': 'refused',
  'POST /v1/vaults/{vault}/detokenize': 'refused',
  'POST /v1/vaults/{vault}/changes': 'refused in part',
  'GET /v1/vaults/{vault}/references/{path*}': 'metadata',
  'GET /approvals/{approval_id}/values': 'refused',
  'POST /v1/vaults/{vault}/import': 'refused in part',
  'GET /v1/vaults/{vault}/export': 'refused',
  'GET /environments/{environment_id}/compose': 'refused in part',
  'GET /app-connections/fetch/{client_id}/{vault}/{secret*}': 'envelope',
  'GET /eso/secrets/by-id': 'refused',
  'GET /eso/secrets/by-name': 'refused',
  'GET /eso/vault/{vault}': 'metadata',
  'POST /clusters/{cluster_id}/policies': 'refused',
  'GET /clusters/{cluster_id}/desired-state': 'withheld',
  'POST /eaas/keys/{name}/encrypt': 'no vault',
  'POST /eaas/keys/{name}/decrypt': 'no vault',
  'POST /eaas/keys/{name}/encrypt-batch': 'no vault',
  'POST /eaas/keys/{name}/decrypt-batch': 'no vault',
  'POST /eaas/keys/{name}/rewrap': 'no vault',
  'POST /pqc/hybrid-classical/wrap': 'no vault',
  'POST /pqc/hybrid-classical/unwrap': 'no vault',
};

const CODE = 'ZkBoundaryViolation';
const SECRET = { key: new Uint8Array(randomBytes(32)) };
const PLAIN = 'do-not-let-me-through';
/** Where an envelope belongs that no test opens. */
const ANYWHERE = { vault: 'some', path: 'where' };
const seal = (value = PLAIN, location: ZeroKnowledgeLocation = ANYWHERE) => sealZeroKnowledge(value, SECRET, location);

test('every endpoint near values says what it does at the boundary', () => {
  const refuses = ({ errors }: (typeof DECLARATIONS)[number]) => (errors as readonly string[]).includes(CODE);
  const near = DECLARATIONS.filter((one) => one.plaintext || refuses(one) || /vaults?(\/|\}|$)/.test(one.path)).map(
    nameOf,
  );
  assert.deepEqual(near.toSorted(), Object.keys(BOUNDARY).toSorted());
  for (const declaration of DECLARATIONS) {
    const isRefused = BOUNDARY[nameOf(declaration)]?.startsWith('refused') ?? false;
    assert.equal(refuses(declaration), isRefused, `${nameOf(declaration)} declares it`);
  }
});

onSqliteAtLanding('the zero-knowledge boundary', (database) => {
  let service: Service;
  let vault: string;
  let plain: string;
  /** Of every vault a secret at `db/main`. */
  let secretId: string;
  let client: { id: string; headers: Record<string, string> };

  before(async () => {
    service = await startService(database);
    [vault, plain] = [await addVault(service, { is_zero_knowledge: true }), await addVault(service)];
    const value = await seal(PLAIN, { vault, path: 'db/main' });
    secretId = (await addSecret(service, vault, 'db/main', { value, type: 'password' })).id;
    await addSecret(service, plain, 'db/main', { value: PLAIN });
    const connection = await addConnection(service, vault, { allowed_paths: ['db/*'] });
    client = {
      id: String(connection.client_id),
      headers: { 'x-client-id': String(connection.client_id), 'x-client-secret': String(connection.client_secret) },
    };
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: unknown) =>
    service.call(method, path, body === undefined ? {} : { body });
  const asMachine = (path: string) => service.call('GET', path, { token: null, headers: client.headers });
  const inVault = (rest: string, body?: unknown) =>
    send(body === undefined ? 'GET' : 'POST', `/v1/vaults/${vault}/${rest}`, body);
  const environmentWith = async (secret_id: string) => {
    const { id } = await ok(send('POST', '/environments', { name: uniqueName('environment') }), 201);
    await ok(send('POST', `/environments/${id}/secrets`, { secret_id, key_name: 'KEY' }), 201);
    return Number(id);
  };

  /** By endpoint, the requests that need plaintext. */
  const needy: Record<string, () => Promise<Answer>[] | Promise<Promise<Answer>[]>> = {
    'POST /v1/vaults/{vault}/secrets': async () => [
      inVault('secrets', { path: 'new/a', type: 'password' }),
      inVault('secrets', { path: 'new/b', type: 'password', generator: {} }),
      inVault('secrets', { path: 'new/c', value: await seal(), type: 'password', rotation: { interval_days: 1 } }),
    ],
    'PUT /v1/vaults/{vault}/secrets/{path*}': () => [
      send('PUT', secretUrl(vault, 'db/main'), { rotation: { interval_days: 1 } }),
      send('PUT', secretUrl(vault, 'db/main'), { rotation: { interval_days: 1, generator: { length: 20 } } }),
    ],
    'POST /v1/vaults/{vault}/secrets/{path*}/rotate': () => [
      send('POST', secretUrl(vault, 'db/main', 'rotate')),
      send('POST', secretUrl(vault, 'db/main', 'rotate'), { generator: {} }),
      send('POST', secretUrl(vault, 'db/main', 'rotate'), { reason: 'because' }),
    ],
    'POST /v1/vaults/{vault}/secrets/{path*}/move': async () => [
      send('POST', secretUrl(vault, 'db/main', 'move'), { to_vault: plain, to_path: 'db/moved' }),
      send('POST', secretUrl(plain, 'db/main', 'move'), { to_vault: vault, to_path: 'db/moved' }),
      send('POST', secretUrl(plain, 'db/main', 'move'), { to_vault: vault, to_path: 'db/moved', value: await seal() }),
      send('POST', secretUrl(vault, 'db/main', 'move'), { to_path: 'db/moved' }),
    ],
    'POST /v1/vaults/{vault}/secrets/{path*}/copy': async () => [
      send('POST', secretUrl(vault, 'db/main', 'copy'), { to_vault: plain, to_path: 'db/copied' }),
      send('POST', secretUrl(plain, 'db/main', 'copy'), { to_vault: vault, to_path: 'db/copied' }),
      send('POST', secretUrl(plain, 'db/main', 'copy'), { to_vault: vault, to_path: 'db/copied', value: await seal() }),
      send('POST', secretUrl(vault, 'db/main', 'copy'), { to_path: 'db/copied' }),
    ],
    'POST /v1/vaults/{vault}/search': () => [inVault('search', { query: 'let' })],
    'POST /v1/vaults/{vault}/tokenize': () => [inVault('tokenize', { value: PLAIN })],
    'POST /v1/vaults/{vault}/detokenize': () => [inVault('detokenize', { token: 'tok_00000000000000000000000000' })],
    'GET /approvals/{approval_id}/values': async () => {
      const reviewed = await addVault(service, { is_zero_knowledge: true, change_control: 'review' });
      const { id } = (await ok(service.call('GET', '/auth/me'))).tenant;
      const reviewer = await addColleague(service, id, 'member');
      await ok(send('POST', `/v1/vaults/${reviewed}/members`, { user: reviewer.id, role: 'manager' }), 201);
      const body = { path: 'db/new', value: await seal(PLAIN, { vault: reviewed, path: 'db/new' }) };
      const { approval_id } = await ok(send('POST', `/v1/vaults/${reviewed}/secrets`, body), 202);
      return [service.call('GET', `/approvals/${approval_id}/values`, { token: reviewer.token })];
    },
    'POST /v1/vaults/{vault}/changes': () => [
      inVault('changes', { changes: [{ op: 'create', path: 'new/e', type: 'password' }] }),
      inVault('changes', { changes: [{ op: 'rotate', path: 'db/main' }] }),
      inVault('changes', { changes: [{ op: 'move', path: 'db/main', to_path: 'db/moved' }] }),
    ],
    'POST /v1/vaults/{vault}/import': () => [
      inVault('import', { secrets: { 'new/d': PLAIN } }),
      inVault('import', { secrets: { 'db/main': PLAIN } }),
      inVault('import', { secrets: { 'new/d': PLAIN }, dry_run: true }),
      inVault('import', { dotenv: `KEY=${PLAIN}\n` }),
    ],
    'GET /v1/vaults/{vault}/export': () => [
      inVault('export'),
      inVault('export?format=dotenv'),
      inVault('export?prefix=none'),
    ],
    'GET /environments/{environment_id}/compose': async () => [
      send('GET', `/environments/${await environmentWith(secretId)}/compose?resolve=true&format=json`),
    ],
    'POST /clusters/{cluster_id}/policies': async () => [
      addClusterPolicy(service, await addCluster(service), { vault, prefix: 'db' }),
    ],
    'GET /eso/secrets/by-id': () => [asMachine(`/eso/secrets/by-id?id=${secretId}`)],
    'GET /eso/secrets/by-name': () => [asMachine(`/eso/secrets/by-name?vault=${vault}&name=db/main`)],
  };

  test('there is a try for everything that is refused', () => {
    const expected = Object.keys(BOUNDARY).filter((name) => BOUNDARY[name]?.startsWith('refused'));
    assert.deepEqual(Object.keys(needy).toSorted(), expected.toSorted());
  });

  for (const [name, requests] of Object.entries(needy)) {
    test(`${name} is refused what needs plaintext`, async () => {
      for (const request of await requests()) await refused(request, 409, CODE);
    });
  }

  test('after all of that nothing has changed', async () => {
    assert.equal(
      await openZeroKnowledge(await readValue(service, vault, 'db/main'), SECRET, { vault, path: 'db/main' }),
      PLAIN,
    );
    assert.equal(await readValue(service, plain, 'db/main'), PLAIN);
    for (const name of [vault, plain]) {
      const { secrets } = await ok(send('GET', `/v1/vaults/${name}/secrets`));
      assert.deepEqual(
        secrets.map((secret: Answer['body']) => [secret.path, secret.version]),
        [['db/main', 1]],
      );
    }
  });

  test('envelopes go in and come out as they are, wherever no plaintext is needed', async () => {
    const value = await readValue(service, vault, 'db/main');
    const fetched = await ok(asMachine(`/app-connections/fetch/${client.id}/${vault}/db/main`));
    assert.equal(fetched.value, value);
    assert.equal((await ok(inVault('aggregate'))).secrets[0].value, value);
    assert.equal((await ok(asMachine(`/eso/vault/${vault}`))).secrets.length, 1);
    assert.equal(
      (await ok(send('GET', `/environments/${await environmentWith(secretId)}/compose`))).effective.KEY.value,
      undefined,
    );
    const imported = await seal('imported');
    await ok(inVault('import', { secrets: { 'db/imported': imported } }));
    assert.equal(await readValue(service, vault, 'db/imported'), imported);
  });

  test('nothing is compared: no digest is stored, and equal envelopes do not collide', async () => {
    const [one, two] = [
      await addVault(service, { is_zero_knowledge: true }),
      await addVault(service, { is_zero_knowledge: true }),
    ];
    const value = await seal('shared');
    for (const name of [one, two]) await addSecret(service, name, `own/${name}`, { value });
    await ok(send('PUT', secretUrl(one, `own/${one}`), { value: await seal('x') }));
    await ok(send('POST', secretUrl(one, `own/${one}`, 'rotate'), { value: await seal('y') }));
    await ok(send('POST', secretUrl(one, `own/${one}`, 'rollback'), { to_version: 1 }));
    await ok(send('POST', `/v1/vaults/${one}/import`, { secrets: { imported: value } }));
    await ok(send('POST', secretUrl(one, `own/${one}`, 'copy'), { to_vault: two, to_path: 'copied', value }), 201);
    const { collisions } = await ok(send('GET', '/vaults/collisions'));
    const touching = collisions.filter(
      (c: Answer['body']) => c.kind === 'value' && c.vaults.some((v: string) => [one, two].includes(v)),
    );
    assert.deepEqual(touching, []);
    assert.deepEqual((await ok(send('POST', '/v1/secrets/known', { values: [value, 'shared'] }))).known, []);
    const { read } = service.app.kernel.database;
    const sealed = await read.selectFrom('vaults').select('vault_id').where('is_zero_knowledge', '=', 1).execute();
    const ids = sealed.map(({ vault_id }) => vault_id);
    const rows = await read.selectFrom('secrets').select('fingerprint').where('vault_id', 'in', ids).execute();
    assert.ok(rows.length > 3 && rows.every(({ fingerprint }) => fingerprint === null));
  });

  test('the flag never changes, whatever one tries', async () => {
    const flagOf = async (name: string) => (await ok(send('GET', `/v1/vaults/${name}`))).is_zero_knowledge;
    for (const [name, own, other] of [
      [vault, true, false],
      [plain, false, true],
    ] as const) {
      for (const value of [other, null, 0, 1, 'true', 'false', '', [], {}]) {
        const body = { is_zero_knowledge: value, description: 'changed with it' };
        await refused(send('PATCH', `/v1/vaults/${name}`, body), 409, 'ZK_FLAG_IMMUTABLE');
      }
      await ok(send('PATCH', `/v1/vaults/${name}`, { is_zero_knowledge: own }));
      assert.deepEqual([await flagOf(name), (await ok(send('GET', `/v1/vaults/${name}`))).description], [own, '']);
      const again = { name, environment: 'staging', is_zero_knowledge: other };
      await refused(send('POST', '/v1/vaults', again), 409, 'VAULT_ALREADY_EXISTS');
    }
  });

  test('the flag outlives deleting and restoring, which takes no flag', async () => {
    const name = await addVault(service, { is_zero_knowledge: true });
    await addSecret(service, name, 'a', { value: await seal() });
    await ok(send('DELETE', `/v1/vaults/${name}`));
    await refused(send('POST', '/v1/vaults', { name, environment: 'staging' }), 409, 'VAULT_ALREADY_EXISTS');
    await refused(send('POST', `/v1/vaults/${name}/restore`, { is_zero_knowledge: false }), 422, 'VALIDATION_FAILED');
    assert.equal((await ok(send('POST', `/v1/vaults/${name}/restore`))).is_zero_knowledge, true);
    await refused(send('POST', `/v1/vaults/${name}/search`, { query: 'abc' }), 409, CODE);
  });

  test('the flag outlives an approval carried out later', async () => {
    const { token } = (await addTenant(service)).owner;
    const there = (method: string, path: string, body?: object) =>
      service.call(method, path, { token, ...(body !== undefined && { body }) });
    const name = await addVault(service, { is_zero_knowledge: true, environment: 'production' }, token);
    await addSecret(service, name, 'a', { value: await seal(), environment: 'production' }, token);
    const requested = there('DELETE', `/v1/vaults/${name}`);
    const { approval_id } = await ok(requested, 202);
    await refused(there('PATCH', `/v1/vaults/${name}`, { is_zero_knowledge: false }), 409, 'ZK_FLAG_IMMUTABLE');
    assert.equal((await ok(approve(service, approval_id, token))).status, 'completed');
    assert.equal((await ok(there('POST', `/v1/vaults/${name}/restore`))).is_zero_knowledge, true);
    await refused(there('GET', `/v1/vaults/${name}/export`), 409, CODE);
  });

  test('an import sets no flag', async () => {
    const body = { secrets: { x: PLAIN }, is_zero_knowledge: true };
    await refused(send('POST', `/v1/vaults/${plain}/import`, body), 422, 'VALIDATION_FAILED');
  });

  test('the log says who, when and which operation, never what changed', async () => {
    const marks = { description: 'mark-description', tags: ['mark-tag'], owner: 'mark-owner', custom: 'mark-custom' };
    const name = await addVault(service, { is_zero_knowledge: true, description: 'mark-vault', tags: ['mark-tag'] });
    const body = { path: 'a', value: await seal(), metadata: marks, type: 'mark_type' };
    await ok(send('POST', `/v1/vaults/${name}/secrets`, body), 201);
    await ok(send('PUT', secretUrl(name, 'a'), { metadata: { ...marks, owner: 'mark-other' }, reason: 'mark-reason' }));
    await ok(send('PUT', secretUrl(name, 'a'), { value: await seal() }));
    await ok(send('POST', secretUrl(name, 'a', 'rotate'), { value: await seal(), reason: 'mark-reason' }));
    await ok(send('POST', secretUrl(name, 'a', 'rollback'), { to_version: 1, reason: 'mark-reason' }));
    await ok(send('PATCH', `/v1/vaults/${name}`, { description: 'mark-new', tags: ['mark-tag', 'mark-more'] }));
    await refused(
      send('PATCH', `/v1/vaults/${name}`, { is_zero_knowledge: false, tags: ['mark-tag'] }),
      409,
      'ZK_FLAG_IMMUTABLE',
    );
    await refused(send('POST', secretUrl(name, 'a'.repeat(3), 'rotate'), { value: PLAIN }), 404, 'SECRET_NOT_FOUND');
    await ok(send('DELETE', secretUrl(name, 'a')));
    const entries = await auditOf(service, `vault=${name}`);
    const actions = entries.filter(({ decision }) => decision === 'allow').map(({ action }) => action);
    for (const action of ['secrets:create', 'secrets:update', 'secrets:rotate', 'secrets:rollback', 'vault_updated']) {
      assert.ok(actions.includes(action), action);
    }
    const text = JSON.stringify(entries);
    assert.doesNotMatch(text, /mark[-_]|changed|restored_from|metadata|zk:v1|do-not-let/);
    for (const { actor, timestamp, action } of entries) assert.ok(actor.id !== '' && timestamp !== '' && action !== '');
    const ordinary = await auditOf(service, `vault=${plain}&action=vault_updated`);
    assert.ok(
      ordinary.some(({ details }) => details?.changed !== undefined),
      'ordinary vaults do say',
    );
  });

  test('a cluster is told that a value is withheld', async () => {
    const cluster = await addCluster(service);
    const { id: environment_id } = await ok(send('POST', '/environments', { name: uniqueName('environment') }), 201);
    await ok(addClusterPolicy(service, cluster, { environment_id }), 201);
    await ok(send('POST', `/environments/${environment_id}/secrets`, { secret_id: secretId, key_name: 'KEY' }), 201);
    const { body, text } = await sync(service, cluster);
    assert.deepEqual([body.secrets, body.withheld[0].reason], [[], 'zero_knowledge']);
    const envelope = await readValue(service, vault, 'db/main');
    for (const form of [envelope, Buffer.from(envelope).toString('base64')]) assert.ok(!text.includes(form));
  });
});
