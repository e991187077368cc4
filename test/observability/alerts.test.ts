import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { metricNames, metricsText } from '../support/metric-lines.ts';
import { findPromtool } from '../support/promtool.ts';
import { DATABASES, startService } from '../support/service.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const RULES = 'deploy/prometheus/coffer-alerts.yml';
const RULE_TESTS = 'deploy/prometheus/coffer-alerts.test.yml';
const DASHBOARD = 'deploy/grafana/coffer.json';

interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[];
}

const alerts = [...read(RULES).matchAll(/- alert: (\w+)/g)].map(([, name]) => String(name));
/** The metrics that a text names, without the suffixes of the series of a histogram. */
const named = (text: string) =>
  new Set(
    [...text.matchAll(/\b(?:cv|coffer)_[a-z0-9_]+/g)].map(([name]) => name.replace(/_(?:bucket|sum|count)$/, '')),
  );

describe('alert rules and dashboard', () => {
  for (const database of DATABASES) {
    test(`use only metrics that the service has, ${database}`, async () => {
      const service = await startService(database);
      try {
        const known = new Set(metricNames(await metricsText(service)));
        for (const file of [RULES, RULE_TESTS]) {
          const used = named(read(file));
          assert.ok(used.size > 10, file);
          assert.deepEqual([...used.difference(known)], [], file);
        }
        const { panels } = JSON.parse(read(DASHBOARD)) as Dashboard;
        const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
        const shown = named(expressions.join('\n'));
        assert.ok(shown.size > 30);
        assert.deepEqual([...shown.difference(known)], [], DASHBOARD);
      } finally {
        await service.close();
      }
    });
  }

  test('the dashboard shows every metric that an alert is about', () => {
    assert.deepEqual(
      [...named(read(RULES)).difference(named(read(DASHBOARD)))],
      ['cv_audit_logs_invalid', 'cv_clock_trusted', 'cv_checkpoint_files_failing', 'cv_audit_archive_failing'],
    );
  });

  test('are 22, each with a test and a section that says what it means, what to check and what to do', () => {
    assert.equal(new Set(alerts).size, 22);
    const tests = read(RULE_TESTS);
    const guide = read('docs/operations.md');
    for (const alert of alerts) {
      assert.match(tests, new RegExp(`- name: ${alert}\\n`), `${alert} has no test`);
      assert.ok(
        read(RULES).includes(`runbook_url: https://coffer.example.com/docs/guide/operations#${alert.toLowerCase()}\n`),
        alert,
      );
      const section = guide.split(`\n### ${alert}\n`)[1]?.split('\n#')[0] ?? '';
      for (const part of ['**Means:**', '**Look at:**', '**Do:**']) {
        assert.ok(section.includes(part), `docs/operations.md: ${alert} lacks ${part}`);
      }
    }
    const sections = [...guide.matchAll(/^### (Coffer[A-Z]\w+)$/gm)].map(([, name]) => name);
    assert.deepEqual(sections, alerts, 'a section is left of an alert that is gone, or the order differs');
  });

  test('pass the checks and the unit tests of promtool', async (t) => {
    const promtool = await findPromtool();
    if ('missing' in promtool) return t.skip(promtool.missing);
    const checked = await promtool(['check', 'rules', join(ROOT, RULES)]);
    assert.equal(checked.code, 0, checked.output);
    assert.match(checked.output, /22 rules found/);
    const tested = await promtool(['test', 'rules', join(ROOT, RULE_TESTS)]);
    assert.equal(tested.code, 0, tested.output);
  });
});
