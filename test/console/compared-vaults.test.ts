import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparedRow, planCopies } from '../../console/src/compare/data.ts';

const column = (environment: string, secrets: Record<string, string>) => ({
  name: environment,
  environment,
  is_zero_knowledge: false,
  mayCreate: true,
  mayUpdate: true,
  secrets: new Map(Object.entries(secrets).map(([path, own]) => [path, { version: 1, environment: own }])),
});
const stepIn = async (from: string, own: string, to: string) => {
  const [planned] = await planCopies(column(from, { key: own }), column(to, {}), ['key'], async () => true);
  return planned?.step;
};

test('a secret takes the environment of the vault that it is copied to; one of production does not leave it', async () => {
  assert.equal(await stepIn('development', 'development', 'production'), 'copy');
  assert.equal(await stepIn('staging', 'staging', 'homologation'), 'copy');
  assert.equal(await stepIn('production', 'production', 'production'), 'copy');
  assert.equal(await stepIn('production', 'production', 'development'), 'environment');
  assert.equal(await stepIn('development', 'staging', 'production'), 'environment');
});

test('what is not there or may not be copied is left out', async () => {
  const source = column('development', { one: 'development', two: 'development' });
  const planned = await planCopies(
    source,
    column('staging', {}),
    ['one', 'two', 'three'],
    async (path) => path === 'one',
  );
  assert.deepEqual(
    planned.map(({ step }) => step),
    ['copy', 'refused', 'absent'],
  );
});

test('values are compared only where two are known, and none once one of them was written since', () => {
  assert.equal(comparedRow([0, 'missing']).state, 'alone');
  assert.equal(comparedRow(['outdated', 'missing']).state, 'alone');
  assert.equal(comparedRow([0, 0, 'outdated']).state, 'outdated');
  assert.equal(comparedRow([0, 'not read', 'missing']).state, 'unknown');
  assert.equal(comparedRow([0, 0, 'not read']).state, 'same');
  assert.deepEqual(comparedRow([0, 1]), { state: 'differs', letters: new Map() });
  assert.deepEqual(
    [...comparedRow([1, 2, 1]).letters],
    [
      [1, 'A'],
      [2, 'B'],
    ],
  );
});
