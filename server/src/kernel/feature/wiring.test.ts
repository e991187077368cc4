import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Tx } from '../storage/database.ts';
import type { Feature } from './feature.ts';
import { type Announcer, port, removalOf } from './links.ts';
import { Wiring } from './wiring.ts';

const TX = {} as Tx;

const factorSince = port<(tx: Tx, tenantId: string, userId: string) => Promise<number | null>>('factorSince');
const boxRemoved = removalOf<[tx: Tx, tenantId: string, boxId: string], number>('box');

function feature(parts: Partial<Feature>): Feature {
  return { name: 'test', endpoints: [], provides: [], removals: [], ...parts };
}

describe('ports', () => {
  test('a needed function calls the one that another feature provides', async () => {
    const wiring = new Wiring();
    const needed = wiring.need(factorSince.name);
    const calls: unknown[] = [];
    const provided = async (...args: unknown[]) => {
      calls.push(args);
      return 7;
    };
    wiring.connect([feature({ provides: [factorSince.by(provided)] })]);
    assert.equal(await needed(TX, 'tenant_1', 'user_1'), 7);
    assert.deepEqual(calls, [[TX, 'tenant_1', 'user_1']]);
  });

  test('a function that nobody provides, or two, or that nobody needs, does not start', () => {
    const provides = [factorSince.by(async () => null)];
    const needing = () => {
      const wiring = new Wiring();
      wiring.need(factorSince.name);
      return wiring;
    };
    assert.throws(() => needing().connect([]), /nobody provides the port factorSince/);
    assert.throws(() => needing().connect([feature({ provides }), feature({ provides })]), /which another feature/);
    assert.throws(() => new Wiring().connect([feature({ provides })]), /nobody needs the port factorSince/);
    needing().connect([feature({ provides })]);
  });

  test('nothing is called before the features are connected, and they are connected once', async () => {
    const wiring = new Wiring();
    const needed = wiring.need(factorSince.name);
    const removed = wiring.announcer(boxRemoved.name);
    assert.throws(() => needed(TX, 'tenant_1', 'user_1'), /before all of them are connected/);
    await assert.rejects(removed(TX, 'tenant_1', 'box_1'), /before all of them are connected/);
    assert.throws(() => wiring.declarations, /before all of them are connected/);
    assert.throws(() => wiring.approvalHooks, /before all of them are connected/);
    wiring.connect([feature({ provides: [factorSince.by(async () => null)] })]);
    assert.throws(() => wiring.connect([]), /connected already/);
  });
});

describe('removals', () => {
  test('every subscriber runs, one after the other, and their results are returned', async () => {
    const wiring = new Wiring();
    const removed = wiring.announcer(boxRemoved.name) as Announcer<typeof boxRemoved>;
    const events: string[] = [];
    const subscriber = (name: string, count: number) => async (_: Tx, tenantId: string, boxId: string) => {
      events.push(`${name} begins ${tenantId} ${boxId}`);
      await new Promise(setImmediate);
      events.push(`${name} ends`);
      return count;
    };
    wiring.connect([
      feature({ removals: [boxRemoved.by(subscriber('one', 3))] }),
      feature({}),
      feature({ removals: [boxRemoved.by(subscriber('two', 0))] }),
    ]);
    assert.deepEqual(await removed(TX, 'tenant_1', 'box_1'), [3, 0]);
    const begins = (name: string) => `${name} begins tenant_1 box_1`;
    assert.deepEqual(events, [begins('one'), 'one ends', begins('two'), 'two ends']);
  });

  test('a subscriber that fails fails the removal', async () => {
    const wiring = new Wiring();
    const removed = wiring.announcer(boxRemoved.name);
    wiring.connect([feature({ removals: [boxRemoved.by(() => Promise.reject(new Error('locked')))] })]);
    await assert.rejects(removed(TX, 'tenant_1', 'box_1'), /locked/);
  });

  test('a subscription to a removal that nobody announces does not start', () => {
    const subscribed = feature({ removals: [boxRemoved.by(async () => 0)] });
    assert.throws(() => new Wiring().connect([subscribed]), /nobody announces the removal box/);
  });
});

test('two features cannot have hooks for the same kind of approval', () => {
  const hooked = () => feature({ approvalHooks: { vault_delete: {} } });
  assert.throws(() => new Wiring().connect([hooked(), hooked()]), /hooks for vault_delete/);
  const wiring = new Wiring();
  wiring.connect([hooked(), feature({ approvalHooks: { eaas_key_delete: {} } })]);
  assert.deepEqual(Object.keys(wiring.approvalHooks), ['vault_delete', 'eaas_key_delete']);
});
