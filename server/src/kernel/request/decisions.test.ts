import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../auth/principal.ts';
import { compileCeiling } from '../authz/ceiling.ts';
import { Decisions } from './decisions.ts';

const CALLER: Principal = {
  kind: 'user',
  tenantId: 'tenant_a',
  tenantName: 'a',
  isOperator: false,
  plan: 'enterprise',
  tenantRates: {},
  id: 'user_a',
  name: 'a@example.com',
  displayName: 'A',
  role: 'admin',
  credential: 'pat',
  credentialId: 'token_a',
  tokenRates: {},
  ceilings: [],
  policies: [],
  signedInAt: null,
  mfaAt: null,
  factorTrustedFrom: null,
  mustEnrol: false,
  expiresAt: Number.MAX_SAFE_INTEGER,
};

test('what would be decided alike stands, also where the caller is another object', async () => {
  const decisions = new Decisions();
  const isRestricted = ({ ceilings }: Principal) => ceilings.length > 0;
  decisions.add(isRestricted, isRestricted(CALLER));
  decisions.add(() => [{ from: '', to: 'x' }], [{ from: '', to: 'x' }]);
  assert.ok(await decisions.standFor({ ...CALLER, displayName: 'B' }, CALLER));
});

test('one thing that would be decided otherwise is enough, whichever way', async () => {
  const isRestricted = ({ ceilings }: Principal) => ceilings.length > 0;
  const restricted = { ...CALLER, ceilings: [compileCeiling({ ip_allowlist: ['10.0.0.0/8'] })] };
  for (const [before, now] of [
    [CALLER, restricted],
    [restricted, CALLER],
  ] as const) {
    const decisions = new Decisions();
    decisions.add(() => true, true);
    decisions.add(isRestricted, isRestricted(before));
    assert.ok(await decisions.standFor(before, before));
    assert.equal(await decisions.standFor(now, before), false);
  }
});

test('what rules read off the caller counts without having been evaluated', async () => {
  const changes: Partial<Principal>[] = [{ role: 'member' }, { plan: 'starter' }, { mfaAt: 1 }, { isOperator: true }];
  for (const change of changes) assert.equal(await new Decisions().standFor({ ...CALLER, ...change }, CALLER), false);
});
