import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Moment } from './moment.ts';

test('is known to who asks at the same time, and to nobody after it', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const moment = new Moment<string, number>();
  moment.set('a', 1);
  t.mock.timers.tick(1);
  moment.set('b', 2);
  assert.deepEqual([moment.get('a'), moment.get('b'), moment.get('c')], [1, 2, undefined]);
  t.mock.timers.tick(1);
  assert.deepEqual([moment.get('a'), moment.get('b')], [undefined, undefined]);
  moment.set('a', 3);
  assert.equal(moment.get('a'), 3);
  t.mock.timers.tick(2);
  assert.equal(moment.get('a'), undefined);
});
