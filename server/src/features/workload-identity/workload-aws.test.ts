import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { json } from '../../../../test/support/external-issuer.ts';
import { presigned, type SigningOptions, type StsAccount, StsServer } from '../../../../test/support/sts.ts';
import { AUDIENCE, refusedFor, Verifying } from '../../../../test/support/verifying.ts';
import type { AwsConfig } from './contract.ts';
import { awsIam } from './methods/aws-iam.ts';
import { partitionOf, readSignedUrl } from './methods/sts-request.ts';

/** Logins by pre-signed GetCallerIdentity requests, signed by the AWS SDK's signer and verified by a server that computes the signature. */

const sts = await StsServer.start();
after(() => sts.close());
const role: StsAccount = {
  accessKeyId: 'ASIAEXAMPLEROLE00001',
  secretAccessKey: 'role-secret/with+signs=',
  sessionToken: 'session/token+with=signs&more',
  account: '123456789012',
  arn: 'arn:aws:sts::123456789012:assumed-role/checkout/i-0123456789',
  userId: 'AROAEXAMPLE:i-0123456789',
};

const user: StsAccount = {
  accessKeyId: 'AKIAEXAMPLEUSER00001',
  secretAccessKey: 'user-secret',
  account: '123456789012',
  arn: 'arn:aws:iam::123456789012:user/deploy/robot',
  userId: 'AIDAEXAMPLE',
};
sts.accounts.push(role, user);
const config: AwsConfig = {
  sts_endpoint: sts.url,
  allowed_arns: ['arn:aws:iam::123456789012:role/checkout', 'arn:aws:iam::123456789012:user/deploy/.*'],
};
const verifying = new Verifying();
const HEADERS = { 'X-Coffer-Audience': AUDIENCE };

async function logIn(account: StsAccount, options: SigningOptions = {}, change: Partial<AwsConfig> = {}) {
  const headers = { 'x-coffer-audience': AUDIENCE, ...options.headers };
  const url = await presigned(account, sts, { ...options, headers });
  return byUrl(url, HEADERS, change);
}

function byUrl(
  aws_signed_url: string,
  aws_signed_headers: Record<string, string> = HEADERS,
  change: Partial<AwsConfig> = {},
) {
  return verifying.verify(awsIam, { aws_signed_url, aws_signed_headers }, { ...config, ...change });
}

const goodUrl = () => presigned(role, sts, { headers: { 'x-coffer-audience': AUDIENCE } });

function reset(): void {
  verifying.now = Date.now();
  sts.instead = null;
  sts.requests.length = 0;
}

describe('a role or user', () => {
  beforeEach(reset);

  test('is who STS says signed; an assumed role is matched as its role', async () => {
    assert.deepEqual(await logIn(role), {
      subject: 'arn:aws:iam::123456789012:role/checkout',
      details: { arn: role.arn, account: role.account, user_id: role.userId },
    });
    assert.equal((await logIn(user)).subject, user.arn);
  });

  test('the request is ours: rebuilt, with our own audience and nothing of the caller’s headers', async () => {
    const url = await goodUrl();
    await byUrl(url, { ...HEADERS, Host: sts.host });
    const [{ url: sent = '', headers = {} } = {}] = sts.requests;
    assert.deepEqual(Object.keys(headers).sort(), ['accept', 'connection', 'host', 'user-agent', 'x-coffer-audience']);
    assert.deepEqual([headers['x-coffer-audience'], headers.host], [AUDIENCE, sts.host]);
    const parsed = (text: string) => [...new URL(text, sts.url).searchParams].sort();
    assert.deepEqual(parsed(sent), parsed(url));
  });

  test('must be allowed, as a whole', async () => {
    for (const allowed_arns of [
      [],
      ['arn:aws:iam::123456789012:role/check'],
      ['role/checkout'],
      ['arn:aws:iam::123456789012:role/checkout2|arn:aws:iam::999999999999:role/checkout'],
      [role.arn],
    ]) {
      await refusedFor(logIn(role, {}, { allowed_arns }), /ARN is not allowed/);
    }
    await logIn(role, {}, { allowed_arns: ['x|arn:aws:iam::\\d{12}:role/(?:checkout|basket)'] });
  });

  test('a session name that spells another role changes nothing', async () => {
    const sly = { ...role, accessKeyId: 'ASIAEXAMPLESLY000001' };
    sts.accounts.push(sly);
    for (const arn of [
      'arn:aws:sts::123456789012:assumed-role/evil/arn:aws:iam::123456789012:role',
      'arn:aws:sts::123456789012:assumed-role/checkout',
      'arn:aws:sts::123456789012:assumed-role/evil/x/checkout',
      'arn:aws:sts::123456789012:federated-user/checkout',
      'arn:aws:iam::123456789012:role',
    ]) {
      sly.arn = arn;
      await refusedFor(logIn(sly), /ARN is not allowed/);
    }
    for (const arn of [
      'arn:aws:iam::999999999999:role/checkout',
      'arn:evil:iam::123456789012:role/checkout',
      'checkout',
    ]) {
      sly.arn = arn;
      await refusedFor(logIn(sly), /ARN in the response of STS is of another account|no ARN/);
    }
  });

  test('must have signed with the secret, for our audience, lately', async () => {
    await refusedFor(logIn({ ...role, secretAccessKey: 'guessed' }), /status 403/);
    await refusedFor(logIn({ ...role, sessionToken: 'another' }), /status 403/);
    await refusedFor(logIn(role, { headers: { 'x-coffer-audience': 'https://other.example' } }), /status 403/);
    await refusedFor(logIn(role, { signingDate: new Date(Date.now() - 120_000) }), /has expired/);
    await refusedFor(logIn(role, { expiresIn: 901 }), /valid for too long/);
    const old = { expiresIn: 900, signingDate: new Date(Date.now() - 16 * 60_000) };
    await refusedFor(logIn(role, old), /not signed recently/);
    await refusedFor(logIn(role, { signingDate: new Date(Date.now() + 16 * 60_000) }), /not signed recently/);
  });
});

describe('signed URLs that never reach STS', () => {
  beforeEach(reset);

  const change = async (from: string | RegExp, to: string) => {
    const url = await goodUrl();
    const changed = url.replace(from, to);
    assert.notEqual(changed, url, `${from} is not in the URL`);
    return changed;
  };
  const cases: [string, () => Promise<string>, RegExp][] = [
    ['another host', () => change(sts.host, 'evil.example'), /another host/],
    ['another port', () => change(sts.host, '127.0.0.1:1'), /another host/],
    ['another scheme', () => change('http:', 'https:'), /another host/],
    ['the metadata service', () => change(sts.host, '169.254.169.254'), /another host/],
    ['a user in front', () => change('//', '//user@'), /not an STS URL/],
    ['our host as the user of another', () => change(sts.host, `${sts.host}@evil.example`), /not an STS URL/],
    ['a password', () => change('//', '//user:password@'), /not an STS URL/],
    [
      'our host as a part of another',
      () => change(sts.host, `${sts.host}.evil.example`),
      /not an STS URL|another host/,
    ],
    ['a backslash', () => change('/?', '\\@evil.example/?'), /not an STS URL/],
    ['a path', () => change('/?', '/path?'), /not an STS URL/],
    ['a double slash', () => change('/?', '//?'), /not an STS URL/],
    ['a fragment', async () => `${await goodUrl()}#part`, /not an STS URL|malformed/],
    ['white space', async () => ` ${await goodUrl()}`, /not an STS URL/],
    ['a line break', async () => `${await goodUrl()}\r\nX: y`, /not an STS URL/],
    ['no query', async () => sts.url, /not an STS URL/],
    ['another action', () => change('GetCallerIdentity', 'GetSessionToken'), /another action/],
    ['the action in other case', () => change('GetCallerIdentity', 'getcalleridentity'), /another action/],
    ['two actions', async () => `${await goodUrl()}&Action=AssumeRole`, /a parameter twice/],
    ['two actions, the other first', () => change('/?', '/?Action=AssumeRole&'), /a parameter twice/],
    ['an encoded second action', async () => `${await goodUrl()}&%41ction=AssumeRole`, /other parameters/],
    ['the action in other letters', async () => `${await goodUrl()}&action=AssumeRole`, /other parameters/],
    ['a parameter of another action', async () => `${await goodUrl()}&RoleArn=x`, /other parameters/],
    ['a parameter called like a method', async () => `${await goodUrl()}&constructor=x`, /other parameters/],
    ['an empty parameter', async () => `${await goodUrl()}&`, /other parameters/],
    ['a value with another equals sign', () => change('Version=', 'Version=='), /other parameters/],
    [
      'an encoded parameter in a value',
      () => change('Version=2011-06-15', 'Version=2011-06-15%26Action%3DX'),
      /malformed|version/,
    ],
    ['another version', () => change('2011-06-15', '2012-01-01'), /another version/],
    ['another algorithm', () => change('AWS4-HMAC-SHA256', 'AWS4-ECDSA-P256-SHA256'), /another algorithm/],
    [
      'another service',
      () => presigned(role, sts, { service: 's3', headers: { 'x-coffer-audience': AUDIENCE } }),
      /malformed credential/,
    ],
    ['no audience signed', () => presigned(role, sts), /signs other headers/],
    [
      'more headers signed',
      () => presigned(role, sts, { headers: { 'x-coffer-audience': AUDIENCE, 'x-other': 'y' } }),
      /signs other headers/,
    ],
    ['no date', () => change(/&X-Amz-Date=[^&]+/, ''), /lacks a parameter/],
    ['no signature', () => change(/&X-Amz-Signature=[^&]+/, ''), /lacks a parameter/],
    [
      'a signature of another form',
      () => change(/X-Amz-Signature=[^&]+/, 'X-Amz-Signature=none'),
      /malformed parameter/,
    ],
    ['an endless expiry', () => change(/X-Amz-Expires=60/, 'X-Amz-Expires=604800'), /valid for too long/],
    ['a negative expiry', () => change(/X-Amz-Expires=60/, 'X-Amz-Expires=-60'), /malformed parameter/],
    ['an impossible date', () => change(/X-Amz-Date=\d+/, 'X-Amz-Date=20269999'), /no readable date/],
    ['a plus sign', () => change('2011-06-15', '2011+06+15'), /malformed parameter/],
    ['a broken escape', () => change('2011-06-15', '2011%'), /malformed parameter/],
  ];
  for (const [name, url, reason] of cases) {
    test(name, async () => {
      await refusedFor(byUrl(await url()), reason);
      assert.equal(sts.requests.length, 0);
    });
  }

  test('headers that say otherwise', async () => {
    const url = await goodUrl();
    const cases: [Record<string, string>, RegExp][] = [
      [{}, /not signed for an audience/],
      [{ 'X-Coffer-Audience': 'https://other.example' }, /another audience/],
      [{ 'X-Coffer-Audience': `${AUDIENCE}/` }, /another audience/],
      [{ ...HEADERS, 'x-coffer-audience': AUDIENCE }, /given twice/],
      [{ ...HEADERS, Host: 'evil.example' }, /another host/],
      [{ ...HEADERS, 'X-Forwarded-Host': 'evil.example' }, /other signed headers/],
      [{ ...HEADERS, 'Content-Length': '5' }, /other signed headers/],
    ];
    for (const [headers, reason] of cases) await refusedFor(byUrl(url, headers), reason);
    assert.equal(sts.requests.length, 0);
  });
});

describe('STS', () => {
  beforeEach(reset);

  const arn = 'arn:aws:iam::123456789012:role/checkout';
  const result = { Arn: arn, Account: '123456789012', UserId: 'x' };
  const answer = (value: unknown) => ({ GetCallerIdentityResponse: { GetCallerIdentityResult: value } });

  test('is not believed by answers that repeat what was sent, or are of another shape', async () => {
    const xml = `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>${arn}</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`;
    const cases: [typeof sts.instead, RegExp][] = [
      [(q, r) => json(r, { Error: { Message: q.url, Arn: arn } }), /not a response to GetCallerIdentity/],
      [(_, r) => json(r, { AssumeRoleResponse: answer(result) }), /not a response to GetCallerIdentity/],
      [(_, r) => json(r, { ...answer(result), More: 1 }), /not a response to GetCallerIdentity/],
      [(_, r) => json(r, answer({ ...result, More: 1 })), /not a response to GetCallerIdentity/],
      [(_, r) => json(r, answer({ ...result, Arn: [arn] })), /not a response to GetCallerIdentity/],
      [(_, r) => json(r, answer([result])), /not a response to GetCallerIdentity/],
      [(_, r) => json(r, JSON.stringify(answer(result))), /not a response to GetCallerIdentity/],
      [(_, r) => json(r, answer({ ...result, Account: '999999999999' })), /another account/],
      [(_, r) => r.writeHead(200, { 'content-type': 'text/xml' }).end(xml), /not JSON/],
      [(_, r) => r.writeHead(200, { 'content-type': 'application/json' }).end(xml), /not JSON/],
      [
        (_, r) => {
          const text = JSON.stringify(answer(result));
          r.writeHead(200, { 'content-type': 'application/json' }).end(text.replace('"Arn"', `"Arn":"x","Arn"`));
        },
        /not JSON/,
      ],
      [(_, r) => r.writeHead(200, { 'content-type': 'text/plain' }).end(JSON.stringify(answer(result))), /not JSON/],
      [(_, r) => r.writeHead(302, { location: 'http://evil.example' }).end(), /redirect/],
      [(_, r) => json(r, { x: 'x'.repeat(20_000) }), /too large/],
      [(_, r) => json(r, answer(result), 500), /status 500/],
      [(_, r) => json(r, answer(result), 403), /status 403/],
    ];
    for (const [instead, reason] of cases) {
      sts.instead = instead;
      await refusedFor(logIn(role), reason);
    }
    sts.instead = (_, response) => json(response, answer(result));
    assert.equal((await logIn(role)).subject, arn);
  });

  test('an endpoint that is not AWS’s is called only where the operator allowed it', async () => {
    const options = { host: '127.0.0.1:9', headers: { 'x-coffer-audience': AUDIENCE } };
    const closed = new Verifying([]);
    const login = { aws_signed_url: await presigned(role, sts, options), aws_signed_headers: HEADERS };
    const elsewhere = { ...config, sts_endpoint: 'http://127.0.0.1:9' };
    await refusedFor(closed.verify(awsIam, login, elsewhere), /not public/);
    const publicUrl = await presigned(role, sts, { ...options, host: '8.8.8.8', protocol: 'https:' });
    const open = { aws_signed_url: publicUrl, aws_signed_headers: HEADERS };
    const work = closed.verify(awsIam, open, { ...config, sts_endpoint: 'https://8.8.8.8' });
    await refusedFor(work, /the operator has not allowed this host/);
  });

  test('without an endpoint of its own a method takes AWS’s, over https, and no others', async () => {
    const signedFor = (host: string, protocol = 'https:') =>
      presigned(role, sts, { host, protocol, headers: { 'x-coffer-audience': AUDIENCE } });
    const own = ['sts.amazonaws.com', 'sts.eu-central-1.amazonaws.com', 'sts-fips.us-east-1.amazonaws.com'];
    for (const host of [...own, 'sts.us-gov-west-1.amazonaws.com', 'sts.cn-north-1.amazonaws.com.cn']) {
      const url = await signedFor(host);
      assert.equal(readSignedUrl(url, null, Date.now(), 60_000).host, host);
    }
    const { sts_endpoint, ...plain } = config;
    for (const host of [
      'sts.amazonaws.com.evil.example',
      'evil-sts.amazonaws.com',
      'sts.evil.amazonaws.com',
      'stsxamazonaws.com',
      's3.amazonaws.com',
      'bucket.s3.eu-central-1.amazonaws.com',
      'sts.amazonaws.com:8443',
      'sts.eu-central-1.amazonaws.com.cn',
      'STS.amazonaws.com',
    ]) {
      const login = { aws_signed_url: await signedFor(host), aws_signed_headers: HEADERS };
      await refusedFor(verifying.verify(awsIam, login, plain), /another host|not an STS URL/);
    }
    const http = { aws_signed_url: await signedFor('sts.amazonaws.com', 'http:'), aws_signed_headers: HEADERS };
    await refusedFor(verifying.verify(awsIam, http, plain), /another host/);
    assert.deepEqual(['sts.amazonaws.com', 'sts.us-gov-west-1.amazonaws.com', 'x'].map(partitionOf), [
      'aws',
      'aws-us-gov',
      null,
    ]);
  });
});

test('a config that could not work, or not safely, is refused', () => {
  const cases: [Partial<AwsConfig>, RegExp][] = [
    [{ allowed_arns: ['ok', '('] }, /config\/allowed_arns\/1/],
    [{ allowed_arns: ['a)|(?:b'] }, /config\/allowed_arns\/0/],
    [{ sts_endpoint: 'https://sts.amazonaws.com/path' }, /config\/sts_endpoint/],
    [{ sts_endpoint: 'https://user@sts.amazonaws.com' }, /config\/sts_endpoint/],
    [{ sts_endpoint: 'sts.amazonaws.com' }, /config\/sts_endpoint/],
  ];
  for (const [change, reason] of cases) assert.throws(() => awsIam.refuseBadConfig({ ...config, ...change }), reason);
  awsIam.refuseBadConfig(config);
});
