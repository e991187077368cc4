import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Kernel } from '../request/kernel.ts';
import { FeatureBuilder } from './builder.ts';
import { type DeclaredFeature, feature } from './declaration.ts';
import { port, removalOf, shared } from './links.ts';
import { Wiring } from './wiring.ts';

const KERNEL = { nodeId: 'node_1', version: '1.0.0' } as Kernel;

const lengthOf = port<(text: string) => Promise<number>>('lengthOf');
const textRemoved = removalOf<[text: string]>('text');
const sharedCache = shared<Map<string, string>>('cache');
const sharedName = shared<string>('name');

function assembled(...features: DeclaredFeature[]) {
  const wiring = new Wiring();
  const builder = new FeatureBuilder(KERNEL, wiring, features, [sharedName.as('coffer')]);
  wiring.connect(builder.buildAll());
  return builder;
}

describe('what a feature is built with', () => {
  test('is exactly what it declares', () => {
    let given: object = {};
    const user = feature({
      name: 'user',
      uses: ['nodeId'],
      needs: { lengthOf, cache: sharedCache, name: sharedName },
      removes: { textRemoved },
      build(parts) {
        given = { ...parts };
        return {};
      },
    });
    const cache = new Map<string, string>();
    const owner = feature({
      name: 'owner',
      shares: [sharedCache],
      build: () => ({ shares: [sharedCache.as(cache)], provides: [lengthOf.by(async (text) => text.length)] }),
    });
    assembled(user, owner);
    assert.deepEqual(Object.keys(given).sort(), ['cache', 'lengthOf', 'name', 'nodeId', 'textRemoved']);
    assert.partialDeepStrictEqual(given, { cache, name: 'coffer', nodeId: 'node_1' });
  });

  test('reaches the features that provide, subscribe and share, whichever is listed first', async () => {
    const events: string[] = [];
    const user = feature({
      name: 'user',
      needs: { lengthOf, cache: sharedCache },
      removes: { textRemoved },
      build: ({ lengthOf: length, cache, textRemoved: announce }) => ({
        settled: async () => {
          events.push(`${cache.get('key')} ${await length('four')}`);
          await announce('four');
        },
      }),
    });
    const owner = feature({
      name: 'owner',
      shares: [sharedCache],
      build: () => ({
        shares: [sharedCache.as(new Map([['key', 'cached']]))],
        provides: [lengthOf.by(async (text) => text.length)],
        removals: [textRemoved.by(async (text) => void events.push(`${text} is removed`))],
      }),
    });
    for (const order of [
      [user, owner],
      [owner, user],
    ]) {
      events.length = 0;
      const wiring = new Wiring();
      const features = new FeatureBuilder(KERNEL, wiring, order).buildAll();
      wiring.connect(features);
      for (const built of features) await built.settled?.();
      assert.deepEqual(events, ['cached 4', 'four is removed']);
      assert.deepEqual(
        features.map(({ name }) => name),
        order.map(({ name }) => name),
      );
    }
  });
});

describe('what does not start', () => {
  const sharing = (name: string) =>
    feature({ name, shares: [sharedCache], build: () => ({ shares: [sharedCache.as(new Map())] }) });
  const needing = feature({ name: 'needing', needs: { cache: sharedCache }, build: () => ({}) });

  test('an object that no feature shares, or that two share', () => {
    assert.throws(() => assembled(needing), /needing needs cache, which no feature shares/);
    assert.throws(() => assembled(sharing('one'), sharing('two')), /two shares cache, which another feature shares/);
    assert.ok(assembled(needing, sharing('one')).shared(sharedCache) instanceof Map);
  });

  test('a feature that shares other objects than it declares', () => {
    const idle = feature({ name: 'idle', shares: [sharedCache], build: () => ({}) });
    assert.throws(() => assembled(idle), /idle declares that it shares cache, and does not/);
    const secretive = feature({ name: 'secretive', build: () => ({ shares: [sharedCache.as(new Map())] }) });
    assert.throws(() => assembled(secretive), /secretive shares cache and does not declare it/);
  });

  test('features that need objects of each other', () => {
    const first = shared<string>('first');
    const second = shared<string>('second');
    const one = feature({ name: 'one', needs: { second }, shares: [first], build: () => ({}) });
    const two = feature({ name: 'two', needs: { first }, shares: [second], build: () => ({}) });
    assert.throws(() => assembled(one, two), /need objects of each other: one → two → one/);
  });

  test('two parts of the same name', () => {
    const twice = feature({ name: 'twice', uses: ['nodeId'], needs: { nodeId: sharedName }, build: () => ({}) });
    assert.throws(() => assembled(twice), /twice declares nodeId twice/);
  });
});
