import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DECLARATIONS } from '../../tools/declarations.ts';
import { CofferError } from '../base/errors.ts';
import type { Call } from './call.ts';
import { ForwardedRequest, type Home, RegionGate, type Regions } from './region-gate.ts';

const ELSEWHERE: Home = { kind: 'elsewhere', region: 'us' };
const URL_OF_US = 'https://us.example.com';

/** What the directory could say, for a region `eu`. */
function regionsOf(known: Partial<Regions> & { home: Home }): Regions {
  return {
    name: 'eu',
    homeOf: () => known.home,
    homeIn: async () => known.home,
    urlOf: (region) => (region === 'us' ? URL_OF_US : null),
    isReachable: () => true,
    hasLease: () => true,
    foreignToken: async () => null,
    isRevoked: async () => false,
    publishRevoked: async () => {},
    ...known,
  };
}

const declared = (name: string) => DECLARATIONS.find((one) => one.name === name) ?? assert.fail(name);
const READ = declared('listVaults');
const CHANGE = declared('createVault');
const LOCAL_CHANGE = declared('createToken');

function admitted(regions: Regions, declaration = READ, url = '/v1/vaults?limit=1', headers: Call['headers'] = {}) {
  const gate = new RegionGate();
  gate.use(regions);
  const call: Call = {
    requestId: 'req_1',
    method: declaration.method,
    url,
    headers,
    params: {},
    body: undefined,
    address: '127.0.0.1',
    certificate: null,
  };
  return () => gate.admit(call, declaration, 'tenant_1', 1);
}

function refusedWith(code: string, status: number): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof CofferError, String(error));
    assert.deepEqual([error.code, error.status], [code, status]);
    return true;
  };
}

describe('a request for a tenant', () => {
  test('of this region is handled, and one of another region is forwarded to its configured URL', () => {
    assert.equal(admitted(regionsOf({ home: { kind: 'here', isAssigned: true } }))(), undefined);
    assert.throws(admitted(regionsOf({ home: ELSEWHERE }), READ, '/v1/vaults?limit=1'), (error) => {
      assert.ok(error instanceof ForwardedRequest);
      assert.deepEqual(error.headers, {
        Location: `${URL_OF_US}/v1/vaults?limit=1`,
        'X-Svc-Region-Origin': 'eu',
      });
      return true;
    });
  });

  test('of a region that is not configured here, or cannot be reached, is refused for now', () => {
    const unknown = regionsOf({ home: { kind: 'elsewhere', region: 'ap' } });
    assert.throws(admitted(unknown), refusedWith('UNAVAILABLE', 503));
    const cutOff = regionsOf({ home: ELSEWHERE, isReachable: () => false });
    assert.throws(admitted(cutOff), refusedWith('UNAVAILABLE', 503));
    assert.throws(admitted(cutOff, CHANGE), refusedWith('UNAVAILABLE', 503));
  });

  test('whose target is no path is not forwarded: it could name another host', () => {
    const regions = regionsOf({ home: ELSEWHERE });
    for (const target of ['@evil.example/v1/vaults', 'http://evil.example/v1/vaults', '.evil.example/', '*', '']) {
      assert.throws(admitted(regions, READ, target), refusedWith('INVALID_REQUEST', 400), target);
    }
  });

  test('that was here before is a loop', () => {
    const regions = regionsOf({ home: ELSEWHERE });
    const passed = (list: string) => admitted(regions, READ, '/v1/vaults', { 'x-svc-region-origin': list });
    assert.throws(passed('us, eu'), refusedWith('REGION_LOOP', 508));
    assert.throws(passed('us;eu'), refusedWith('INVALID_REQUEST', 400));
    assert.throws(passed('us'), ForwardedRequest);
  });

  test('that is not forwarded may read here, and changes nothing', () => {
    const regions = regionsOf({ home: ELSEWHERE });
    assert.equal(admitted(regions, declared('readMe'))(), undefined);
    assert.throws(admitted(regions, LOCAL_CHANGE), refusedWith('REGION_FENCED', 409));
  });

  test('waits while this region takes over', () => {
    const regions = regionsOf({ home: { kind: 'starting' } });
    for (const declaration of [READ, CHANGE, LOCAL_CHANGE]) {
      assert.throws(admitted(regions, declaration), refusedWith('UNAVAILABLE', 503));
    }
  });
});

describe('a change', () => {
  test('needs a lease, unless the tenant belongs to no region', async () => {
    const gate = new RegionGate();
    const withoutLease = (home: Home) => regionsOf({ home, hasLease: () => false });
    gate.use(withoutLease({ kind: 'here', isAssigned: true }));
    await assert.rejects(gate.requireLease('tenant_1', 1, false), refusedWith('UNAVAILABLE', 503));
    gate.use(withoutLease({ kind: 'here', isAssigned: false }));
    await gate.requireLease('tenant_1', 1, false);
    gate.use(regionsOf({ home: { kind: 'here', isAssigned: true } }));
    await gate.requireLease('tenant_1', 1, false);
  });

  test('passes where there are no regions', async () => {
    const gate = new RegionGate();
    await gate.requireLease('tenant_1', 1, false);
    assert.deepEqual(
      [gate.isOn, await gate.isServedHere('tenant_1'), await gate.isRevoked('t', 'tenant_1')],
      [false, true, false],
    );
  });
});
