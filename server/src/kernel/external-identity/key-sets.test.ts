import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { type IssuerKey, json, newIssuerKey, OutsideIssuer } from '../../../../test/support/external-issuer.ts';
import { AddressGuard } from '../outbound/address-guard.ts';
import { HttpClient } from '../outbound/http-client.ts';
import { FAILURE_COOLDOWN_MS, KeySets, type KeySource, MISS_COOLDOWN_MS } from './key-sets.ts';
import { ExternalIdentityRefusal } from './refusal.ts';

const issuer = await OutsideIssuer.start();
after(() => issuer.close());
const [first, second] = [await newIssuerKey('first'), await newIssuerKey('second')];
const http = new HttpClient(new AddressGuard(['127.0.0.1']));
const TTL_MS = 300_000;
const source: KeySource = { owner: 'tenant_a', issuer: issuer.url, jwksUrl: issuer.jwksUrl, ttlMs: TTL_MS };

let now: number;
let sets: KeySets;
function newSets(): void {
  now = 1_000_000;
  sets = new KeySets(http, { now: () => now });
  issuer.keys = [first.jwk];
  issuer.instead.clear();
  issuer.requests.length = 0;
}

const find = (key: Pick<IssuerKey, 'kid'>, from: KeySource = source) => sets.find(from, key.kid, 'ES256');
const fetches = () => issuer.timesRequested('/keys');

async function refused(work: Promise<unknown>, reason: RegExp, code = 'LOGIN_DENIED'): Promise<void> {
  const error = await work.then(
    () => assert.fail('it was found'),
    (thrown) => thrown,
  );
  assert.ok(error instanceof ExternalIdentityRefusal, String(error));
  assert.match(error.message, reason);
  assert.equal(error.code, code);
}
const missing = (work: Promise<unknown>, reason = /no such key/) => refused(work, reason, 'JWKS_KEY_NOT_FOUND');

describe('keeping keys', () => {
  beforeEach(newSets);

  test('they are fetched once for their time, by however many ask at once', async () => {
    await Promise.all(Array.from({ length: 50 }, () => find(first)));
    now += TTL_MS - 1;
    await find(first);
    assert.equal(fetches(), 1);
    now += 1;
    await find(first);
    assert.equal(fetches(), 2);
  });

  test('a key that is gone is not believed longer than that', async () => {
    await find(first);
    issuer.keys = [second.jwk];
    now += TTL_MS;
    await missing(find(first));
    await find(second);
  });

  test('an unknown key id fetches once, then not again until the cool-down is over', async () => {
    await find(first);
    issuer.keys = [first.jwk, second.jwk];
    await find(second);
    assert.equal(fetches(), 2, 'a new key is found at once');
    for (let i = 0; i < 20; i++) await missing(find({ kid: `garbage ${i}` }));
    assert.equal(fetches(), 2);
    now += MISS_COOLDOWN_MS;
    await missing(find({ kid: 'garbage' }));
    await missing(find({ kid: 'garbage' }));
    assert.equal(fetches(), 3);
  });

  test('a fetch that an unknown id caused is waited for by all who look for new keys', async () => {
    await find(first);
    issuer.keys = [second.jwk];
    await Promise.all(Array.from({ length: 20 }, () => find(second)));
    assert.equal(fetches(), 2);
  });

  test('garbage as the first request fetches once', async () => {
    await missing(find({ kid: 'garbage' }));
    assert.equal(fetches(), 1);
  });

  test('a failed fetch keeps known keys until their time is up, and is not repeated at once', async () => {
    await find(first);
    issuer.instead.set('/keys', (_, response) => response.writeHead(500).end());
    await refused(find(second), /the key set cannot be fetched: status 500/);
    await find(first);
    now += TTL_MS;
    await refused(find(first), /status 500/);
    await refused(find(first), /status 500/);
    assert.equal(fetches(), 3);
    issuer.instead.clear();
    now += FAILURE_COOLDOWN_MS;
    await find(first);
  });

  test('they are cached under everything that decides', async () => {
    await find(first);
    for (const other of [
      { owner: 'tenant_b' },
      { ttlMs: 1 },
      { jwksUrl: null },
      { issuer: 'https://other.example' },
      { onlyOpened: true },
    ]) {
      const before = fetches();
      await find(first, { ...source, ...other });
      assert.equal(fetches(), before + 1, JSON.stringify(other));
    }
  });
});

describe('key sets that are not used', () => {
  beforeEach(newSets);

  test('a key id that two keys have is nobody’s, even if one of them is of no use to us', async () => {
    for (const twin of [{ ...second.jwk, kid: 'first' }, { kty: 'oct', k: 'AAAA', kid: 'first' }, { kid: 'first' }]) {
      sets = new KeySets(http, { now: () => now });
      issuer.keys = [first.jwk, twin];
      await missing(find(first), /several keys with this id/);
    }
  });

  test('keys for other uses, private, weak, broken or of unknown kinds are passed over', async () => {
    const { privateKey, ...rsa } = await newIssuerKey('rsa', 'RS256');
    const n = String(rsa.jwk['n']);
    const unfit: Record<string, unknown>[] = [
      { ...first.jwk, use: 'enc' },
      { ...first.jwk, key_ops: ['sign'] },
      { ...first.jwk, alg: 'ES384' },
      { ...first.jwk, alg: 'HS256' },
      { ...first.jwk, d: first.jwk['x'] },
      { ...first.jwk, kid: 7 },
      { ...first.jwk, kty: 'oct', k: 'c2VjcmV0' },
      { ...first.jwk, kty: 'constructor' },
      { ...first.jwk, kty: '__proto__' },
      { ...first.jwk, crv: 'P-384' },
      { ...first.jwk, crv: 'secp256k1' },
      { ...first.jwk, y: first.jwk['x'] },
      { ...first.jwk, x: 1 },
      { ...rsa.jwk, alg: undefined, kid: 'first' },
    ];
    const texts: unknown[] = [null, 1, 'x', []];
    for (const jwk of [...unfit, ...texts]) {
      sets = new KeySets(http, { now: () => now });
      issuer.keys = [jwk as Record<string, unknown>];
      await missing(find(first));
    }
    const weak = [
      { ...rsa.jwk, e: 'AQ' },
      { ...rsa.jwk, n: n.slice(0, 171) },
      { ...rsa.jwk, e: n },
      { ...rsa.jwk, n: n.repeat(6) },
    ];
    for (const jwk of weak) {
      sets = new KeySets(http, { now: () => now });
      issuer.keys = [jwk];
      await missing(sets.find(source, 'rsa', 'RS256'));
    }
    issuer.keys = [rsa.jwk];
    sets = new KeySets(http, { now: () => now });
    assert.equal((await sets.find(source, 'rsa', 'RS256')).key.type, 'public');
  });

  test('a token without a key id is for a set with one fitting key', async () => {
    assert.equal((await sets.find(source, null, 'ES256')).kid, 'first');
    await missing(sets.find(source, null, 'RS256'));
    issuer.keys = [first.jwk, second.jwk];
    now += TTL_MS;
    await refused(sets.find(source, null, 'ES256'), /which of several keys/);
  });

  test('huge, slow, redirecting, compressed, mistyped, malformed', async (t) => {
    const cases: [string, Parameters<typeof issuer.instead.set>[1], RegExp][] = [
      ['huge', (_, r) => json(r, { keys: [], x: 'x'.repeat(300_000) }), /too large/],
      ['redirect', (_, r) => r.writeHead(302, { location: '/keys' }).end(), /redirect/],
      ['gzip', (_, r) => r.writeHead(200, { 'content-encoding': 'gzip' }).end('x'), /compressed/],
      ['type', (_, r) => r.writeHead(200, { 'content-type': 'text/html' }).end('{"keys":[]}'), /is not JSON/],
      ['broken', (_, r) => r.writeHead(200, { 'content-type': 'application/json' }).end('{"keys":[}'), /is not JSON/],
      [
        'doubled',
        (_, r) => r.writeHead(200, { 'content-type': 'application/json' }).end('{"keys":[],"keys":[]}'),
        /is not JSON/,
      ],
      ['none', (_, r) => json(r, {}), /the key set is malformed/],
      ['list', (_, r) => json(r, []), /the key set is malformed/],
      ['many', (_, r) => json(r, { keys: Array.from({ length: 101 }, () => first.jwk) }), /the key set is malformed/],
      ['down', (_, r) => r.destroy(), /the connection failed/],
    ];
    for (const [name, answer, reason] of cases) {
      await t.test(name, async () => {
        sets = new KeySets(http, { now: () => now });
        issuer.instead.set('/keys', answer);
        await refused(find(first), reason);
      });
    }
    await t.test('slow', { timeout: 20_000 }, async () => {
      sets = new KeySets(http, { now: () => now });
      issuer.instead.set('/keys', () => {});
      await refused(find(first), /did not respond in time/);
    });
  });

  test('on hosts that are not public, where the operator opened none', async () => {
    sets = new KeySets(new HttpClient(new AddressGuard([])), { now: () => now });
    await refused(find(first), /not public/);
    const discovered = { ...source, jwksUrl: null };
    await refused(find(first, discovered), /the discovery document cannot be fetched: the host is not public/);
  });
});

describe('discovery', () => {
  beforeEach(newSets);

  const discovered: KeySource = { ...source, jwksUrl: null };
  const DISCOVERY = '/.well-known/openid-configuration';

  test('leads to the keys', async () => {
    await find(first, discovered);
    await find(first, discovered);
    assert.deepEqual(issuer.requests, [DISCOVERY, '/keys']);
  });

  test('the issuer must be the very one', async () => {
    for (const other of [
      `${issuer.url}/`,
      issuer.url.toUpperCase(),
      'https://other.example',
      '',
      undefined,
      [issuer.url],
    ]) {
      sets = new KeySets(http, { now: () => now });
      issuer.instead.set(DISCOVERY, (_, response) => json(response, { issuer: other, jwks_uri: issuer.jwksUrl }));
      await refused(find(first, discovered), /names another issuer/);
    }
    assert.equal(fetches(), 0);
    // An issuer that ends with a slash is discovered without a double slash, and is still compared with its slash.
    const slashed = { ...discovered, issuer: `${issuer.url}/` };
    sets = new KeySets(http, { now: () => now });
    issuer.instead.clear();
    await refused(find(first, slashed), /names another issuer/);
  });

  test('the key set must be somewhere we may go', async () => {
    const places: [unknown, RegExp][] = [
      ['http://10.0.0.1/keys', /not public/],
      ['http://169.254.169.254/latest', /not public/],
      ['file:///etc/passwd', /no usable key set/],
      [`http://user@127.0.0.1/`, /no usable key set/],
      [undefined, /no usable key set/],
    ];
    for (const [jwks_uri, reason] of places) {
      sets = new KeySets(http, { now: () => now });
      issuer.instead.set(DISCOVERY, (_, response) => json(response, { issuer: issuer.url, jwks_uri }));
      await refused(find(first, discovered), reason);
    }
  });
});
