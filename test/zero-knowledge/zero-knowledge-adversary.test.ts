import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import {
  openZeroKnowledge,
  resealVault,
  sealZeroKnowledge,
  ZeroKnowledgeClient,
  ZeroKnowledgeError,
  ZeroKnowledgeVersionError,
} from '../../client/src/zero-knowledge-index.ts';
import { addPerson, invalid, ok, refused, uniqueName } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { addPolicy, addSecret, addVault, auditOf, pathsIn, secretUrl } from '../support/vaults.ts';

/** The operator of the service is the adversary here: every response may be another one than the requested one. */

const SECRET = { key: new Uint8Array(randomBytes(32)) };
/** As the releases up to 0.4 sealed with the key of the published vectors: bound to nothing. */
const UNBOUND = {
  secret: { key: Buffer.from('f51093ed1a0f8b9a75dad477052ee01b38e180094cbe8c51679d4d01108293e3', 'hex') },
  value: 's3cr3t',
  envelope:
    'zk:v1:aes-256-gcm:hkdf-sha256:A4YR0lS5a0u9FkOUf_2bukSGJWKrBI8jx8_LwSsFAbE:DVwJz9NxJ9Iwolv1:AqHw_7Sh:YVbQJRxUbhZgT2N5DOQnHg',
};

onBothDatabases('a service that lies to zero-knowledge clients', (database) => {
  let service: Service;
  let vault: string;
  let client: ZeroKnowledgeClient;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service, { is_zero_knowledge: true });
    client = new ZeroKnowledgeClient(SECRET);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object, token = service.adminToken) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const read = (name: string, path: string, query = '') => ok(send('GET', `${secretUrl(name, path)}${query}`));
  const add = async (value: string, name = vault) => {
    const path = uniqueName('s');
    await addSecret(service, name, path, { value: await client.seal(value, { vault: name, path, version: 1 }) });
    return path;
  };
  const put = async (path: string, value: string, version: number) => {
    const sealed = await client.seal(value, { vault, path, version });
    await ok(send('PUT', secretUrl(vault, path), { value: sealed, expected_version: version - 1 }));
  };
  const opened = async (path: string, name = vault) =>
    (await client.open(await read(name, path), { vault: name, path })).value;

  test('cannot answer one path with the envelope of another', async () => {
    const [production, development] = [await add('prod-password'), await add('dev-password-known-to-the-attacker')];
    const swapped = await read(vault, development);
    await assert.rejects(client.open(swapped, { vault, path: production }), ZeroKnowledgeError);
    assert.equal(await opened(production), 'prod-password');
    const place = { vault, path: development };
    const unversioned = await sealZeroKnowledge('known', SECRET, place);
    assert.equal(await openZeroKnowledge(unversioned, SECRET, place), 'known');
    await assert.rejects(openZeroKnowledge(unversioned, SECRET, { vault, path: production }), ZeroKnowledgeError);
  });

  test('cannot answer with the envelope of the same path in another vault', async () => {
    const [path, other] = [await add('of this vault'), await addVault(service, { is_zero_knowledge: true })];
    const value = await client.seal('of the other', { vault: other, path, version: 1 });
    await addSecret(service, other, path, { value });
    await assert.rejects(client.open(await read(other, path), { vault, path }), ZeroKnowledgeError);
    assert.deepEqual([await opened(path), await opened(path, other)], ['of this vault', 'of the other']);
  });

  test('cannot answer with an older version, whatever number it gives it', async () => {
    const path = await add('leaked');
    await put(path, 'replaced', 2);
    assert.equal(await opened(path), 'replaced');
    const old = await read(vault, path, '?version=1');
    for (const version of [1, 2, 3]) {
      await assert.rejects(client.open({ ...old, version }, { vault, path }), ZeroKnowledgeVersionError);
    }
  });

  test('cannot roll a secret back unseen, and a client that seals the older value again can', async () => {
    const path = await add('one');
    await put(path, 'two', 2);
    assert.equal(await opened(path), 'two');
    await ok(send('POST', secretUrl(vault, path, 'rollback'), { to_version: 1 }));
    await assert.rejects(opened(path), ZeroKnowledgeVersionError);
    const { value } = await read(vault, path, '?version=1');
    await put(path, await openZeroKnowledge(value, SECRET, { vault, path, version: 1 }), 4);
    assert.equal(await opened(path), 'one');
  });

  test('a change of metadata leaves the value open', async () => {
    const path = await add('x');
    for (const owner of ['a', 'b']) await ok(send('PUT', secretUrl(vault, path), { metadata: { owner } }));
    const served = await read(vault, path);
    assert.equal(served.version, 3);
    assert.deepEqual(await client.open(served, { vault, path }), { value: 'x', sealedVersion: 1 });
  });

  test('a secret moves and is copied with what was sealed for its new path', async () => {
    const to = await addVault(service, { is_zero_knowledge: true });
    const path = await add('x');
    await ok(send('PUT', secretUrl(vault, path), { metadata: { tags: ['t'] } }));
    const copy = { vault: to, path: 'copied', version: 1 };
    const copied = await client.reseal(await read(vault, path), { vault, path }, copy);
    const body = { to_vault: to, to_path: 'copied', value: copied };
    assert.equal((await ok(send('POST', secretUrl(vault, path, 'copy'), body), 201)).version, 1);
    assert.equal(await opened('copied', to), 'x');
    const served = await read(vault, path);
    const value = await client.reseal(
      served,
      { vault, path },
      { vault: to, path: 'moved', version: served.version + 1 },
    );
    const moved = await ok(send('POST', secretUrl(vault, path, 'move'), { to_vault: to, to_path: 'moved', value }));
    assert.deepEqual([moved.version, moved.path, moved.vault], [3, 'moved', to]);
    assert.equal(await opened('moved', to), 'x');
    assert.deepEqual(await pathsIn(service, to, 'tags=t'), ['copied', 'moved']);
    const { versions } = await ok(send('GET', secretUrl(to, 'moved', 'versions')));
    assert.deepEqual([versions[0].operation, versions[0].reason], ['update', `moved from vault/${vault}/${path}`]);
    const before = await read(to, 'moved', '?version=1');
    assert.equal(await openZeroKnowledge(before.value, SECRET, { vault, path, version: 1 }), 'x', 'its history');
    await refused(send('GET', secretUrl(vault, path)), 404, 'SECRET_NOT_FOUND');
  });

  test('a large envelope moves too', async () => {
    const path = await add('v'.repeat(700_000));
    const to = { vault, path: uniqueName('s'), version: 2 };
    const value = await client.reseal(await read(vault, path), { vault, path }, to);
    await ok(send('POST', secretUrl(vault, path, 'move'), { to_path: to.path, value }));
    assert.equal((await opened(to.path)).length, 700_000);
  });

  test('a move without a new envelope, with another value, or behind the newest version changes nothing', async () => {
    const path = await add('x');
    const value = await client.seal('y', { vault, path: 'new', version: 2 });
    const go = (verb: string, more: object, headers = {}) =>
      service.call('POST', secretUrl(vault, path, verb), { body: { to_path: 'new', ...more }, headers });
    for (const verb of ['move', 'copy']) {
      await refused(go(verb, {}), 409, 'ZkBoundaryViolation');
      for (const bad of ['plain', '', `${value}=`]) await invalid(go(verb, { value: bad }), '/body/value');
    }
    await refused(go('move', { value }, { 'if-match': '"v9"' }), 409, 'VERSION_CONFLICT');
    const ordinary = await addVault(service);
    await addSecret(service, ordinary, 'a', { value: 'plain' });
    for (const verb of ['move', 'copy']) {
      await invalid(send('POST', secretUrl(ordinary, 'a', verb), { to_path: 'b', value: 'z' }), '/body/value');
    }
    assert.deepEqual(await pathsIn(service, ordinary), ['a']);
    assert.equal(await opened(path), 'x');
    await refused(send('GET', secretUrl(vault, 'new')), 404, 'SECRET_NOT_FOUND');
  });

  test('a caller without permission to create there moves nothing there, whatever was sealed', async () => {
    const path = await add('x');
    const person = await addPerson(service);
    await addPolicy(service, { user: person.id }, [
      { action: ['secrets:move', 'secrets:copy'], resource: [`vault/${vault}/**`] },
    ]);
    const value = await client.seal('y', { vault, path: 'there', version: 2 });
    for (const body of [{ to_path: 'there', value }, { to_path: 'there' }, { to_path: 'there', value: 'plain' }]) {
      for (const verb of ['move', 'copy']) {
        const sending = send('POST', secretUrl(vault, path, verb), body, person.token);
        await refused(sending, 403, 'INSUFFICIENT_PRIVILEGE');
      }
    }
    assert.equal(await opened(path), 'x');
  });

  test('two moves at once: one of them wins, and nothing is lost', async () => {
    const path = await add('x');
    const targets = ['left', 'right'].map((side) => `${path}-${side}`);
    const bodies = await Promise.all(
      targets.map(async (to_path) => ({
        to_path,
        value: await client.seal('x', { vault, path: to_path, version: 2 }),
      })),
    );
    const answers = await Promise.all(bodies.map((body) => send('POST', secretUrl(vault, path, 'move'), body)));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 404]);
    const winner = String(targets[answers.findIndex(({ status }) => status === 200)]);
    assert.equal(await opened(winner), 'x');
  });

  test('a whole vault is sealed again, old envelopes only if that is said', async () => {
    const name = await addVault(service, { is_zero_knowledge: true });
    const { secret, envelope, value } = UNBOUND;
    for (const path of ['a', 'b/c']) await addSecret(service, name, path, { value: envelope });
    await ok(send('PUT', secretUrl(name, 'b/c'), { metadata: { owner: 'x' } }));
    const own = new ZeroKnowledgeClient(secret);
    await addSecret(service, name, 'new', { value: await own.seal('new', { vault: name, path: 'new', version: 1 }) });
    await assert.rejects(own.open(await read(name, 'a'), { vault: name, path: 'a' }), ZeroKnowledgeError);
    const paths = await pathsIn(service, name);
    const walk = {
      list: () => paths,
      read: (path: string) => read(name, path),
      write: (path: string, sealed: string, expected_version: number) =>
        ok(send('PUT', secretUrl(name, path), { value: sealed, expected_version })),
    };
    assert.deepEqual(await resealVault(name, secret, walk), {
      resealed: [],
      unchanged: ['new'],
      refused: ['a', 'b/c'],
    });
    const report = await resealVault(name, secret, walk, { acceptUnbound: true });
    assert.deepEqual(report, { resealed: ['a', 'b/c'], unchanged: ['new'], refused: [] });
    for (const path of ['a', 'b/c']) {
      assert.equal((await own.open(await read(name, path), { vault: name, path })).value, value);
    }
    assert.deepEqual((await resealVault(name, secret, walk)).unchanged, ['a', 'b/c', 'new']);
    await assert.rejects(own.open({ value: envelope, version: 9 }, { vault: name, path: 'a' }), ZeroKnowledgeError);
  });

  test('no envelope and no value is in the log of a move', async () => {
    const path = await add('do-not-log-me');
    const to = { vault, path: `${path}-moved`, version: 2 };
    const value = await client.reseal(await read(vault, path), { vault, path }, to);
    await ok(send('POST', secretUrl(vault, path, 'move'), { to_path: to.path, value }));
    const entries = await auditOf(service, `vault=${vault}`);
    assert.ok(entries.some(({ action }) => action === 'secrets:move'));
    assert.doesNotMatch(JSON.stringify(entries), /zk:v1|do-not-log-me/);
  });
});
