import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { invalid, ok, refused, uniqueName } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { addSecret, addVault, auditOf, readValue, secretUrl } from '../support/vaults.ts';

/** What a client would have made: to the service it is only a form. */
function envelope(bytes = 20): string {
  const part = (size: number) => randomBytes(size).toString('base64url');
  return `zk:v1:aes-256-gcm:argon2id:${part(16)}:${part(12)}:${part(bytes)}:${part(16)}`;
}

onBothDatabases('zero-knowledge vaults', (database) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service, { is_zero_knowledge: true });
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object) =>
    service.call(method, path, body === undefined ? {} : { body });
  const create = (body: object) => send('POST', `/v1/vaults/${vault}/secrets`, { path: uniqueName('s'), ...body });
  const make = async (more = {}) => {
    const path = uniqueName('s');
    const value = envelope();
    await addSecret(service, vault, path, { value, ...more });
    return { path, value };
  };

  test('take envelopes and give them back as they are, whatever the type', async () => {
    for (const type of ['generic', 'password', 'json', 'database', 'ssh_key']) {
      const { path, value } = await make({ type });
      assert.equal(await readValue(service, vault, path), value);
    }
    const { path } = await make();
    const next = envelope(100_000);
    await ok(send('PUT', secretUrl(vault, path), { value: next }));
    assert.ok((await readValue(service, vault, path)) === next);
  });

  test('take nothing else: plaintext never gets in', async () => {
    const good = envelope();
    const wrong = [
      'plaintext',
      '',
      good.replace('zk:v1', 'zk:v2'),
      good.replace('aes-256-gcm', 'aes-128-gcm'),
      good.replace('argon2id', 'none'),
      `${good}=`,
      `${good}:x`,
      ` ${good}`,
      good.replace(/:[^:]*$/, ':AAAA'),
    ];
    const { path, value } = await make();
    for (const bad of wrong) {
      await invalid(create({ value: bad }), '/body/value');
      await invalid(send('PUT', secretUrl(vault, path), { value: bad }), '/body/value');
      await invalid(send('POST', secretUrl(vault, path, 'rotate'), { value: bad }), '/body/value');
      const imported = send('POST', `/v1/vaults/${vault}/import`, { secrets: { x: bad } });
      await (bad.startsWith('zk:')
        ? invalid(imported, '/body/secrets/x')
        : refused(imported, 409, 'ZkBoundaryViolation'));
    }
    assert.equal(await readValue(service, vault, path), value);
  });

  test('refuse what needs plaintext', async () => {
    const { path } = await make({ type: 'password' });
    const code = 'ZkBoundaryViolation';
    await refused(create({ type: 'password' }), 409, code);
    await refused(create({ type: 'password', generator: {} }), 409, code);
    await refused(create({ value: envelope(), type: 'password', rotation: { interval_days: 1 } }), 409, code);
    await refused(send('PUT', secretUrl(vault, path), { rotation: { interval_days: 1 } }), 409, code);
    await refused(send('POST', secretUrl(vault, path, 'rotate')), 409, code);
    await refused(send('POST', secretUrl(vault, path, 'rotate'), { generator: {} }), 409, code);
    await refused(send('POST', `/v1/vaults/${vault}/search`, { query: 'abc' }), 409, code);
    await refused(send('POST', `/v1/vaults/${vault}/tokenize`, { value: 'x' }), 409, code);
  });

  test('rotate and roll back with what the client made', async () => {
    const { path, value } = await make();
    const next = envelope();
    assert.equal((await ok(send('POST', secretUrl(vault, path, 'rotate'), { value: next }))).status, 'completed');
    assert.equal(await readValue(service, vault, path), next);
    await ok(send('POST', secretUrl(vault, path, 'rollback'), { to_version: 1 }));
    assert.equal(await readValue(service, vault, path), value);
    const { secrets } = await ok(send('GET', `/v1/vaults/${vault}/aggregate?prefix=${path}`));
    assert.equal(secrets[0].value, value);
  });

  test('record who, when and which operation, never what changed', async () => {
    const { path } = await make();
    await ok(send('PUT', secretUrl(vault, path), { metadata: { owner: 'x' }, value: envelope() }));
    const [entry] = await auditOf(service, `resource=vault/${vault}/${path}&action=secrets:update`);
    assert.deepEqual(Object.keys(entry.details).sort(), ['secret', 'version']);
  });
});
