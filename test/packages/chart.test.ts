import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ALL_SETTINGS } from '../../server/src/assembly/settings.ts';
import { fileNames } from '../../server/src/settings/secret-files.ts';

/** What the chart of the service repeats of other files. `npm run test:deploy` renders it, and applies it to a real API server. */

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const CHART = 'deploy/helm/coffer';

describe('the chart', () => {
  test('has the version of the service', () => {
    const { version } = JSON.parse(read('package.json'));
    const chart = read(`${CHART}/Chart.yaml`);
    assert.ok(chart.includes(`\nversion: ${version}\n`) && chart.includes(`\nappVersion: ${version}\n`));
  });

  test('has the alerts of deploy/prometheus', () => {
    assert.equal(read(`${CHART}/files/coffer-alerts.yml`), read('deploy/prometheus/coffer-alerts.yml'));
  });

  test('knows every secret setting, and sets none that does not exist', () => {
    const checks = read(`${CHART}/templates/_checks.tpl`);
    const listed = (name: string) =>
      [...(new RegExp(`\\$${name} := list (.*?) }}`).exec(checks)?.[1] ?? '').matchAll(/"(\w+)"/g)].map(
        ([, each = '']) => each,
      );
    const secret = ALL_SETTINGS.filter((setting) => setting.secret).map(({ name }) => name);
    assert.deepEqual(listed('secret').sort(), secret.sort());
    const known = new Set<string>([...ALL_SETTINGS.map(({ name }) => name), ...fileNames(ALL_SETTINGS)]);
    const pods = ['_pods.tpl', 'deployment.yaml', 'backup.yaml']
      .map((file) => read(`${CHART}/templates/${file}`))
      .join('');
    const set = [...pods.matchAll(/- name: (CV_[A-Z_]+)\n/g)].map(([, name = '']) => name);
    assert.ok(set.length > 10);
    for (const name of [...listed('own'), ...set]) assert.ok(known.has(name), name);
    // What the chart sets cannot be set a second time.
    for (const name of set) assert.ok([...listed('own'), ...secret].includes(name), name);
  });

  test('its schema has every value and no other', () => {
    const { properties } = JSON.parse(read(`${CHART}/values.schema.json`)) as { properties: Record<string, unknown> };
    const values = [...read(`${CHART}/values.yaml`).matchAll(/^([a-zA-Z]+):/gm)].map(([, name = '']) => name);
    assert.deepEqual(
      Object.keys(properties)
        .filter((name) => name !== 'global')
        .sort(),
      values.sort(),
    );
  });
});
