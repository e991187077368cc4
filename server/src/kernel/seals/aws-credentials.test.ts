import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { errorOf } from '../../../../test/support/provider-conformance.ts';
import { GONE, StandIn, type StandInAnswer, type StandInRequest } from '../../../../test/support/stand-in.ts';
import { MINUTE_MS } from '../base/clock.ts';
import { AwsCredentialChain } from './aws-credentials.ts';
import { machineCalls } from './surroundings.ts';

const STS = 'https://sts.eu-central-1.amazonaws.com';
const LIFE_MS = 60 * MINUTE_MS;

describe('credentials for AWS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-aws-'));
  const tokenFile = join(folder, 'token');
  const standIn = new StandIn((request) => answer(request));
  let answer: (request: StandInRequest) => StandInAnswer | typeof GONE = () => GONE;
  let now = Date.UTC(2026, 10, 20);
  const chain = (env: Record<string, string>) =>
    new AwsCredentialChain({ ...standIn.surroundings(env), clock: { now: () => now } }, STS);
  let given = 0;
  const json = () => ({
    Code: 'Success',
    AccessKeyId: `ASIA${++given}`,
    SecretAccessKey: 'the-secret',
    Token: 'the-session-token',
    Expiration: new Date(now + LIFE_MS).toISOString(),
  });

  before(() => standIn.start());
  after(async () => {
    await standIn.close();
    rmSync(folder, { recursive: true });
  });
  afterEach(() => {
    standIn.requests.length = 0;
  });

  test('of variables come first, and are checked', async () => {
    const env = {
      AWS_ACCESS_KEY_ID: 'AKIA',
      AWS_SECRET_ACCESS_KEY: 'the-secret',
      AWS_WEB_IDENTITY_TOKEN_FILE: '/none',
    };
    const { accessKeyId, secretAccessKey, sessionToken } = await chain(env).current();
    assert.deepEqual([accessKeyId, secretAccessKey, sessionToken], ['AKIA', 'the-secret', null]);
    assert.equal((await chain({ ...env, AWS_SESSION_TOKEN: 'token' }).current()).sessionToken, 'token');
    assert.equal(standIn.requests.length, 0);
    for (const wrong of [
      { AWS_ACCESS_KEY_ID: 'AKIA' },
      { AWS_SECRET_ACCESS_KEY: 'the-secret' },
      { ...env, AWS_SECRET_ACCESS_KEY: 'the-secret\r\nx: y' },
    ]) {
      const error = await errorOf(chain(wrong).current());
      assert.equal(error.problem, 'misconfigured');
      assert.ok(!error.message.includes('the-secret'));
    }
  });

  test('of a web identity are assumed with the token of the file, and again before they end', async () => {
    const credentials = () => {
      const { AccessKeyId, SecretAccessKey, Token, Expiration } = json();
      return `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Audience>sts.amazonaws.com</Audience>
        <Credentials><AccessKeyId>${AccessKeyId}</AccessKeyId><SecretAccessKey>${SecretAccessKey}</SecretAccessKey>
        <SessionToken>${Token}</SessionToken><Expiration>${Expiration}</Expiration></Credentials>
        </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
    };
    answer = () => ({ body: credentials() });
    writeFileSync(tokenFile, 'first.token\n');
    const env = { AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ROLE_ARN: 'arn:aws:iam::111122223333:role/coffer' };
    const source = chain(env);
    const [one, two] = await Promise.all([source.current(), source.current()]);
    assert.equal(one, two);
    assert.equal(one.sessionToken, 'the-session-token');
    const [{ url, body } = { url: new URL('http://none'), body: '' }] = standIn.requests;
    assert.equal(url.host, 'sts.eu-central-1.amazonaws.com');
    assert.deepEqual(Object.fromEntries(new URLSearchParams(body)), {
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: env.AWS_ROLE_ARN,
      RoleSessionName: 'coffer',
      WebIdentityToken: 'first.token',
    });

    now += LIFE_MS - 6 * MINUTE_MS;
    assert.equal(await source.current(), one);
    writeFileSync(tokenFile, 'second.token');
    now += 2 * MINUTE_MS;
    const renewed = await source.current();
    assert.notEqual(renewed.accessKeyId, one.accessKeyId);
    assert.match(standIn.requests.at(-1)?.body ?? '', /second\.token/);
    assert.equal(standIn.requests.length, 2);

    // Those that still hold are used while STS is away, and no longer.
    now += LIFE_MS - MINUTE_MS;
    answer = () => GONE;
    assert.equal(await source.current(), renewed);
    now += MINUTE_MS;
    assert.equal((await errorOf(source.current())).problem, 'unreachable');
  });

  test('of a web identity that is refused, malformed or ended say what to do', async () => {
    writeFileSync(tokenFile, 'the.token');
    const env = { AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ROLE_ARN: 'arn:aws:iam::111122223333:role/coffer' };
    const error = (code: string) => `<ErrorResponse><Error><Code>${code}</Code></Error></ErrorResponse>`;
    const ended = '<Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>B</SecretAccessKey>';
    for (const [answered, problem] of [
      [{ status: 400, body: error('ExpiredTokenException') }, 'denied'],
      [{ status: 403, body: error('AccessDenied') }, 'denied'],
      [{ status: 400, body: error('IDPCommunicationError') }, 'unreachable'],
      [{ status: 503, body: '' }, 'unreachable'],
      [{ body: '<html>' }, 'unreachable'],
      [{ body: `${ended}<SessionToken>C</SessionToken><Expiration>soon</Expiration></Credentials>` }, 'unreachable'],
      [
        { body: `${ended}<SessionToken>C</SessionToken><Expiration>2020-01-01T00:00:00Z</Expiration></Credentials>` },
        'denied',
      ],
    ] as const) {
      answer = () => answered;
      const { message, problem: found } = await errorOf(chain(env).current());
      assert.equal(found, problem, answered.body);
      assert.ok(!message.includes('the.token'));
    }
    const cases = [
      { ...env, AWS_ROLE_ARN: '' },
      { ...env, AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'none') },
    ];
    for (const wrong of cases) assert.equal((await errorOf(chain(wrong).current())).problem, 'misconfigured');
    writeFileSync(tokenFile, 'x'.repeat(70_000));
    assert.equal((await errorOf(chain(env).current())).problem, 'misconfigured');
  });

  test('of a container or pod come from its fixed addresses, and from nowhere else', async () => {
    writeFileSync(tokenFile, 'token of the pod');
    answer = () => ({ body: json() });
    const env = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials',
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
    };
    assert.equal((await chain(env).current()).secretAccessKey, 'the-secret');
    await chain({ AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials/1' }).current();
    await chain({ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://[fd00:ec2::23]/v1/credentials' }).current();
    assert.deepEqual(
      standIn.requests.map(({ url, headers }) => [url.href, headers.authorization]),
      [
        ['http://169.254.170.23/v1/credentials', 'token of the pod'],
        ['http://169.254.170.2/v2/credentials/1', undefined],
        ['http://[fd00:ec2::23]/v1/credentials', undefined],
      ],
    );
    standIn.requests.length = 0;
    for (const url of [
      'http://169.254.170.24/v1',
      'http://169.254.170.2.evil.com/v1',
      'http://169.254.170.2@evil.com/v1',
      'http://127.0.0.1/v1',
      'https://169.254.170.2/v1',
    ]) {
      const error = await errorOf(chain({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url }).current());
      assert.equal(error.problem, 'misconfigured', url);
    }
    const beside = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '@evil.com/' };
    assert.equal((await errorOf(chain(beside).current())).problem, 'misconfigured');
    assert.equal(standIn.requests.length, 0);
  });

  test('of an instance need a token of version 2 of its metadata', async () => {
    const imds = (request: StandInRequest): StandInAnswer => {
      if (request.url.pathname === '/latest/api/token') {
        const isPut = request.method === 'PUT' && request.headers['x-aws-ec2-metadata-token-ttl-seconds'] === '300';
        return isPut ? { body: 'imds-token' } : { status: 405 };
      }
      if (request.headers['x-aws-ec2-metadata-token'] !== 'imds-token') return { status: 401 };
      const folder = '/latest/meta-data/iam/security-credentials/';
      if (request.url.pathname === folder) return { body: 'coffer-role\n' };
      return request.url.pathname === `${folder}coffer-role` ? { body: json() } : { status: 404 };
    };
    answer = imds;
    assert.equal((await chain({}).current()).secretAccessKey, 'the-secret');
    assert.ok(standIn.requests.every(({ url }) => url.host === '169.254.169.254'));

    const denials: ((request: StandInRequest) => StandInAnswer)[] = [
      () => ({ status: 403 }),
      (request) => (request.url.pathname.endsWith('/security-credentials/') ? { status: 404 } : imds(request)),
      (request) => (request.url.pathname.endsWith('/security-credentials/') ? { body: '../../x' } : imds(request)),
      (request) => (request.url.pathname.endsWith('-role') ? { body: { ...json(), Code: 'Failed' } } : imds(request)),
    ];
    for (const denial of denials) {
      answer = denial;
      assert.equal((await errorOf(chain({}).current())).problem, 'denied', String(denial));
    }
    assert.throws(() => chain({ AWS_EC2_METADATA_DISABLED: 'true' }), { problem: 'misconfigured' });
  });

  test('of a tenant are an access key: neither the identity nor a file of this machine is used', async () => {
    const surroundings = { ...standIn.surroundings({}), machine: null };
    const of = (env: Record<string, string>) => new AwsCredentialChain({ ...surroundings, env }, STS);
    for (const env of [
      {},
      { AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ROLE_ARN: 'arn' },
      { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2' },
    ])
      assert.throws(() => of(env as Record<string, string>), { problem: 'misconfigured' });
    const own = of({ AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'the-secret' });
    assert.equal((await own.current()).accessKeyId, 'AKIA');
    assert.equal(standIn.requests.length, 0);
  });
});

test('calls for the identity of this machine reach its addresses, and nothing else', async () => {
  const client = machineCalls();
  const send = (url: string) =>
    client.send({ owner: 'ten_seals', url, method: 'GET', bodyBytesMax: 1000, timeoutMs: 100 }).then(
      () => 'answered',
      (error) => error.problem,
    );
  for (const host of ['127.0.0.1', '10.0.0.1', '169.254.169.253', '169.254.170.3', '[::1]', '[fd00:ec2::24]'])
    assert.equal(await send(`http://${host}/`), 'blocked', host);
  for (const host of ['8.8.8.8', '[2001:4860:4860::8888]'])
    assert.equal(await send(`https://${host}/`), 'not-opened', host);
  for (const host of ['example.com', 'localhost', 'metadata'])
    assert.equal(await send(`http://${host}/`), 'unresolved');
  // Nobody may be there, but the call is made.
  for (const host of ['169.254.169.254', '169.254.170.2', '169.254.170.23', 'metadata.google.internal'])
    assert.ok(['answered', 'timeout', 'connection', 'redirect'].includes(await send(`http://${host}/`)), host);
});
