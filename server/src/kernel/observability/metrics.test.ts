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
  const byName = async () => [{ name: 'one', value: 2 }];
  metrics.collectBy({ name: 'cv_looked_up_by_name', help: 'Numbers by name.', labels: ['name'] }, byName);
  metrics.collectBy({ name: 'cv_stored_by_name_total', help: 'Stored totals by name.', labels: ['name'] }, byName);
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

test('a gauge by label shows what its last collection returned, and no label that it left out', async () => {
  const metrics = new Metrics();
  let found = [
    { name: 'one', value: 2 },
    { name: 'two', value: 3 },
  ];
  for (const name of ['cv_looked_up', 'cv_looked_up_total']) {
    metrics.collectBy({ name, help: 'Numbers by name.', labels: ['name'] }, async () => found);
  }
  const shown = async () =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('cv_looked'));
  assert.equal((await shown()).length, 4);
  found = [{ name: 'one', value: 5 }];
  assert.deepEqual(await shown(), ['cv_looked_up{name="one"} 5', 'cv_looked_up_total{name="one"} 5']);
});
