import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CeilingInput, compileCeiling, withinCeiling } from './ceiling.ts';
import { effectiveCeiling } from './effective-ceiling.ts';

const vaults = (...names: string[]): CeilingInput => ({ scope: { vaults: names } });
const actions = (...names: string[]): CeilingInput => ({ scope: { actions: names } });
const from = (...ranges: string[]): CeilingInput => ({ ip_allowlist: ranges });

test('what several ceilings leave together is written as one', () => {
  const cases: [CeilingInput[], ReturnType<typeof effectiveCeiling>['scope'], string[] | null][] = [
    [[], null, null],
    [[{}], null, null],
    [[vaults('ci')], { vaults: ['ci'] }, null],
    [[vaults('ci'), {}], { vaults: ['ci'] }, null],
    [[vaults('ci'), vaults('*')], { vaults: ['ci'] }, null],
    [[vaults('*'), vaults('ci', 'cd')], { vaults: ['ci', 'cd'] }, null],
    [[vaults('ci-*', 'cd'), vaults('ci-a', 'cd', 'other')], { vaults: ['ci-a', 'cd'] }, null],
    [[vaults('ci'), vaults('cd')], { vaults: [] }, null],
    [[vaults('ci'), actions('secrets:read')], { vaults: ['ci'], actions: ['secrets:read'] }, null],
    [[actions('secrets:*'), actions('*:read')], { actions: ['secrets:read'] }, null],
    [[actions('*'), actions('secrets:*')], { actions: ['secrets:*'] }, null],
    [[actions('secrets:read'), actions('*')], { actions: ['secrets:read'] }, null],
    [[actions('secrets:read'), actions('vaults:read')], { actions: [] }, null],
    [[from('10.0.0.0/8'), from('10.1.0.0/16', '192.0.2.1')], null, ['10.1.0.0/16']],
    [[from('10.1.2.3'), from('10.0.0.0/8')], null, ['10.1.2.3']],
    [[from('10.0.0.0/8'), from('::/0')], null, []],
  ];
  for (const [ceilings, scope, ip_allowlist] of cases) {
    assert.deepEqual(effectiveCeiling(ceilings), { scope, ip_allowlist, inexpressible: null });
  }
  assert.equal(effectiveCeiling([vaults('pay-*'), vaults('*-prod')]).inexpressible, '*-prod');
});

test('it allows what all of them allow, and nothing else', () => {
  const chains = [
    [vaults('ci-*', 'x'), vaults('ci-*-a', 'y', 'x'), actions('secrets:*', 'vaults:read')],
    [actions('*:read', 'secrets:*'), actions('secrets:read', '*:list')],
    [vaults('*'), vaults('a*'), vaults('ab')],
    [from('10.0.0.0/8', '2001:db8::/32'), from('10.1.0.0/16', '2001:db8:1::/48')],
  ];
  const names = ['ci-1', 'ci-1-a', 'x', 'y', 'a', 'ab', 'abc'];
  const all = names.flatMap((vault) =>
    ['secrets:read', 'secrets:list', 'secrets:update', 'vaults:read', 'vaults:list'].flatMap((action) =>
      ['10.1.0.1', '10.2.0.1', '192.0.2.1', '2001:db8:1::1', '2001:db8:2::1'].map((ip) => ({
        action,
        resource: `vault/${vault}`,
        context: { ip, time: 0 },
      })),
    ),
  );
  for (const chain of chains) {
    const { scope, ip_allowlist, inexpressible } = effectiveCeiling(chain);
    assert.equal(inexpressible, null);
    const one = compileCeiling({ scope: scope ?? undefined, ip_allowlist: ip_allowlist ?? undefined });
    for (const request of all) {
      const isAllowed = withinCeiling(chain.map(compileCeiling), request) === 'ok';
      assert.equal(withinCeiling([one], request) === 'ok', isAllowed, JSON.stringify([chain, request]));
    }
  }
});
