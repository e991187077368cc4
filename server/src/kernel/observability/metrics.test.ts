import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Metrics } from './metrics.ts';

const RESERVED_SUFFIX = /_(?:total|count|sum|bucket)$/;
/** Prometheus wants base units: seconds, bytes and ratios. */
const DERIVED_UNIT =
  /(?:^|_)(?:milli|micro|nano)?(?:ms|us|ns|milliseconds|microseconds|nanoseconds|minutes|hours|days|weeks|kb|mb|gb|kilobytes|megabytes|gigabytes|bits|percent)(?:_|$)/;

/** The rules of `promtool check metrics`. */
test('names and help are as Prometheus’ own check wants them', async () => {
  const metrics = new Metrics();
  metrics.collect('cv_made_by_a_feature', 'A number that a feature looks up.', async () => 1);
  const text = await metrics.registry.metrics();
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [String(name), String(type)]);
  assert.ok(types.length > 20);
  assert.equal(new Set(types.map(([name]) => name)).size, types.length, 'a name is declared twice');
  for (const [name, type] of types as [string, string][]) {
    assert.match(name, /^[a-z][a-z0-9_]*$/);
    assert.equal(name.endsWith('_total'), type === 'counter', `${name} is a ${type}`);
    if (type !== 'counter') assert.doesNotMatch(name, RESERVED_SUFFIX);
    assert.doesNotMatch(name, DERIVED_UNIT);
    assert.ok(!name.includes(type), `${name} says its type`);
    assert.match(text, new RegExp(`^# HELP ${name} \\S`, 'm'));
  }
});
