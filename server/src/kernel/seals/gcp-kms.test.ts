import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, createVerify, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { CONTEXT, conforms, errorOf, problemOf } from '../../../../test/support/provider-conformance.ts';
import { GONE, SILENT, StandIn, type StandInAnswer, type StandInRequest } from '../../../../test/support/stand-in.ts';
import { crc32c } from './crc32c.ts';
import { openGcpKms } from './gcp-kms.ts';
import type { SealProblem } from './provider.ts';
import { splitReference } from './reference.ts';

const KEY = 'projects/coffer-test/locations/europe-west3/keyRings/seals/cryptoKeys/root';
const TOKEN = 'ya29.the-token';
const sum = (base64: unknown) => String(crc32c(Buffer.from(String(base64), 'base64')));

/** The documented calls of Google Cloud KMS and of the metadata server, with one key. */
function google() {
  const key = randomBytes(32);
  return ({ url, headers, body }: StandInRequest): StandInAnswer => {
    if (url.host === 'metadata.google.internal') {
      if (headers['metadata-flavor'] !== 'Google') return { status: 403 };
      return { body: { access_token: TOKEN, expires_in: 3599, token_type: 'Bearer' } };
    }
    if (headers.authorization !== `Bearer ${TOKEN}`) return refusal(401, 'UNAUTHENTICATED', 'no');
    const members = JSON.parse(body);
    for (const name of ['plaintext', 'ciphertext', 'additionalAuthenticatedData'])
      if (members[name] !== undefined && members[`${name}Crc32c`] !== sum(members[name]))
        return refusal(400, 'INVALID_ARGUMENT', 'The checksum (crc32c) does not match');
    const aad = Buffer.from(members.additionalAuthenticatedData, 'base64');
    if (url.href === `http://cloudkms.googleapis.com/v1/${KEY}:encrypt`) {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(aad);
      const parts = [iv, cipher.update(members.plaintext, 'base64'), cipher.final(), cipher.getAuthTag()];
      const ciphertext = Buffer.concat(parts).toString('base64');
      const verified = { verifiedPlaintextCrc32c: true, verifiedAdditionalAuthenticatedDataCrc32c: true };
      const name = `${KEY}/cryptoKeyVersions/3`;
      return { body: { name, ciphertext, ciphertextCrc32c: sum(ciphertext), ...verified, protectionLevel: 'HSM' } };
    }
    if (url.href !== `http://cloudkms.googleapis.com/v1/${KEY}:decrypt`) return refusal(404, 'NOT_FOUND', 'no');
    const bytes = Buffer.from(members.ciphertext, 'base64');
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAAD(aad);
      decipher.setAuthTag(bytes.subarray(-16));
      const opened = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
      const plaintext = opened.toString('base64');
      return { body: { plaintext, plaintextCrc32c: sum(plaintext), usedPrimary: true, protectionLevel: 'HSM' } };
    } catch {
      return refusal(400, 'INVALID_ARGUMENT', 'Decryption failed: the ciphertext is invalid.');
    }
  };
}

function refusal(code: number, status: string, message: string): StandInAnswer {
  return { status: code, body: { error: { code, status, message: `${message} ${TOKEN}` } } };
}

const open = (standIn: StandIn, env: Record<string, string> = {}) =>
  openGcpKms(splitReference(`gcp-kms://${KEY}`), standIn.surroundings(env));

conforms('gcp-kms', async () => {
  const [kms, gone] = [await new StandIn(google()).start(), await new StandIn(() => GONE).start()];
  const close = async () => {
    await kms.close();
    await gone.close();
  };
  return { provider: open(kms), unreachable: open(gone), secrets: [TOKEN], close };
});

test('CRC32C has the published values', () => {
  // RFC 3720, B.4, and the check value of the catalogue of parametrised CRC algorithms.
  assert.equal(crc32c(Buffer.alloc(32)), 0x8a9136aa);
  assert.equal(crc32c(Buffer.alloc(32, 0xff)), 0x62a8ab43);
  assert.equal(crc32c(Buffer.from(Array.from({ length: 32 }, (_, i) => i))), 0x46dd794e);
  assert.equal(crc32c(Buffer.from(Array.from({ length: 32 }, (_, i) => 31 - i))), 0x113fdb5c);
  assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283);
  assert.equal(crc32c(Buffer.alloc(0)), 0);
});

describe('Google Cloud KMS', () => {
  const answer = google();
  const standIn = new StandIn(answer);
  const folder = mkdtempSync(join(tmpdir(), 'coffer-gcp-'));
  const plaintext = randomBytes(32);
  before(() => standIn.start());
  after(async () => {
    await standIn.close();
    rmSync(folder, { recursive: true });
  });
  beforeEach(() => {
    standIn.instead = null;
    standIn.requests.length = 0;
  });

  test('each error has its meaning, and a message that says what to do', async () => {
    const provider = open(standIn);
    const sealed = await provider.seal(plaintext, CONTEXT);
    const state = 'is not enabled, current state is:';
    const expected: [StandInAnswer, SealProblem, RegExp][] = [
      [refusal(400, 'INVALID_ARGUMENT', 'Decryption failed'), 'wrong', /backup/],
      [refusal(400, 'INVALID_ARGUMENT', 'The crc32c does not match'), 'unreachable', /checksum/],
      [refusal(400, 'FAILED_PRECONDITION', `${state} DISABLED`), 'disabled', /Enable it/],
      [refusal(400, 'FAILED_PRECONDITION', `${state} DESTROY_SCHEDULED`), 'deleted', /Restore it/],
      [refusal(400, 'FAILED_PRECONDITION', `${state} DESTROYED`), 'deleted', /Restore it/],
      [refusal(404, 'NOT_FOUND', 'no'), 'deleted', /key ring/],
      [refusal(403, 'PERMISSION_DENIED', 'no'), 'denied', /cryptoKeyEncrypterDecrypter/],
      [refusal(401, 'UNAUTHENTICATED', 'no'), 'denied', /401/],
      [refusal(429, 'RESOURCE_EXHAUSTED', 'no'), 'unreachable', /next attempt/],
      [refusal(503, 'UNAVAILABLE', 'no'), 'unreachable', /next attempt/],
    ];
    for (const [answered, problem, message] of expected) {
      standIn.instead = (request) => (request.url.host.startsWith('cloudkms') ? answered : answer(request));
      const error = await errorOf(provider.open(sealed, CONTEXT));
      assert.equal(error.problem, problem, JSON.stringify(answered));
      assert.match(error.message, message);
      assert.ok(!error.message.includes(TOKEN));
    }
  });

  test('every checksum and name in a response is checked', async () => {
    const provider = open(standIn);
    const sealed = await provider.seal(plaintext, CONTEXT);
    const changes: ['seal' | 'open', object, SealProblem][] = [
      ['seal', { ciphertextCrc32c: '1' }, 'unreachable'],
      ['seal', { ciphertextCrc32c: undefined }, 'unreachable'],
      ['seal', { verifiedPlaintextCrc32c: false }, 'unreachable'],
      ['seal', { verifiedAdditionalAuthenticatedDataCrc32c: undefined }, 'unreachable'],
      ['seal', { name: `${KEY}2/cryptoKeyVersions/3` }, 'wrong'],
      ['seal', { ciphertext: 'not base64' }, 'unreachable'],
      ['open', { plaintextCrc32c: '1' }, 'unreachable'],
      ['open', { plaintextCrc32c: undefined }, 'unreachable'],
      ['open', { plaintext: undefined }, 'unreachable'],
      ['open', { plaintext: 'AAAA', plaintextCrc32c: sum('AAAA') }, 'wrong'],
    ];
    for (const [action, change, problem] of changes) {
      standIn.instead = (request) => ({ body: { ...(answer(request).body as object), ...change } });
      const call = action === 'seal' ? provider.seal(plaintext, CONTEXT) : provider.open(sealed, CONTEXT);
      assert.equal(await problemOf(call), problem, JSON.stringify(change));
    }
    for (const body of ['<html>', '[]', '']) {
      standIn.instead = () => ({ body });
      assert.equal(await problemOf(provider.open(sealed, CONTEXT)), 'unreachable');
    }
    let recorded: StandInAnswer = {};
    standIn.instead = (request) => {
      recorded = answer(request);
      return recorded;
    };
    await provider.open(sealed, CONTEXT);
    standIn.instead = null;
    const other = await provider.seal(plaintext, CONTEXT);
    standIn.instead = () => recorded;
    assert.equal(await problemOf(provider.open(other, CONTEXT)), 'wrong', 'a replayed answer');
    standIn.instead = () => SILENT;
    const quick = openGcpKms(splitReference(`gcp-kms://${KEY}`), { ...standIn.surroundings(), timeoutMs: 50 });
    assert.equal(await problemOf(quick.open(sealed, CONTEXT)), 'unreachable');
  });

  test('a service account signs for its token, which only Google gets', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const account = {
      type: 'service_account',
      client_email: 'coffer@coffer-test.iam.gserviceaccount.com',
      private_key: pem,
      private_key_id: 'kid',
      token_uri: 'https://evil.example.com/token',
    };
    const file = join(folder, 'account.json');
    writeFileSync(file, JSON.stringify(account));
    standIn.instead = (request) => {
      if (request.url.host.startsWith('cloudkms')) return answer(request);
      assert.equal(request.url.href, 'http://oauth2.googleapis.com/token');
      const form = new URLSearchParams(request.body);
      const [header = '', claims = '', signature = ''] = String(form.get('assertion')).split('.');
      const isSigned = createVerify('sha256').update(`${header}.${claims}`).verify(publicKey, signature, 'base64url');
      assert.ok(isSigned && form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer');
      const { iss, aud, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString());
      assert.deepEqual([iss, aud, exp - iat], [account.client_email, 'https://oauth2.googleapis.com/token', 3600]);
      return { body: { access_token: TOKEN, expires_in: 3600 } };
    };
    for (const env of [{ GOOGLE_APPLICATION_CREDENTIALS: file }, { GOOGLE_CREDENTIALS: JSON.stringify(account) }]) {
      const provider = open(standIn, env as Record<string, string>);
      assert.deepEqual(await provider.open(await provider.seal(plaintext, CONTEXT), CONTEXT), plaintext);
    }
    standIn.instead = () => ({ status: 400, body: { error: 'invalid_grant' } });
    assert.equal(
      await problemOf(open(standIn, { GOOGLE_APPLICATION_CREDENTIALS: file }).seal(plaintext, CONTEXT)),
      'denied',
    );
    for (const json of ['no json', '{}', JSON.stringify({ ...account, private_key: 'the-key' })]) {
      const error = await errorOf(open(standIn, { GOOGLE_CREDENTIALS: json }).seal(plaintext, CONTEXT));
      assert.equal(error.problem, 'misconfigured');
      assert.ok(!error.message.includes('the-key'));
    }
  });

  test('a federated workload exchanges the token of its file, and acts as a service account', async () => {
    const [file, token] = [join(folder, 'federation.json'), join(folder, 'token')];
    writeFileSync(token, JSON.stringify({ value: 'the.workload.token' }));
    const federation = {
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: 'https://sts.googleapis.com/v1/token',
      service_account_impersonation_url:
        'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.iam.gserviceaccount.com:generateAccessToken',
      credential_source: { file: token, format: { type: 'json', subject_token_field_name: 'value' } },
    };
    writeFileSync(file, JSON.stringify(federation));
    standIn.instead = (request) => {
      if (request.url.host === 'sts.googleapis.com') {
        assert.equal(new URLSearchParams(request.body).get('subject_token'), 'the.workload.token');
        return { body: { access_token: 'federated', expires_in: 3600 } };
      }
      if (request.url.host !== 'iamcredentials.googleapis.com') return answer(request);
      assert.equal(request.headers.authorization, 'Bearer federated');
      return { body: { accessToken: TOKEN, expireTime: new Date(Date.now() + 3_600_000).toISOString() } };
    };
    const provider = open(standIn, { GOOGLE_APPLICATION_CREDENTIALS: file });
    assert.deepEqual(await provider.open(await provider.seal(plaintext, CONTEXT), CONTEXT), plaintext);
    for (const change of [
      { token_url: 'https://evil.example.com/token' },
      { service_account_impersonation_url: 'https://evil.example.com/a' },
      { credential_source: { url: 'http://169.254.169.254/' } },
    ]) {
      writeFileSync(file, JSON.stringify({ ...federation, ...change }));
      const wrong = open(standIn, { GOOGLE_APPLICATION_CREDENTIALS: file });
      assert.equal(await problemOf(wrong.seal(plaintext, CONTEXT)), 'misconfigured');
    }
  });

  test('a tenant needs credentials of its own', async () => {
    const tenants = { ...standIn.surroundings(), machine: null };
    const provider = openGcpKms(splitReference(`gcp-kms://${KEY}`), tenants);
    assert.equal(await problemOf(provider.seal(plaintext, CONTEXT)), 'misconfigured');
    assert.equal(standIn.requests.length, 0);
  });

  test('another spelling of a reference is refused', () => {
    for (const name of [
      KEY,
      `//${KEY}/`,
      `//${KEY}/cryptoKeyVersions/1`,
      `//${KEY}?a=b`,
      `//${KEY.replace('seals', '..')}`,
    ])
      assert.throws(() => openGcpKms(splitReference(`gcp-kms:${name}`), standIn.surroundings()), {
        problem: 'misconfigured',
      });
  });
});
