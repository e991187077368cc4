import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { addPerson, logIn, ok } from '../../../test/support/people.ts';
import { onBothDatabases, startService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';

const MAIN = fileURLToPath(new URL('../../main.js', import.meta.url));

onBothDatabases('a command line that is confirmed elsewhere', (database) => {
  test('shows a code, waits, and keeps the session', async (t) => {
    const service = await startService(database);
    t.after(() => service.close());
    const folder = mkdtempSync(join(tmpdir(), 'coffer-login-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const person = await addPerson(service);
    const command = spawn(process.execPath, [MAIN, 'login', '--device', '--url', service.url], {
      env: { PATH: process.env['PATH'], HOME: folder, COFFER_CONFIG_DIR: folder },
    });
    let shown = '';
    for (const stream of [command.stdout, command.stderr]) {
      stream.on('data', (piece) => {
        shown += piece;
      });
    }
    const ended = new Promise<number | null>((resolve) => command.once('exit', resolve));
    const codeIn = () => /coffer login --approve (\S+)/.exec(shown)?.[1];
    await until('it shows a code', () => codeIn() !== undefined);
    const body = { user_code: codeIn() };
    await ok(service.call('POST', '/auth/device/approve', { token: await logIn(service, person), body }));
    assert.equal(await ended, 0, shown);
    assert.match(shown, new RegExp(`Logged in to .* as ${person.email}`));
    const { token } = JSON.parse(readFileSync(join(folder, 'profiles.json'), 'utf8')).profiles.default;
    assert.equal((await ok(service.call('GET', '/auth/me', { token }))).user.id, person.id);
    assert.ok(!shown.includes(token));
  });
});
