import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { CONTEXT, conforms, errorOf, problemOf } from '../../../../test/support/provider-conformance.ts';
import { GONE, SILENT, StandIn, type StandInAnswer } from '../../../../test/support/stand-in.ts';
import { failed, JWT, ROLE, TRANSIT_SECRET, TransitStandIn } from '../../../../test/support/transit-stand-in.ts';
import { until } from '../../../../test/support/until.ts';
import type { SealProblem, SealProvider } from './provider.ts';
import { splitReference } from './reference.ts';
import { openTransit } from './transit.ts';

const NAME = 'https://vault.example.com:8200/transit/coffer';
const TOKEN_ENV = { VAULT_TOKEN: TRANSIT_SECRET };

conforms('transit', async () => {
  const vault = await new StandIn(new TransitStandIn().answer).start();
  const gone = await new StandIn(() => GONE).start();
  const env = { VAULT_ROLE_ID: ROLE.role_id, VAULT_SECRET_ID: ROLE.secret_id };
  const open = (standIn: StandIn) => openTransit(splitReference(`transit:${NAME}`), standIn.surroundings(env));
  return {
    provider: open(vault),
    unreachable: open(gone),
    secrets: [ROLE.secret_id, 'hvs.'],
    close: async () => {
      await vault.close();
      await gone.close();
    },
  };
});

describe('transit', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-transit-'));
  const plaintext = randomBytes(32);
  let vault = new TransitStandIn();
  const standIn = new StandIn((request) => vault.answer(request));
  const started = standIn.start();
  const providers: SealProvider[] = [];
  const open = (name = NAME, env: Record<string, string> = TOKEN_ENV) => {
    const provider = openTransit(splitReference(`transit:${name}`), standIn.surroundings(env));
    providers.push(provider);
    return provider;
  };

  after(async () => {
    for (const provider of providers) await provider.close();
    await standIn.close();
    rmSync(folder, { recursive: true });
  });
  beforeEach(async () => {
    await started;
    vault = new TransitStandIn();
    standIn.instead = null;
    standIn.requests.length = 0;
  });
  const pathsOf = () => standIn.requests.map(({ url }) => url.pathname);

  test('encrypts and decrypts at the mount, the namespace and the prefix of the reference', async () => {
    vault.mount = '/vault/v1/team/transit';
    const provider = open('//vault.example.com/team/transit/coffer?namespace=a/b&prefix=vault');
    assert.deepEqual(await provider.open(await provider.seal(plaintext, CONTEXT), CONTEXT), plaintext);
    const [, encrypt] = standIn.requests;
    assert.equal(encrypt?.url.href, 'http://vault.example.com/vault/v1/team/transit/encrypt/coffer');
    assert.equal(encrypt?.headers['x-vault-namespace'], 'a/b');
    assert.equal(encrypt?.headers['x-vault-token'], TRANSIT_SECRET);
    assert.deepEqual(Object.keys(JSON.parse(String(encrypt?.body))), ['plaintext']);
    assert.ok(!encrypt?.body.includes(plaintext.toString('base64')));
  });

  test('a key that was rotated opens, and no longer once its first version is disallowed', async () => {
    const provider = open();
    const sealed = await provider.seal(plaintext, CONTEXT);
    vault.keys.push(randomBytes(32));
    assert.deepEqual(await provider.open(sealed, CONTEXT), plaintext);
    vault.minVersion = 2;
    const error = await errorOf(provider.open(sealed, CONTEXT));
    assert.equal(error.problem, 'disabled');
    assert.match(error.message, /min_decryption_version/);
    const again = await provider.seal(plaintext, CONTEXT);
    assert.deepEqual(await provider.open(again, CONTEXT), plaintext);
  });

  test('each error has its meaning, and a message that says what to do', async () => {
    const provider = open();
    const sealed = await provider.seal(plaintext, CONTEXT);
    const expected: [StandInAnswer, SealProblem, RegExp][] = [
      [failed(400, 'encryption key not found'), 'deleted', /backup there/],
      [failed(400, 'invalid ciphertext: unable to decrypt'), 'wrong', /backup/],
      [
        failed(400, "missing 'context' for key derivation; the key was created using a derived key"),
        'misconfigured',
        /derived/,
      ],
      [failed(400, 'something else'), 'misconfigured', /status 400/],
      [failed(403, 'permission denied'), 'denied', /"update"/],
      [failed(404, 'no handler for route'), 'misconfigured', /mount/],
      [failed(412, 'required index state not present'), 'unreachable', /next attempt/],
      [failed(429, 'rate limit'), 'unreachable', /next attempt/],
      [failed(500, 'internal error: message authentication failed'), 'unreachable', /next attempt/],
      [failed(503, 'Vault is sealed'), 'unreachable', /Unseal it/],
    ];
    for (const [answer, problem, message] of expected) {
      standIn.instead = () => answer;
      const error = await errorOf(provider.open(sealed, CONTEXT));
      assert.equal(error.problem, problem, JSON.stringify(answer));
      assert.match(error.message, message);
      assert.ok(!error.message.includes(TRANSIT_SECRET));
    }
  });

  test('answers that are not those of the engine open and seal nothing', async () => {
    const provider = open();
    const sealed = await provider.seal(plaintext, CONTEXT);
    const other = await provider.seal(plaintext, CONTEXT);
    const encrypted = (ciphertext: unknown) => ({ body: { data: { ciphertext } } });
    for (const answer of [
      encrypted('vault:v1:'),
      encrypted(`vault:v0:${'A'.repeat(40)}`),
      encrypted(`eaas:v1:${'A'.repeat(40)}`),
      encrypted(`vault:v1:${'A'.repeat(3000)}`),
      encrypted(7),
      { body: { data: null } },
      { body: 'null' },
      { body: '<html>' },
    ]) {
      standIn.instead = () => answer;
      assert.equal(await problemOf(provider.seal(plaintext, CONTEXT)), 'unreachable', JSON.stringify(answer));
    }
    let recorded: StandInAnswer = {};
    standIn.instead = (request) => {
      recorded = vault.answer(request);
      return recorded;
    };
    await provider.open(sealed, CONTEXT);
    standIn.instead = () => recorded;
    assert.equal(await problemOf(provider.open(other, CONTEXT)), 'wrong');
    standIn.instead = () => ({ body: { data: { plaintext: randomBytes(32).toString('base64') } } });
    assert.equal(await problemOf(provider.open(sealed, CONTEXT)), 'wrong');
    standIn.instead = () => ({ body: { data: { plaintext: '' } } });
    assert.equal(await problemOf(provider.open(sealed, CONTEXT)), 'unreachable');
  });

  test('an engine that never answers is given up', async () => {
    standIn.instead = () => SILENT;
    const surroundings = { ...standIn.surroundings(TOKEN_ENV), timeoutMs: 100 };
    const startedAt = performance.now();
    const provider = openTransit(splitReference(`transit:${NAME}`), surroundings);
    assert.equal(await problemOf(provider.seal(plaintext, CONTEXT)), 'unreachable');
    assert.ok(performance.now() - startedAt < 10_000);
  });

  test('a token that is given is renewed while the service runs', async () => {
    vault.leaseSeconds = 1;
    const provider = open();
    await provider.seal(plaintext, CONTEXT);
    await until('the token is renewed', () => vault.renewals >= 3);
    await provider.close();
    const { renewals } = vault;
    await provider.seal(plaintext, CONTEXT);
    assert.ok(vault.renewals <= renewals + 1);
  });

  test('a token that cannot be renewed is used as it is', async () => {
    vault.isRenewable = false;
    const provider = open();
    assert.deepEqual(await provider.open(await provider.seal(plaintext, CONTEXT), CONTEXT), plaintext);
    assert.equal(vault.renewals, 1);
  });

  test('the file of a token is read again when the token is refused', async () => {
    const file = join(folder, 'token');
    writeFileSync(file, `${TRANSIT_SECRET}\n`);
    const provider = open(NAME, { VAULT_TOKEN_FILE: file });
    const sealed = await provider.seal(plaintext, CONTEXT);
    vault.tokens.clear();
    assert.equal(await problemOf(provider.open(sealed, CONTEXT)), 'denied');
    vault.tokens.add('hvs.another');
    writeFileSync(file, 'hvs.another');
    assert.deepEqual(await provider.open(sealed, CONTEXT), plaintext);
    writeFileSync(file, 'two words');
    vault.tokens.clear();
    assert.equal(await problemOf(provider.open(sealed, CONTEXT)), 'misconfigured');
  });

  test('AppRole logs in once, again when its token ends, and says when it is refused', async () => {
    const file = join(folder, 'secret-id');
    writeFileSync(file, ROLE.secret_id);
    let now = Date.UTC(2026, 10, 20);
    const env = { VAULT_ROLE_ID: ROLE.role_id, VAULT_SECRET_ID_FILE: file };
    const surroundings = { ...standIn.surroundings(env), clock: { now: () => now } };
    const provider = openTransit(splitReference(`transit:${NAME}`), surroundings);
    const logins = () => pathsOf().filter((path) => path === '/v1/auth/approle/login').length;
    const sealed = await provider.seal(plaintext, CONTEXT);
    await provider.open(sealed, CONTEXT);
    assert.equal(logins(), 1);
    now += 41 * 60_000;
    await provider.open(sealed, CONTEXT);
    assert.equal(logins(), 2);
    vault.tokens.clear();
    await provider.open(sealed, CONTEXT);
    assert.equal(logins(), 3);
    writeFileSync(file, 'another');
    vault.tokens.clear();
    const error = await errorOf(provider.open(sealed, CONTEXT));
    assert.deepEqual([error.problem, /VAULT_ROLE_ID/.test(error.message)], ['denied', true]);
  });

  test('Kubernetes logs in with the token of the service account', async () => {
    const file = join(folder, 'jwt');
    writeFileSync(file, JWT);
    const env = { VAULT_KUBERNETES_ROLE: 'coffer', VAULT_KUBERNETES_TOKEN_FILE: file };
    const sealed = await open(NAME, env).seal(plaintext, CONTEXT);
    assert.deepEqual(await open(NAME, env).open(sealed, CONTEXT), plaintext);
    const refused = open(NAME, { ...env, VAULT_KUBERNETES_ROLE: 'other' });
    assert.equal(await problemOf(refused.open(sealed, CONTEXT)), 'denied');
  });

  test('one credential is needed, and files are not read for a tenant', async () => {
    for (const env of [{}, { ...TOKEN_ENV, VAULT_ROLE_ID: 'a' }, { VAULT_ROLE_ID: 'a', VAULT_KUBERNETES_ROLE: 'b' }])
      assert.throws(() => open(NAME, env as Record<string, string>), { problem: 'misconfigured' });
    const cases = [
      { VAULT_ROLE_ID: 'a' },
      { VAULT_ROLE_ID: 'a', VAULT_SECRET_ID: 'b', VAULT_SECRET_ID_FILE: 'c' },
      { ...TOKEN_ENV, VAULT_TOKEN_FILE: 'd' },
      { ...TOKEN_ENV, VAULT_CACERT: join(folder, 'none') },
    ];
    for (const env of cases)
      assert.equal(
        await problemOf(open(NAME, env as Record<string, string>).seal(plaintext, CONTEXT)),
        'misconfigured',
      );
    const file = join(folder, 'token');
    writeFileSync(file, TRANSIT_SECRET);
    const tenants = { ...standIn.surroundings({ VAULT_TOKEN_FILE: file }), machine: null };
    const provider = openTransit(splitReference(`transit:${NAME}`), tenants);
    assert.equal(await problemOf(provider.seal(plaintext, CONTEXT)), 'misconfigured');
  });

  test('another spelling of a reference, and an unknown option, are refused', () => {
    for (const name of [
      '',
      'http://vault.example.com/transit/coffer',
      'https://vault.example.com/coffer',
      'https://vault.example.com//transit/coffer',
      'https://vault.example.com/transit/coffer/',
      'https://vault.example.com/transit/../coffer',
      'https://vault.example.com/./transit/coffer',
      'https://vault.example.com/tran%73it/coffer',
      'https://Vault.example.com/transit/coffer',
      'https://vault.example.com:443/transit/coffer',
      'https://vault.example.com:99999/transit/coffer',
      'https://0x7f.1/transit/coffer',
      'https://user:password@vault.example.com/transit/coffer',
      'https:vault.example.com/transit/coffer',
      `${NAME}?namespace=/a`,
      `${NAME}?prefix=../a`,
      `${NAME}?prefix=a&namespace=b`,
      `${NAME}?token=a`,
      `${NAME}#`,
    ])
      assert.throws(() => open(name), { name: 'SealError', problem: 'misconfigured' }, name);
  });
});
