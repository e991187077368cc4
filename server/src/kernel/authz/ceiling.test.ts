import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Compile } from 'typebox/compile';
import {
  type CeilingInput,
  compileCeiling,
  IpAllowlist,
  needsDecisionPerSecret,
  Scope,
  withinCeiling,
} from './ceiling.ts';
import { isInSome } from './path-ranges.ts';
import { pathScope } from './path-scope.ts';
import { PolicyError } from './policy.ts';

type Row = [name: string, input: CeilingInput, action: string, resource: string, expected: 'ok' | 'scope' | 'ip'];
const APP: CeilingInput = { scope: { vaults: ['app', 'team-*'] } };
const READ: CeilingInput = { scope: { actions: ['secrets:read', '*:list'] } };
const HOME: CeilingInput = { ip_allowlist: ['10.0.0.0/8'] };

const rows: Row[] = [
  ['nothing restricted', {}, 'tenant:delete', 'tenant', 'ok'],
  ['an empty scope restricts nothing', { scope: {} }, 'tenant:delete', 'tenant', 'ok'],
  ['the vault itself', APP, 'vaults:read', 'vault/app', 'ok'],
  ['below the vault', APP, 'secrets:read', 'vault/app/a/b', 'ok'],
  ['a name that only begins so', APP, 'secrets:read', 'vault/app2/x', 'scope'],
  ['a name in another case', APP, 'secrets:read', 'vault/App/x', 'scope'],
  ['a name pattern', APP, 'secrets:read', 'vault/team-red/x', 'ok'],
  ['a name pattern stays in the name', APP, 'secrets:read', 'vault/x/team-red', 'scope'],
  ['another vault', APP, 'secrets:read', 'vault/other/app', 'scope'],
  ['all vaults', APP, 'vaults:list', 'vault', 'scope'],
  ['own things', APP, 'tokens:list', 'self', 'ok'],
  ['below own things', APP, 'tokens:list', 'self/tokens', 'ok'],
  ['a token of its own, which inherits the bound', APP, 'tokens:create', 'self/tokens', 'ok'],
  ['another token of its owner', APP, 'tokens:delete', 'self/tokens/x', 'scope'],
  ['the password of its owner', APP, 'password:update', 'self/password', 'scope'],
  ['the second factor of its owner', APP, 'mfa:enrol', 'self/mfa', 'scope'],
  ['what only begins like own things', APP, 'tokens:list', 'selfish', 'scope'],
  ['other resources', APP, 'audit:read', 'audit', 'scope'],
  ['another spelling', APP, 'secrets:read', 'vault/app/../other/x', 'scope'],
  ['another spelling of own things', APP, 'secrets:read', 'self/../vault/other/x', 'scope'],
  ['star is not everything', { scope: { vaults: ['*'] } }, 'audit:read', 'audit', 'scope'],
  ['star is every vault', { scope: { vaults: ['*'] } }, 'secrets:read', 'vault/any/a/b', 'ok'],
  ['no vaults', { scope: { vaults: [] } }, 'secrets:read', 'vault/app/x', 'scope'],
  ['an action listed', READ, 'secrets:read', 'vault/app/x', 'ok'],
  ['an action by pattern', READ, 'users:list', 'user', 'ok'],
  ['an action not listed', READ, 'secrets:write', 'vault/app/x', 'scope'],
  ['an action not listed, on own things', READ, 'tokens:create', 'self/tokens', 'scope'],
  ['no actions', { scope: { actions: [] } }, 'secrets:read', 'vault/app/x', 'scope'],
  ['address inside', HOME, 'secrets:read', 'vault/app/x', 'ok'],
  ['address outside', { ip_allowlist: ['192.0.2.0/24'] }, 'secrets:read', 'vault/app/x', 'ip'],
  ['nobody', { ip_allowlist: [] }, 'secrets:read', 'vault/app/x', 'ip'],
];

describe('one ceiling', () => {
  for (const [name, input, action, resource, expected] of rows) {
    test(`${name}: ${expected}`, () => {
      const request = { action, resource, context: { ip: '10.0.0.1', time: 0 } };
      assert.equal(withinCeiling([compileCeiling(input)], request), expected);
    });
  }

  test('an unknown address is not in any list', () => {
    for (const ip of [undefined, '', 'localhost', '10.1']) {
      const request = { action: 'secrets:read', resource: 'vault/app/x', context: { ip, time: 0 } };
      assert.equal(withinCeiling([compileCeiling(HOME)], request), 'ip');
      assert.equal(withinCeiling([compileCeiling(APP)], request), 'ok');
    }
  });
});

test('every ceiling must hold, and the address is checked first whatever the order', () => {
  const request = { action: 'secrets:write', resource: 'vault/app/x', context: { ip: '192.0.2.1', time: 0 } };
  const [app, read, home] = [compileCeiling(APP), compileCeiling(READ), compileCeiling(HOME)];
  assert.equal(withinCeiling([], request), 'ok');
  assert.equal(withinCeiling([app], request), 'ok');
  assert.equal(withinCeiling([app, read], request), 'scope');
  assert.equal(withinCeiling([app, read, home], request), 'ip');
  assert.equal(withinCeiling([home, read, app], request), 'ip');
});

test('what cannot be compiled is refused with its place', () => {
  const refused: [CeilingInput, string][] = [
    [{ scope: { vaults: ['ok', 'a/b'] } }, '/scope/vaults/1'],
    [{ scope: { vaults: ['**'] } }, '/scope/vaults/0'],
    [{ scope: { actions: ['Secrets:read'] } }, '/scope/actions/0'],
    [{ ip_allowlist: ['10.0.0.0/8', '10.0.0.1/8'] }, '/ip_allowlist/1'],
    [{ ip_allowlist: ['10.0.0.1', '10.1'] }, '/ip_allowlist/1'],
  ];
  for (const [input, pointer] of refused) {
    assert.throws(
      () => compileCeiling(input),
      (error) => error instanceof PolicyError && error.pointer === pointer,
    );
  }
});

test('the wire schemas are strict and bounded', () => {
  const scope = Compile(Scope);
  const allowlist = Compile(IpAllowlist);
  for (const value of [{}, { vaults: [] }, { actions: ['*'] }, { vaults: ['a'], actions: [] }])
    assert.ok(scope.Check(value));
  for (const value of [{ vault: ['a'] }, { vaults: 'a' }, { vaults: null }, { vaults: Array(65).fill('a') }, null]) {
    assert.ok(!scope.Check(value));
  }
  assert.ok(allowlist.Check(Array(64).fill('10.0.0.0/8')));
  assert.ok(!allowlist.Check(Array(65).fill('10.0.0.0/8')));
});

describe('whether the place of a secret alone decides what a ceiling allows', () => {
  const open = compileCeiling({});
  const limitedTo = (...paths: string[]) => ({ ...open, places: pathScope(new Set(['app']), paths, '/paths') });

  test('without places or an environment, and where all patterns cover whole ranges', () => {
    assert.equal(needsDecisionPerSecret([open], 'app'), false);
    assert.equal(needsDecisionPerSecret([limitedTo('*')], 'app'), false);
    assert.equal(needsDecisionPerSecret([limitedTo('db/*', 'web/key')], 'app'), false);
  });

  test('not with an environment, or a pattern that matches only a part of its range', () => {
    assert.equal(needsDecisionPerSecret([open, { ...open, environment: 'production' }], 'app'), true);
    assert.equal(needsDecisionPerSecret([limitedTo('db/*', 'a*/key')], 'app'), true);
  });

  test('patterns that cover their ranges match everything there and nothing elsewhere', () => {
    const places = pathScope(new Set(['app']), ['db/*', 'web/key'], '/paths');
    const { ranges } = places.rangesIn('app');
    for (const path of ['db/a', 'db/a/b', 'db', 'dba', 'web/key', 'web/keys', 'web/key/x'])
      assert.equal(places.matches(`vault/app/${path}`), isInSome(ranges, path), path);
  });
});
