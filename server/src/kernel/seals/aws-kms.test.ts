import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, describe, test } from 'node:test';
import { ACCESS_KEY, KMS_ARN, KMS_KEY, KmsStandIn, refusal } from '../../../../test/support/kms-stand-in.ts';
import { CONTEXT, conforms, errorOf, problemOf } from '../../../../test/support/provider-conformance.ts';
import { GONE, SILENT, StandIn, type StandInAnswer } from '../../../../test/support/stand-in.ts';
import { openAwsKms } from './aws-kms.ts';
import type { SealProblem, SealProvider } from './provider.ts';
import { splitReference } from './reference.ts';

const ENV = {
  AWS_ACCESS_KEY_ID: ACCESS_KEY.accessKeyId,
  AWS_SECRET_ACCESS_KEY: ACCESS_KEY.secretAccessKey,
};
const SECRETS = [ACCESS_KEY.secretAccessKey];

conforms('aws-kms', async () => {
  const [kms, gone] = [await new StandIn(new KmsStandIn().answer).start(), await new StandIn(() => GONE).start()];
  const open = (standIn: StandIn) => openAwsKms(splitReference(`aws-kms:${KMS_ARN}`), standIn.surroundings(ENV));
  return {
    provider: open(kms),
    unreachable: open(gone),
    secrets: SECRETS,
    close: async () => {
      await kms.close();
      await gone.close();
    },
  };
});

describe('AWS KMS', () => {
  const kms = new KmsStandIn();
  const standIn = new StandIn(kms.answer);
  const plaintext = randomBytes(32);
  let provider: SealProvider;
  const open = (name: string, env: Record<string, string> = ENV) =>
    openAwsKms(splitReference(`aws-kms:${name}`), standIn.surroundings(env));

  before(async () => {
    await standIn.start();
    provider = open(KMS_ARN);
  });
  after(() => standIn.close());
  afterEach(() => {
    standIn.instead = null;
    standIn.requests.length = 0;
    kms.usedKey = KMS_ARN;
  });

  test('is told the key and the context, and never what is sealed', async () => {
    const sealed = await provider.seal(plaintext, CONTEXT);
    await provider.open(sealed, CONTEXT);
    assert.deepEqual(
      standIn.requests.map(({ headers }) => headers['x-amz-target']),
      ['TrentService.Encrypt', 'TrentService.Decrypt'],
    );
    for (const { url, body, headers } of standIn.requests) {
      assert.equal(url.host, 'kms.eu-central-1.amazonaws.com');
      assert.equal(headers['content-type'], 'application/x-amz-json-1.1');
      const { KeyId, EncryptionContext } = JSON.parse(body);
      assert.equal(KeyId, KMS_ARN);
      assert.deepEqual(EncryptionContext, { coffer_installation: 'ins_test', coffer_purpose: 'root-key' });
      assert.ok(!body.includes(plaintext.toString('base64')));
    }
  });

  test('each documented error has its meaning, and a message that says what to do', async () => {
    const sealed = await provider.seal(plaintext, CONTEXT);
    const expected: [string, number, SealProblem, RegExp][] = [
      ['InvalidCiphertextException', 400, 'wrong', /backup/],
      ['IncorrectKeyException', 400, 'wrong', /alias/],
      ['DisabledException', 400, 'disabled', /Enable it/],
      ['KMSInvalidStateException', 400, 'deleted', /Cancel its deletion/],
      ['NotFoundException', 400, 'deleted', /another seal/],
      ['InvalidKeyUsageException', 400, 'misconfigured', /SYMMETRIC_DEFAULT/],
      ['InvalidArnException', 400, 'misconfigured', /SYMMETRIC_DEFAULT/],
      ['ValidationException', 400, 'misconfigured', /SYMMETRIC_DEFAULT/],
      ['InvalidGrantTokenException', 400, 'denied', /kms:Decrypt/],
      ['AccessDeniedException', 400, 'denied', /kms:Decrypt/],
      ['UnrecognizedClientException', 400, 'denied', /clock/],
      ['ExpiredTokenException', 400, 'denied', /clock/],
      ['InvalidSignatureException', 400, 'denied', /clock/],
      ['com.amazonaws.kms#DisabledException', 400, 'disabled', /Enable it/],
      ['UnknownException', 400, 'misconfigured', /status 400/],
      ['UnknownException', 403, 'denied', /status 403/],
      ['UnknownException', 429, 'unreachable', /next attempt/],
      ['KeyUnavailableException', 500, 'unreachable', /CloudHSM/],
      ['DependencyTimeoutException', 500, 'unreachable', /next attempt/],
      ['KMSInternalException', 500, 'unreachable', /next attempt/],
      ['ThrottlingException', 400, 'unreachable', /next attempt/],
    ];
    for (const [type, status, problem, message] of expected) {
      standIn.instead = () => refusal(type, status);
      standIn.requests.length = 0;
      const error = await errorOf(provider.open(sealed, CONTEXT));
      assert.equal(error.problem, problem, type);
      assert.match(error.message, message);
      assert.ok(!error.message.includes(ACCESS_KEY.secretAccessKey));
      // Only what may pass is tried again, and refused credentials once, because they may have been replaced.
      const attempts = problem === 'unreachable' ? 3 : problem === 'denied' ? 2 : 1;
      const decryptions = standIn.requests.filter(({ headers }) => headers['x-amz-target'] === 'TrentService.Decrypt');
      assert.equal(decryptions.length, attempts, type);
    }
  });

  test('a ciphertext that KMS denies, while it opens others, is another key’s', async () => {
    const sealed = await provider.seal(plaintext, CONTEXT);
    const wrapped = sealed.subarray(3, 3 + sealed.readUInt16BE(1)).toString('base64');
    standIn.instead = (request) =>
      request.body.includes(wrapped) ? refusal('AccessDeniedException') : kms.answer(request);
    assert.equal(await problemOf(provider.open(sealed, CONTEXT)), 'wrong');
  });

  test('a fault that passes is not noticed', async () => {
    let calls = 0;
    standIn.instead = (request) => (++calls < 3 ? refusal('ThrottlingException') : kms.answer(request));
    const sealed = await provider.seal(plaintext, CONTEXT);
    assert.deepEqual(await provider.open(sealed, CONTEXT), plaintext);
  });

  test('answers that are not those of KMS open nothing', async () => {
    const sealed = await provider.seal(plaintext, CONTEXT);
    const other = await provider.seal(randomBytes(32), CONTEXT);
    const random = { KeyId: KMS_ARN, Plaintext: randomBytes(32).toString('base64') };
    const answers: [() => StandInAnswer | typeof GONE, SealProblem][] = [
      [() => ({ body: random }), 'wrong'],
      [() => ({ body: { ...random, Plaintext: randomBytes(16).toString('base64') } }), 'wrong'],
      [() => ({ body: { ...random, KeyId: KMS_ARN.replace(KMS_KEY, `${KMS_KEY.slice(0, -1)}c`) } }), 'wrong'],
      [() => ({ body: { ...random, KeyId: KMS_ARN.replace('111122223333', '111122223334') } }), 'wrong'],
      [() => ({ body: { ...random, Plaintext: 'not base64' } }), 'unreachable'],
      [() => ({ body: { KeyId: KMS_ARN } }), 'unreachable'],
      [() => ({ body: '<html>A proxy</html>' }), 'unreachable'],
      [() => ({ body: '[]' }), 'unreachable'],
      [() => ({ body: '' }), 'unreachable'],
      [() => ({ body: 'x'.repeat(100_000) }), 'unreachable'],
      [() => ({ status: 302, body: '' }), 'misconfigured'],
      [() => ({ status: 502, body: '' }), 'unreachable'],
      [() => GONE, 'unreachable'],
    ];
    for (const [answer, problem] of answers) {
      standIn.instead = answer;
      assert.equal(await problemOf(provider.open(sealed, CONTEXT)), problem, String(answer));
    }
    let recorded: StandInAnswer = {};
    standIn.instead = async (request) => {
      recorded = await kms.answer(request);
      return recorded;
    };
    await provider.open(other, CONTEXT);
    standIn.instead = () => recorded;
    assert.equal(await problemOf(provider.open(sealed, CONTEXT)), 'wrong', 'a replayed answer');
    standIn.instead = new KmsStandIn().answer;
    assert.equal(await problemOf(provider.open(sealed, CONTEXT)), 'wrong', 'another key of the same name');
  });

  test('a KMS that never answers is given up', async () => {
    standIn.instead = () => SILENT;
    const quick = openAwsKms(splitReference(`aws-kms:${KMS_ARN}`), { ...standIn.surroundings(ENV), timeoutMs: 100 });
    const startedAt = performance.now();
    assert.equal(await problemOf(quick.seal(plaintext, CONTEXT)), 'unreachable');
    assert.ok(performance.now() - startedAt < 10_000);
    assert.equal(standIn.requests.length, 3);
  });

  test('a replica of a multi-Region key opens while the first region is away', async () => {
    const id = `mrk-${'ab'.repeat(16)}`;
    const arn = KMS_ARN.replace(KMS_KEY, id);
    kms.usedKey = arn;
    for (const name of [arn, arn.replace('eu-central-1', 'eu-west-1')]) kms.names.add(name);
    const replicated = open(`${arn}?replica=eu-west-1`);
    const sealed = await replicated.seal(plaintext, CONTEXT);
    standIn.requests.length = 0;
    standIn.instead = (request) => (request.url.host.includes('eu-central-1') ? GONE : kms.answer(request));
    assert.deepEqual(await replicated.open(sealed, CONTEXT), plaintext);
    const { url, body } = standIn.requests.at(-1) ?? { url: new URL('http://none'), body: '{}' };
    assert.equal(url.host, 'kms.eu-west-1.amazonaws.com');
    assert.match(JSON.parse(body).KeyId, /^arn:aws:kms:eu-west-1:/);
    standIn.instead = () => refusal('AccessDeniedException');
    standIn.requests.length = 0;
    assert.equal(await problemOf(replicated.open(sealed, CONTEXT)), 'denied');
    assert.ok(standIn.requests.every((request) => request.url.host.includes('eu-central-1')));
  });

  test('is called where the reference says', async () => {
    const hostOf = async (name: string, env = ENV) => {
      standIn.requests.length = 0;
      standIn.instead = () => refusal('DisabledException');
      assert.equal(await problemOf(open(name, env).seal(plaintext, CONTEXT)), 'disabled');
      const [{ url, body } = { url: new URL('http://none'), body: '{}' }] = standIn.requests;
      return [url.host, JSON.parse(body).KeyId];
    };
    assert.deepEqual(await hostOf(`//us-gov-west-1/${KMS_KEY}`), ['kms.us-gov-west-1.amazonaws.com', KMS_KEY]);
    assert.deepEqual(await hostOf(`//us-east-1/alias/a/b`), ['kms.us-east-1.amazonaws.com', 'alias/a/b']);
    assert.deepEqual(await hostOf(`//cn-north-1/${KMS_KEY}`), ['kms.cn-north-1.amazonaws.com.cn', KMS_KEY]);
    assert.deepEqual(await hostOf(`${KMS_ARN}?fips=true`), ['kms-fips.eu-central-1.amazonaws.com', KMS_ARN]);
    const own = { ...ENV, AWS_ENDPOINT_URL_KMS: 'https://kms.example.com' };
    assert.deepEqual(await hostOf(KMS_ARN, own), ['kms.example.com', KMS_ARN]);
  });

  test('another spelling of a reference, and an unknown option, are refused', () => {
    for (const name of [
      '',
      'arn',
      KMS_KEY,
      `//eu-central-1/key/${KMS_KEY}`,
      `//EU-central-1/${KMS_KEY}`,
      `//eu-central-1/${KMS_KEY.toUpperCase()}`,
      `//eu-central-1/${KMS_KEY}/`,
      `//169.254.169.254/${KMS_KEY}`,
      `//a.b/${KMS_KEY}`,
      KMS_ARN.replace('kms', 's3'),
      KMS_ARN.replace('arn:aws:', 'arn:aws-other:'),
      KMS_ARN.replace('eu-central-1', 'eu-central-1.evil'),
      `${KMS_ARN}?`,
      `${KMS_ARN}?fips=false`,
      `${KMS_ARN}?fips=true&fips=true`,
      `${KMS_ARN}?replica=eu-west-1`,
      `${KMS_ARN}?region=eu-west-1`,
      `${KMS_ARN}#`,
    ])
      assert.throws(() => open(name), { name: 'SealError', problem: 'misconfigured' }, name);
    assert.throws(() => open(`${KMS_ARN}?color=red`), /Choose of: fips, replica\./);
    for (const url of ['kms.example.com', 'https://kms.example.com/path', 'ftp://kms.example.com'])
      assert.throws(() => open(KMS_ARN, { ...ENV, AWS_ENDPOINT_URL_KMS: url }), /AWS_ENDPOINT_URL_KMS/);
  });
});
