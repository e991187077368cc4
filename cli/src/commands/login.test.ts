import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { OUTSIDE_ENV } from '../../../test/support/external-logins.ts';
import { OidcIssuer } from '../../../test/support/oidc-issuer.ts';
import { addPerson, addTenant, logIn, ok, uniqueName } from '../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../test/support/service.ts';
import { begin, finish } from '../../../test/support/sign-on.ts';
import { until } from '../../../test/support/until.ts';

const MAIN = fileURLToPath(new URL('../../main.js', import.meta.url));

const idp = await OidcIssuer.start();
after(() => idp.close());

onSqliteAtLanding('a command line that is confirmed elsewhere', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
    await idp.register(service.url);
  });
  after(() => service.close());

  function login(t: TestContext, ...args: string[]) {
    const folder = mkdtempSync(join(tmpdir(), 'coffer-login-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const command = spawn(process.execPath, [MAIN, 'login', ...args, '--url', service.url], {
      env: { PATH: process.env['PATH'], HOME: folder, COFFER_CONFIG_DIR: folder },
    });
    t.after(() => command.kill());
    let shown = '';
    for (const stream of [command.stdout, command.stderr]) {
      stream.on('data', (piece) => {
        shown += piece;
      });
    }
    const profiles = join(folder, 'profiles.json');
    return {
      shown: () => shown,
      ended: new Promise<number | null>((resolve) => command.once('exit', resolve)),
      /** The first group of what it shows, once it does. */
      says: async (form: RegExp): Promise<string> => {
        await until(`it shows ${form}`, () => form.test(shown));
        return form.exec(shown)?.[1] ?? '';
      },
      hasSession: () => existsSync(profiles),
      token: (): string => JSON.parse(readFileSync(profiles, 'utf8')).profiles.default.token,
    };
  }

  test('shows a code, waits, and keeps the session', async (t) => {
    const person = await addPerson(service);
    const command = login(t, '--device');
    const body = { user_code: await command.says(/coffer login --approve (\S+)/) };
    await ok(service.call('POST', '/auth/device/approve', { token: await logIn(service, person), body }));
    assert.equal(await command.ended, 0, command.shown());
    assert.match(command.shown(), new RegExp(`Logged in to .* as ${person.email}`));
    const token = command.token();
    assert.equal((await ok(service.call('GET', '/auth/me', { token }))).user.id, person.id);
    assert.ok(!command.shown().includes(token));
  });

  /** A tenant whose people sign in with the provider, and one of them. */
  async function tenantWithProvider() {
    const tenant = await addTenant(service);
    const provider = { name: 'idp', issuer: idp.url, client_id: 'coffer', client_secret: 'coffer-client-secret' };
    const body = { ...provider, default_role: 'member' };
    await ok(service.call('POST', '/auth/sso/providers', { token: tenant.owner.token, body }), 201);
    const sub = uniqueName('subject');
    idp.account = { sub, email: `${sub}@acme.example`, email_verified: true, name: 'Ada', groups: [] };
    return tenant;
  }

  test('with --sso leads to the provider, and keeps the session of who signed in there', async (t) => {
    const tenant = await tenantWithProvider();
    const other = login(t, '--sso', 'idp', '--tenant', tenant.name);
    const otherCode = await other.says(/enter the code (\S+)/);
    const command = login(t, '--sso', 'idp', '--tenant', tenant.name);
    const page = new URL(await command.says(/Open (\S+)\n/));
    assert.deepEqual([page.origin, page.pathname], [service.url, '/auth/sso/idp']);
    const user_code = await command.says(/enter the code (\S+)/);
    assert.notEqual(user_code, otherCode);
    const { cookie, authorizationUrl } = await begin(service, 'idp', { user_code }, tenant.name);
    assert.ok(!command.hasSession(), 'nobody has signed in yet');
    const last = await finish(service, await idp.signIn(authorizationUrl), cookie);
    assert.match(last.text, /Return to the command line/);
    assert.equal(await command.ended, 0, command.shown());
    assert.match(command.shown(), new RegExp(`as ${idp.account['email']} \\(member of ${tenant.name}\\)`));
    const token = command.token();
    const me = await ok(service.call('GET', '/auth/me', { token }));
    assert.ok(!other.hasSession(), 'its code was not confirmed');
    assert.deepEqual([me.user.email, me.tenant.name], [idp.account['email'], tenant.name]);
    assert.ok(!command.shown().includes(token));
  });
});
