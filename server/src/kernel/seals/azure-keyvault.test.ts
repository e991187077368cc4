import assert from 'node:assert/strict';
import { constants, generateKeyPairSync, privateDecrypt, publicEncrypt, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { CONTEXT, conforms, errorOf, problemOf } from '../../../../test/support/provider-conformance.ts';
import { GONE, SILENT, StandIn, type StandInAnswer, type StandInRequest } from '../../../../test/support/stand-in.ts';
import { openAzureKeyVault } from './azure-keyvault.ts';
import type { SealProblem } from './provider.ts';
import { splitReference } from './reference.ts';

const TOKEN = 'eyJ0.the-token';
const BASE = 'https://coffer-seals.vault.azure.net/keys/root/';
const SECRET = 'the-client-secret';
const padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' };

/** The documented calls of Azure Key Vault and of a managed identity, with versions of one key. */
function azure() {
  const make = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
  const versions = new Map([['1'.repeat(32), make()]]);
  const answer = ({ url, headers, body }: StandInRequest): StandInAnswer => {
    if (url.host === '169.254.169.254') {
      const isRight = headers['metadata'] === 'true' && url.searchParams.get('resource') === 'https://vault.azure.net';
      return isRight ? { body: { access_token: TOKEN, expires_in: '86399', token_type: 'Bearer' } } : { status: 400 };
    }
    if (headers.authorization !== `Bearer ${TOKEN}`) return refusal(401, 'Unauthorized');
    const [, version, action] = /^\/keys\/root\/([0-9a-f]{32})?\/(wrapkey|unwrapkey)$/.exec(url.pathname) ?? [];
    const used = version ?? [...versions.keys()].at(-1) ?? '';
    const pair = versions.get(used);
    if (action === undefined || pair === undefined) return refusal(404, 'KeyNotFound');
    const { alg, value } = JSON.parse(body);
    if (alg !== 'RSA-OAEP-256' || url.search !== '?api-version=7.4') return refusal(400, 'BadParameter');
    const bytes = Buffer.from(value, 'base64url');
    try {
      const result =
        action === 'wrapkey'
          ? publicEncrypt({ key: pair.publicKey, ...padding }, bytes)
          : privateDecrypt({ key: pair.privateKey, ...padding }, bytes);
      return { body: { kid: `${BASE}${used}`, value: result.toString('base64url') } };
    } catch {
      return refusal(400, 'BadParameter');
    }
  };
  return { answer, rotate: () => versions.set('2'.repeat(32), make()), versions };
}

function refusal(status: number, code: string, inner?: string): StandInAnswer {
  return { status, body: { error: { code, message: TOKEN, ...(inner && { innererror: { code: inner } }) } } };
}

const open = (standIn: StandIn, env: Record<string, string> = {}, name = '//coffer-seals/root') =>
  openAzureKeyVault(splitReference(`azure-keyvault:${name}`), standIn.surroundings(env));

conforms('azure-keyvault', async () => {
  const [vault, gone] = [await new StandIn(azure().answer).start(), await new StandIn(() => GONE).start()];
  const close = async () => {
    await vault.close();
    await gone.close();
  };
  return { provider: open(vault), unreachable: open(gone), secrets: [TOKEN], close };
});

describe('Azure Key Vault', () => {
  let vault = azure();
  const standIn = new StandIn((request) => vault.answer(request));
  const folder = mkdtempSync(join(tmpdir(), 'coffer-azure-'));
  const plaintext = randomBytes(32);
  before(() => standIn.start());
  after(async () => {
    await standIn.close();
    rmSync(folder, { recursive: true });
  });
  beforeEach(() => {
    standIn.instead = null;
    standIn.requests.length = 0;
    vault = azure();
  });

  test('opens with the version that sealed, also after a rotation, and not after it is gone', async () => {
    const provider = open(standIn);
    const old = await provider.seal(plaintext, CONTEXT);
    vault.rotate();
    const sealed = await provider.seal(plaintext, CONTEXT);
    assert.ok(sealed.includes(`${BASE}${'2'.repeat(32)}\n`));
    for (const one of [old, sealed]) assert.deepEqual(await provider.open(one, CONTEXT), plaintext);
    const pinned = await open(standIn, {}, `//coffer-seals/root/${'1'.repeat(32)}`).seal(plaintext, CONTEXT);
    assert.ok(pinned.includes(`${BASE}${'1'.repeat(32)}\n`));
    vault.versions.delete('1'.repeat(32));
    assert.equal(await problemOf(provider.open(old, CONTEXT)), 'deleted');
    assert.equal(await problemOf(open(standIn, {}, '//coffer-seals/other').open(sealed, CONTEXT)), 'wrong');
  });

  test('each error has its meaning, and a message that says what to do', async () => {
    const provider = open(standIn);
    const sealed = await provider.seal(plaintext, CONTEXT);
    const expected: [StandInAnswer, SealProblem, RegExp][] = [
      [refusal(403, 'Forbidden', 'KeyDisabled'), 'disabled', /Enable it/],
      [refusal(403, 'Forbidden', 'ForbiddenByFirewall'), 'denied', /network rules/],
      [refusal(403, 'Forbidden', 'ForbiddenByRbac'), 'denied', /unwrapKey/],
      [refusal(401, 'Unauthorized'), 'denied', /401/],
      [refusal(404, 'KeyNotFound'), 'deleted', /Recover it/],
      [refusal(409, 'Conflict', 'ObjectIsDeletedButRecoverable'), 'deleted', /Recover it/],
      [refusal(400, 'BadParameter'), 'wrong', /backup/],
      [refusal(429, 'Throttled'), 'unreachable', /next attempt/],
      [refusal(503, 'ServiceUnavailable'), 'unreachable', /next attempt/],
    ];
    for (const [answer, problem, message] of expected) {
      standIn.instead = (request) => (request.url.pathname.startsWith('/keys/') ? answer : vault.answer(request));
      const error = await errorOf(provider.open(sealed, CONTEXT));
      assert.equal(error.problem, problem, JSON.stringify(answer));
      assert.match(error.message, message);
      assert.ok(!error.message.includes(TOKEN));
    }
    standIn.instead = () => refusal(400, 'BadParameter');
    assert.equal(await problemOf(provider.seal(plaintext, CONTEXT)), 'misconfigured');
  });

  test('answers that are not those of the vault open and seal nothing', async () => {
    const provider = open(standIn);
    const sealed = await provider.seal(plaintext, CONTEXT);
    const other = await provider.seal(plaintext, CONTEXT);
    const kid = `${BASE}${'1'.repeat(32)}`;
    const value = randomBytes(32).toString('base64url');
    for (const [body, problem] of [
      [{ kid, value }, 'wrong'],
      [{ kid: `${BASE}${'2'.repeat(32)}`, value }, 'wrong'],
      [{ kid: kid.replace('coffer-seals', 'other'), value }, 'wrong'],
      [{ kid, value: 'not base64url!' }, 'unreachable'],
      [{ value }, 'unreachable'],
      ['<html>', 'unreachable'],
    ] as const) {
      standIn.instead = () => ({ body });
      assert.equal(await problemOf(provider.open(sealed, CONTEXT)), problem, JSON.stringify(body));
    }
    standIn.instead = () => ({ body: { kid, value } });
    assert.equal(await problemOf(provider.seal(plaintext, CONTEXT)), 'unreachable');
    let recorded: StandInAnswer = {};
    standIn.instead = (request) => {
      recorded = vault.answer(request);
      return recorded;
    };
    await provider.open(sealed, CONTEXT);
    standIn.instead = () => recorded;
    assert.equal(await problemOf(provider.open(other, CONTEXT)), 'wrong', 'a replayed answer');
    standIn.instead = () => SILENT;
    const surroundings = { ...standIn.surroundings(), timeoutMs: 50 };
    const quick = openAzureKeyVault(splitReference('azure-keyvault://coffer-seals/root'), surroundings);
    assert.equal(await problemOf(quick.open(sealed, CONTEXT)), 'unreachable');
  });

  test('an application signs in with its secret or the token of its workload', async () => {
    const [secretFile, tokenFile] = [join(folder, 'secret'), join(folder, 'token')];
    writeFileSync(secretFile, `${SECRET}\n`);
    writeFileSync(tokenFile, 'the.workload.token');
    const ids = { AZURE_TENANT_ID: '0a1b', AZURE_CLIENT_ID: '2c3d' };
    standIn.instead = (request) => {
      if (request.url.pathname.startsWith('/keys/')) return vault.answer(request);
      assert.equal(request.url.href, 'http://login.microsoftonline.com/0a1b/oauth2/v2.0/token');
      const form = new URLSearchParams(request.body);
      assert.equal(form.get('scope'), 'https://vault.azure.net/.default');
      const isProven = form.get('client_secret') === SECRET || form.get('client_assertion') === 'the.workload.token';
      return isProven ? { body: { access_token: TOKEN, expires_in: 3599 } } : { status: 401, body: {} };
    };
    for (const proof of [
      { AZURE_CLIENT_SECRET: SECRET },
      { AZURE_CLIENT_SECRET_FILE: secretFile },
      { AZURE_FEDERATED_TOKEN_FILE: tokenFile },
    ]) {
      const provider = open(standIn, { ...ids, ...proof } as Record<string, string>);
      assert.deepEqual(await provider.open(await provider.seal(plaintext, CONTEXT), CONTEXT), plaintext);
    }
    const wrong = open(standIn, { ...ids, AZURE_CLIENT_SECRET: 'another-secret' });
    const error = await errorOf(wrong.seal(plaintext, CONTEXT));
    assert.equal(error.problem, 'denied');
    assert.ok(!error.message.includes('another-secret'));
    assert.equal(
      await problemOf(open(standIn, { AZURE_CLIENT_SECRET: SECRET }).seal(plaintext, CONTEXT)),
      'misconfigured',
    );
    const both = { AZURE_CLIENT_SECRET: SECRET, AZURE_FEDERATED_TOKEN_FILE: tokenFile };
    assert.throws(() => open(standIn, both), { problem: 'misconfigured' });
    const tenants = { ...standIn.surroundings(), machine: null };
    const theirs = openAzureKeyVault(splitReference('azure-keyvault://coffer-seals/root'), tenants);
    assert.equal(await problemOf(theirs.seal(plaintext, CONTEXT)), 'misconfigured');
  });

  test('another spelling of a reference, and an unknown option, are refused', () => {
    for (const name of [
      'coffer-seals/root',
      '//Coffer-seals/root',
      '//coffer-seals/root/',
      '//coffer-seals/root/0',
      '//coffer-seals.evil.com/root',
      '//coffer-seals/a/../root',
      '//coffer-seals/root?domain=vault.azure.net',
      '//coffer-seals/root?domain=evil.com',
      '//coffer-seals/root?a=b',
    ])
      assert.throws(() => open(standIn, {}, name), { problem: 'misconfigured' }, name);
  });
});
