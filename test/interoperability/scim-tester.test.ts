import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { addTenant, ok } from '../support/people.ts';
import { addScim } from '../support/scim.ts';
import { onBothDatabases, startService } from '../support/service.ts';
import { installFromPypi, output } from './programs.ts';

/** scim2-tester provisions people and groups as a provider does. `docs/guide/scim.md` says what it finds, and why. */

const RUN_TIMEOUT_MS = 5 * 60_000;
/** Of 67 checks. A run that tried less found nothing because it did nothing. */
const CHECKS_MIN = 65;
/** In the last three it wants back exactly what it sent. */
const NOT_OFFERED = [
  'User: check_remove_attribute active',
  'User: check_replace_attribute emails',
  'Group: check_add_attribute members',
  'Group: check_replace_attribute members',
];
const HERE = import.meta.dirname;
const tester = await installFromPypi(join(HERE, 'requirements-scim.txt'));
const skip = 'missing' in tester ? tester.missing : false;

interface Check {
  status: string;
  title: string;
  resource: string | null;
  attribute: string | null;
  reason: string;
}

onBothDatabases('scim2-tester', (database) => {
  test('finds only what the guide says is not offered', { skip }, async () => {
    assert.ok('bin' in tester);
    const service = await startService(database);
    try {
      const tenant = await addTenant(service);
      const { token } = await addScim(service, tenant.owner.token, { default_role: 'member' });
      const input = `${token}\n`;
      const args = [join(HERE, 'scim_check.py'), `${service.url}/scim/v2`];
      const printed = await output(join(tester.bin, 'python'), args, { cwd: HERE, input, timeout: RUN_TIMEOUT_MS });
      const checks = printed
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Check);
      assert.ok(checks.length >= CHECKS_MIN, `${checks.length} checks`);
      const found = checks.filter(({ status }) => ['ERROR', 'CRITICAL', 'DEVIATION'].includes(status));
      const named = found.map(({ resource, title, attribute }) => `${resource}: ${title} ${attribute}`);
      assert.deepEqual(named, NOT_OFFERED, JSON.stringify(found));
      const left = await ok(service.call('GET', '/v1/groups', { token: tenant.owner.token }));
      assert.deepEqual(left.groups, [], 'it deletes what it makes');
    } finally {
      await service.close();
    }
  });
});
