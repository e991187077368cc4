import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Tx } from '../storage/database.ts';
import type { Feature } from './feature.ts';
import type { Kernel } from './kernel.ts';
import { perKernel, Wiring } from './wiring.ts';

const TX = {} as Tx;

function feature(parts: Partial<Feature>): Feature {
  return { name: 'test', endpoints: [], ...parts };
}

describe('ports', () => {
  test('a needed function calls the one that another feature provides', async () => {
    const wiring = new Wiring();
    const { secondFactorSince } = wiring.needs('secondFactorSince');
    const asked: unknown[] = [];
    const provider = async (...args: unknown[]) => {
      asked.push(args);
      return 7;
    };
    wiring.connect([feature({ provides: { secondFactorSince: provider } })]);
    assert.equal(await secondFactorSince(TX, 'tenant_1', 'user_1'), 7);
    assert.deepEqual(asked, [[TX, 'tenant_1', 'user_1']]);
  });

  test('a function that nobody provides, or two, or that nobody needs, does not start', () => {
    const provides = { secondFactorSince: async () => null };
    const needing = () => {
      const wiring = new Wiring();
      wiring.needs('secondFactorSince');
      return wiring;
    };
    assert.throws(() => needing().connect([]), /nobody provides the port secondFactorSince/);
    assert.throws(() => needing().connect([feature({ provides }), feature({ provides })]), /which another feature/);
    assert.throws(() => new Wiring().connect([feature({ provides })]), /nobody needs the port secondFactorSince/);
    needing().connect([feature({ provides })]);
  });

  test('nothing is called before the features are connected, and they are connected once', async () => {
    const wiring = new Wiring();
    const { secondFactorSince } = wiring.needs('secondFactorSince');
    const removed = wiring.removal('user');
    assert.throws(() => secondFactorSince(TX, 'tenant_1', 'user_1'), /before all of them are connected/);
    await assert.rejects(removed(TX, 'tenant_1', 'user_1'), /before all of them are connected/);
    assert.throws(() => wiring.declarations, /before all of them are connected/);
    assert.throws(() => wiring.approvalHooks, /before all of them are connected/);
    wiring.connect([feature({ provides: { secondFactorSince: async () => null } })]);
    assert.throws(() => wiring.connect([]), /connected already/);
  });
});

describe('removals', () => {
  test('every subscriber runs, one after the other, and their results are returned', async () => {
    const wiring = new Wiring();
    const removed = wiring.removal('vaultContents');
    const events: string[] = [];
    const subscriber = (name: string, count: number) => async (_: Tx, tenantId: string, vaultId: string) => {
      events.push(`${name} begins ${tenantId} ${vaultId}`);
      await new Promise(setImmediate);
      events.push(`${name} ends`);
      return count;
    };
    wiring.connect([
      feature({ removals: { vaultContents: subscriber('one', 3) } }),
      feature({}),
      feature({ removals: { vaultContents: subscriber('two', 0) } }),
    ]);
    assert.deepEqual(await removed(TX, 'tenant_1', 'vault_1', 10), [3, 0]);
    const begins = (name: string) => `${name} begins tenant_1 vault_1`;
    assert.deepEqual(events, [begins('one'), 'one ends', begins('two'), 'two ends']);
  });

  test('a subscriber that fails fails the removal', async () => {
    const wiring = new Wiring();
    const removed = wiring.removal('user');
    wiring.connect([feature({ removals: { user: () => Promise.reject(new Error('locked')) } })]);
    await assert.rejects(removed(TX, 'tenant_1', 'user_1'), /locked/);
  });

  test('a subscription to a removal that nobody announces does not start', () => {
    const subscribed = feature({ removals: { user: async () => {} } });
    assert.throws(() => new Wiring().connect([subscribed]), /nobody announces the removal user/);
  });
});

test('two features cannot have hooks for the same kind of approval', () => {
  const hooked = () => feature({ approvalHooks: { vault_delete: {} } });
  assert.throws(() => new Wiring().connect([hooked(), hooked()]), /hooks for vault_delete/);
  const wiring = new Wiring();
  wiring.connect([hooked(), feature({ approvalHooks: { eaas_key_delete: {} } })]);
  assert.deepEqual(Object.keys(wiring.approvalHooks), ['vault_delete', 'eaas_key_delete']);
});

test('features that share an instance get the same one for the same kernel', () => {
  const shared = perKernel((kernel) => ({ kernel }));
  const [one, other] = [{}, {}] as Kernel[] as [Kernel, Kernel];
  assert.equal(shared(one), shared(one));
  assert.equal(shared(one).kernel, one);
  assert.notEqual(shared(one), shared(other));
});
