import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { toOcsf } from '../../server/src/features/exporters/formats/ocsf.ts';
import { addPerson, addTenant, logIn, ok } from '../support/people.ts';
import { onBothDatabases, startService } from '../support/service.ts';
import { addSecret, addVault, secretUrl } from '../support/vaults.ts';

/** Entries as OCSF, checked by a program of somebody else against the published schema. */

const INSTALL_TIMEOUT_MS = 5 * 60_000;
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'coffer-ocsf-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Why the schema cannot be had here, or false. */
async function install(): Promise<string | false> {
  try {
    await run('python3', ['-m', 'venv', folder]);
    const pinned = ['install', '--quiet', '--requirement', join(import.meta.dirname, 'requirements.txt')];
    await run(join(folder, 'bin/pip'), pinned, { timeout: INSTALL_TIMEOUT_MS });
    return false;
  } catch (error) {
    return `the schema of OCSF cannot be had here, which takes Python and PyPI: ${String((error as Error).message).split('\n')[0]}`;
  }
}

const skip = await install();

async function problemsOf(events: readonly object[]): Promise<string[]> {
  const checker = spawn(join(folder, 'bin/python'), [join(import.meta.dirname, 'check_ocsf.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(checker, 'exit');
  checker.stdin.end(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  const output = await text(checker.stdout);
  const [code] = await ended;
  assert.equal(code, 0);
  return output.split('\n').filter((line) => line !== '');
}

onBothDatabases('OCSF', (database) => {
  test('the schema accepts every kind of entry, and the check finds what is wrong', { skip }, async () => {
    const service = await startService(database);
    try {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const vault = await addVault(service, {}, token);
      await addSecret(service, vault, 'a', {}, token);
      await ok(service.call('GET', secretUrl(vault, 'a'), { token }));
      await service.call('GET', secretUrl(vault, 'nowhere'), { token });
      await service.call('DELETE', secretUrl(vault, 'a'), { token });
      await logIn(service, await addPerson(service, { tenant }));
      const { entries } = await ok(service.call('GET', '/v1/audit?limit=1000', { token }));
      assert.ok(entries.length >= 6);
      // biome-ignore lint/suspicious/noExplicitAny: as answered
      const events: any[] = entries.map((entry: any) => toOcsf({ ...entry, tenant_id: tenant.id }, '1.0.0'));
      assert.deepEqual(new Set(events.map((event) => event.class_uid)), new Set([3002, 6003]));
      assert.deepEqual(await problemsOf(events), []);
      const [event] = events;
      const broken = [
        { ...event, severity_id: undefined },
        { ...event, invented: 1 },
        { ...event, actor: { user: { invented: 1 } } },
      ];
      assert.equal((await problemsOf(broken)).length, broken.length);
    } finally {
      await service.close();
    }
  });
});
