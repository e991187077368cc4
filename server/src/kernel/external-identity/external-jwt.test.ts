import assert from 'node:assert/strict';
import { createHmac, createPublicKey } from 'node:crypto';
import { describe, test } from 'node:test';
import { assembled, type IssuerKey, newIssuerKey, signed } from '../../../../test/support/external-issuer.ts';
import { ANY_ALGORITHM, type JwsAlgorithm } from './algorithms.ts';
import { type Expectations, TOKEN_LENGTH_MAX } from './external-jwt.ts';
import { parseKeySet } from './key-set.ts';
import { ExternalIdentityRefusal } from './refusal.ts';
import { verifiedByKeys } from './verified-token.ts';

const NOW = 1_800_000_000_000;
const seconds = (ms: number) => Math.floor((NOW + ms) / 1000);
const AUDIENCE = 'https://coffer.example';
const ISSUER = 'https://issuer.example';
const expected: Expectations = { issuer: ISSUER, audience: AUDIENCE, now: NOW };
const claims = { iss: ISSUER, aud: AUDIENCE, sub: 'somebody', iat: seconds(-1000), exp: seconds(60_000) };
const key = await newIssuerKey('k', 'RS256');
const publicPem = createPublicKey({ key: key.jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' });

function verify(token: string, by: IssuerKey = key, wanted: Partial<Expectations> = {}, allowed = ANY_ALGORITHM) {
  const keys = parseKeySet({ keys: [by.jwk] })?.keys ?? [];
  return verifiedByKeys(token, allowed, { ...expected, ...wanted }, keys);
}

async function refused(work: Promise<unknown>, reason: RegExp): Promise<void> {
  const error = await work.then(
    () => assert.fail('it was accepted'),
    (thrown) => thrown,
  );
  assert.ok(error instanceof ExternalIdentityRefusal, String(error));
  assert.match(error.message, reason);
}

describe('signatures', () => {
  test('every accepted algorithm, with a key of its kind', async () => {
    for (const alg of ANY_ALGORITHM) {
      const own = await newIssuerKey('k', alg);
      const token = await signed(own, claims);
      assert.equal((await verify(token, own))['sub'], 'somebody', alg);
      await refused(
        verify(
          token,
          own,
          {},
          ANY_ALGORITHM.filter((other) => other !== alg),
        ),
        /algorithm is not accepted/,
      );
      const other = await newIssuerKey('k', alg);
      await refused(verify(token, other), /signature is wrong/);
    }
  });

  test('alg none, in any spelling, with or without a signature', async () => {
    const [, , signature] = (await signed(key, claims)).split('.');
    for (const alg of ['none', 'None', 'NONE', 'nOnE', '', null, undefined, ['RS256'], 0]) {
      await refused(verify(assembled({ alg, typ: 'JWT' }, claims, 'x')), /algorithm is not accepted/);
      const resigned = `${assembled({ alg, kid: 'k' }, claims)}${signature}`;
      await refused(verify(resigned), /algorithm is not accepted/);
    }
    await refused(verify(assembled({ alg: 'none' }, claims)), /not a signed JWT/);
    await refused(verify(assembled({ alg: 'RS256' }, claims, 'x')), /signature is wrong/);
  });

  test('HS256 with the public key as the secret', async () => {
    const secrets = [publicPem, String(publicPem).trim(), JSON.stringify(key.jwk), String(key.jwk['n'])];
    for (const alg of ['HS256', 'HS384', 'HS512'] as const) {
      for (const secret of secrets) {
        const body = assembled({ alg, kid: 'k', typ: 'JWT' }, claims).slice(0, -1);
        const signature = createHmac(`sha${alg.slice(2)}`, secret)
          .update(body)
          .digest('base64url');
        await refused(verify(`${body}.${signature}`), /algorithm is not accepted/);
        await refused(verify(`${body}.${signature}`, key, {}, [alg as JwsAlgorithm]), /algorithm is not accepted/);
      }
    }
  });

  test('an algorithm of another kind than the key', async () => {
    const token = await signed(key, claims);
    const [, payload, signature] = token.split('.');
    for (const alg of ['ES256', 'PS256', 'RS384', 'EdDSA']) {
      const header = Buffer.from(JSON.stringify({ alg, kid: 'k' })).toString('base64url');
      await refused(verify(`${header}.${payload}.${signature}`), /signature is wrong/);
    }
  });

  test('changed claims, headers or signatures', async () => {
    const [header, payload, signature = ''] = (await signed(key, claims)).split('.');
    const other = Buffer.from(JSON.stringify({ ...claims, sub: 'another' })).toString('base64url');
    await refused(verify(`${header}.${other}.${signature}`), /signature is wrong/);
    const noKid = Buffer.from(JSON.stringify({ alg: 'RS256' })).toString('base64url');
    await refused(verify(`${noKid}.${payload}.${signature}`), /signature is wrong/);
    await refused(verify(`${header}.${payload}.${signature.slice(0, -4)}`), /signature is wrong/);
  });
});

describe('headers', () => {
  test('those by which a token would choose its own key are refused, even with a good signature', async () => {
    const own = await newIssuerKey('mine', 'RS256');
    const headers = {
      jku: 'https://attacker.example/keys',
      x5u: 'https://attacker.example/cert',
      jwk: own.jwk,
      x5c: ['MIIB'],
      crit: ['exp'],
      b64: false,
      zip: 'DEF',
    };
    for (const [name, value] of Object.entries(headers)) {
      for (const by of [key, own]) {
        const header = { alg: 'RS256', kid: 'k', [name]: value };
        await refused(verify(assembled(header, claims, 'x'), by), new RegExp(`header has ${name}`));
      }
    }
    await refused(verify(await signed(key, claims, { jku: headers.jku })), /header has jku/);
    await refused(verify(await signed(key, claims, { x5u: headers.x5u })), /header has x5u/);
  });

  test('a key id is text that is compared, and nothing else', async () => {
    for (const kid of ['', 7, {}, ['k'], 'x'.repeat(513)]) {
      await refused(verify(assembled({ alg: 'RS256', kid }, claims, 'x')), /key id is malformed/);
    }
  });

  test('other kinds of JWT are no identity', async () => {
    for (const typ of ['dpop+jwt', 'logout+jwt', 'secevent+jwt', 'JWE', 7]) {
      await refused(verify(await signed(key, claims, { typ })), /of another kind/);
    }
    for (const typ of ['JWT', 'jwt', 'at+jwt', 'application/at+jwt', 'JOSE', undefined]) {
      await verify(await signed(key, claims, { typ }));
    }
  });
});

describe('claims', () => {
  const cases: [string, Record<string, unknown>, RegExp | null][] = [
    ['the audience as the only one of a list', { aud: [AUDIENCE] }, null],
    ['another audience', { aud: 'https://other.example' }, /another audience/],
    ['no audience', { aud: undefined }, /another audience/],
    ['an empty list of audiences', { aud: [] }, /another audience/],
    ['several audiences, ours first', { aud: [AUDIENCE, 'https://other.example'] }, /several audiences/],
    ['several audiences, ours last', { aud: ['https://other.example', AUDIENCE] }, /several audiences/],
    ['our audience twice', { aud: [AUDIENCE, AUDIENCE] }, /several audiences/],
    ['an audience in an audience', { aud: [[AUDIENCE]] }, /another audience/],
    ['an audience with a slash more', { aud: `${AUDIENCE}/` }, /another audience/],
    ['an audience in other case', { aud: AUDIENCE.toUpperCase() }, /another audience/],
    ['an audience that begins with ours', { aud: `${AUDIENCE}.evil.example` }, /another audience/],
    ['a wildcard as the audience', { aud: '*' }, /another audience/],
    ['an object as the audience', { aud: { 0: AUDIENCE } }, /another audience/],
    ['another issuer', { iss: 'https://other.example' }, /another issuer/],
    ['the issuer with a slash more', { iss: `${ISSUER}/` }, /another issuer/],
    ['the issuer in other case', { iss: 'https://ISSUER.example' }, /another issuer/],
    ['a list of issuers', { iss: [ISSUER] }, /another issuer/],
    ['no issuer', { iss: undefined }, /another issuer/],
    ['no end', { exp: undefined }, /no valid expiry time/],
    ['an end as text', { exp: String(claims.exp) }, /no valid expiry time/],
    ['an end that never comes', { exp: 1e300 }, /no valid expiry time/],
    ['an end now', { exp: seconds(0) }, /has expired/],
    ['an end in the past', { exp: seconds(-1000) }, /has expired/],
    ['issued in the future', { iat: seconds(61_000) }, /in the future/],
    ['issued a moment ahead of our clock', { iat: seconds(59_000) }, null],
    ['issued at no readable time', { iat: 'now' }, /no valid time of issue/],
    ['not said when issued', { iat: undefined }, null],
    ['not valid yet', { nbf: seconds(61_000) }, /not valid yet/],
    ['valid a moment ahead of our clock', { nbf: seconds(59_000) }, null],
    ['valid from no readable time', { nbf: {} }, /malformed nbf/],
    ['a subject with a line break', { sub: 'a\nb' }, /subject is malformed/],
    ['a subject that is a number', { sub: 7 }, /subject is malformed/],
    ['an endless subject', { sub: 'x'.repeat(2000) }, /subject is malformed/],
  ];
  for (const [name, change, reason] of cases) {
    test(name, async () => {
      const token = await signed(key, JSON.parse(JSON.stringify({ ...claims, ...change })));
      if (reason === null) await verify(token);
      else await refused(verify(token), reason);
    });
  }

  test('an age where one is requested', async () => {
    const maxAgeMs = 600_000;
    const aged = (iat: number | undefined) => signed(key, { ...claims, ...(iat !== undefined && { iat }) });
    await verify(await aged(seconds(-599_000)), key, { maxAgeMs });
    await refused(verify(await aged(seconds(-601_000)), key, { maxAgeMs }), /too long ago/);
    const { iat, ...without } = claims;
    await refused(verify(await signed(key, without), key, { maxAgeMs }), /no valid time of issue/);
  });

  test('an empty audience of ours matches nothing', async () => {
    await refused(verify(await signed(key, { ...claims, aud: '' }), key, { audience: '' }), /another audience/);
  });
});

describe('forms', () => {
  test('too long, not three parts, not canonical, not an object, with doubled keys, too deep', async () => {
    const good = await signed(key, claims);
    const [header = '', payload = '', signature = ''] = good.split('.');
    const raw = (text: string) => Buffer.from(text).toString('base64url');
    const deep = `{"a":${'['.repeat(40)}${']'.repeat(40)}}`;
    const cases: [string, RegExp][] = [
      ['', /not a signed JWT/],
      ['a.b', /not a signed JWT/],
      [`${good}.x`, /not a signed JWT/],
      [`${good}.x.y`, /not a signed JWT/],
      [` ${good}`, /not a signed JWT/],
      [`${header}..${signature}`, /not a signed JWT/],
      [`${header}=.${payload}.${signature}`, /not a signed JWT/],
      [`${'x'.repeat(TOKEN_LENGTH_MAX)}.x.x`, /too long/],
      [`${raw('[]')}.${payload}.${signature}`, /header is malformed/],
      [`${raw('null')}.${payload}.${signature}`, /header is malformed/],
      [`${raw('{"alg":"none","alg":"RS256"}')}.${payload}.${signature}`, /header is malformed/],
      [`${header}.${raw('{"sub":"a","sub":"b"}')}.${signature}`, /payload is malformed/],
      [`${header}.${raw(deep)}.${signature}`, /payload is malformed/],
      [`${header}.${Buffer.from([0xff, 0xfe]).toString('base64url')}.${signature}`, /payload is malformed/],
      [`${header}.${raw('{"__proto__":{"iss":1}}')}.${signature}`, /payload is malformed/],
      [`eyJhbGciOiJSUzI1NiJ9.${payload}x.${signature}`, /payload is malformed/],
    ];
    for (const [token, reason] of cases) await refused(verify(token), reason);
  });

  test('a refusal repeats nothing of the token', async () => {
    const secret = 'verysecret';
    for (const token of [
      `${secret}.${secret}.${secret}`,
      assembled(`{"alg":"${secret}"`, claims, 'x'),
      assembled({ alg: 'RS256', kid: secret, jku: secret }, claims, 'x'),
      assembled({ alg: 'RS256' }, { ...claims, iss: secret }, 'x'),
      assembled({ alg: 'RS256' }, { ...claims, aud: secret }, 'x'),
      assembled({ alg: 'RS256' }, { ...claims, sub: `${secret}\n` }, 'x'),
    ]) {
      const error = await verify(token).catch((thrown: Error) => thrown);
      assert.ok(error instanceof ExternalIdentityRefusal);
      assert.ok(!JSON.stringify([error.message, error.stack]).includes(secret));
    }
  });
});
