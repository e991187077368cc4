import assert from 'node:assert/strict';
import { test } from 'node:test';
import { severityOf } from './severity.ts';

test('the farther past its threshold, the more severe; of a production fortress secret always critical', () => {
  const ratios = [1, 1.99, 2, 3.99, 4, 7.99, 8, 1000];
  assert.deepEqual(
    ratios.map((ratio) => severityOf(ratio, false)),
    ['low', 'low', 'medium', 'medium', 'high', 'high', 'critical', 'critical'],
  );
  assert.equal(severityOf(1, true), 'critical');
});
