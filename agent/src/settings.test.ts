import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { nextScanSeconds, retrySeconds } from './schedule.ts';
import { readSettings, SettingsError } from './settings.ts';

const ENV = {
  CV_GUARDIAN_MODE: 'endpoint',
  CV_URL: 'https://coffer.example',
  CV_CLUSTER_ID: 'cluster_01a',
  CV_CLUSTER_TOKEN_FILE: '/run/token',
};

describe('settings', () => {
  test('what is required is enough', () => {
    const settings = readSettings([], ENV);
    assert.ok(settings !== 'help');
    assert.equal(settings.intervalSeconds, 3600);
    assert.deepEqual([settings.root, settings.isOnce, settings.isDryRun, settings.caFile], ['/', false, false, null]);
  });

  const wrong: Record<string, [string[], Record<string, string>, RegExp]> = {
    'no mode': [[], { CV_GUARDIAN_MODE: '' }, /CV_GUARDIAN_MODE must be endpoint or cluster/],
    'another mode': [[], { CV_GUARDIAN_MODE: 'hosts' }, /CV_GUARDIAN_MODE/],
    'no address': [[], { CV_URL: '' }, /CV_URL is required/],
    'plain http to another machine': [[], { CV_URL: 'http://coffer.example' }, /https/],
    'a password in the address': [[], { CV_URL: 'https://a:hunter2@coffer.example' }, /no user/],
    'an id that is a path': [[], { CV_CLUSTER_ID: 'cluster_1/../x' }, /CV_CLUSTER_ID/],
    'a token in place of its file': [[], { CV_CLUSTER_TOKEN_FILE: 'cv_cluster_abc' }, /absolute path/],
    'an interval of zero': [[], { CV_INTERVAL_SECONDS: '0' }, /from 5 to 86400/],
    'an option nobody knows': [['--token=abc'], {}, /--help/],
    'a root that is relative': [['--root', 'x'], {}, /absolute/],
    'a dry run of the operator': [['--dry-run'], { CV_GUARDIAN_MODE: 'cluster', CV_POD_NAME: 'a' }, /endpoint/],
    'an operator for every namespace': [[], { CV_GUARDIAN_MODE: 'cluster', CV_NAMESPACES: '*' }, /CV_NAMESPACES/],
    'a workload identity on a host': [[], { CV_WORKLOAD_METHOD_ID: '7' }, /CV_GUARDIAN_MODE=cluster/],
    'two credentials': [[], { CV_GUARDIAN_MODE: 'cluster', CV_WORKLOAD_METHOD_ID: '7' }, /not both/],
    'a method that is no number': [
      [],
      { CV_GUARDIAN_MODE: 'cluster', CV_WORKLOAD_METHOD_ID: 'abc', CV_CLUSTER_TOKEN_FILE: '' },
      /CV_WORKLOAD_METHOD_ID must be a whole number/,
    ],
    'a method without a token': [
      [],
      { CV_GUARDIAN_MODE: 'cluster', CV_WORKLOAD_METHOD_ID: '7', CV_CLUSTER_TOKEN_FILE: '' },
      /CV_WORKLOAD_TOKEN_FILE is required/,
    ],
    'an operator without a name': [[], { CV_GUARDIAN_MODE: 'cluster', CV_NAMESPACES: 'a' }, /CV_POD_NAME/],
  };
  for (const [name, [args, env, message]] of Object.entries(wrong)) {
    test(`refused: ${name}`, () => {
      assert.throws(
        () => readSettings(args, { ...ENV, ...env }),
        (error: Error) =>
          error instanceof SettingsError && message.test(error.message) && !/hunter2|abc/.test(error.message),
      );
    });
  }

  test('http is accepted for this machine', () => {
    for (const host of ['127.0.0.1:7400', '[::1]', 'localhost']) {
      assert.notEqual(readSettings([], { ...ENV, CV_URL: `http://${host}` }), 'help');
    }
  });
});

describe('the schedule', () => {
  test('scans are spread by a tenth around the interval', () => {
    assert.equal(
      nextScanSeconds(1000, () => 0),
      900,
    );
    assert.equal(Math.round(nextScanSeconds(1000, () => 0.999999)), 1100);
  });

  test('retries double up to the interval, and wait at least as long as the service says', () => {
    const tops = [1, 2, 3, 4, 20, 1000].map((failures) => retrySeconds(failures, 60, null, () => 1));
    assert.deepEqual(tops, [5, 10, 20, 40, 60, 60]);
    assert.equal(
      retrySeconds(1, 60, null, () => 0),
      2.5,
    );
    assert.equal(
      retrySeconds(1, 60, 120, () => 0),
      120,
    );
  });
});
