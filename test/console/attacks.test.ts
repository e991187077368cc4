import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { describeConsole, forgive, giveCredentials, requireAccessible } from '../support/console.ts';
import { SAME_ORIGIN, withSession } from '../support/console-requests.ts';
import { addPerson, addTenant, ok, uniqueName } from '../support/people.ts';
import { onSqliteAtLanding } from '../support/service.ts';
import { until } from '../support/until.ts';

/** What other pages, and people who write texts, can do to somebody who uses the console. */

/** Texts that would run if any page put them into HTML, an attribute or an address. */
const SCRIPTS = [
  '<img src=x onerror="window.attacked=1">',
  '"><script>window.attacked=1</script>',
  "javascript:window.attacked=1//'",
  '{{constructor.constructor("window.attacked=1")()}}',
];

onSqliteAtLanding('attacks on the console', (database) => {
  let evil: Server;
  let evilUrl = '';
  let page = '';
  before(async () => {
    evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end(page));
    evil.listen(0, '127.0.0.1');
    await once(evil, 'listening');
    evilUrl = `http://localhost:${(evil.address() as AddressInfo).port}`;
  });
  after(() => {
    evil.closeAllConnections();
    evil.close();
  });

  describeConsole(database, (world, inConsole) => {
    test(
      'a page on another port of the same host can neither read nor change anything with the session',
      inConsole(async (console) => {
        const { service, url } = world();
        await console.open('/');
        await console.signIn(await world().person());
        const group = uniqueName('by-another-page');
        page = `<form id="f" method="post" action="${url}/console/api/v1/groups" enctype="text/plain">
          <input name='{"name":"${group}","x":"' value='"}'></form>`;
        await console.page.goto(evilUrl);
        const tried = await console.page.evaluate(`(async () => {
          const send = (init) => fetch('${url}/console/api/v1/groups', { credentials: 'include', ...init })
            .then((response) => response.status + ' ' + response.type, (error) => error.name);
          const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"name":"${group}"}' };
          const text = { method: 'POST', mode: 'no-cors', body: '{"name":"${group}"}' };
          const read = fetch('${url}/console/api/auth/me', { credentials: 'include' }).then((r) => r.text(), (e) => e.name);
          return [await send(json), await send(text), await read];
        })()`);
        assert.deepEqual(tried, ['TypeError', '0 opaque', 'TypeError']);
        await console.page.evaluate(`document.getElementById('f').submit()`);
        await console.page.waitForURL(/console\/api/);
        assert.match(await console.page.innerText('body'), /Only the console itself/);
        const { groups } = await ok(service.call('GET', '/v1/groups'));
        assert.ok(!groups.some(({ name }: { name: string }) => name === group));
        forgive(console, /CORS|403|ERR_FAILED/);
      }),
    );

    test(
      'no other page can frame it, and it opens nothing elsewhere',
      inConsole(async (console) => {
        const { url } = world();
        page = `<iframe id="f" src="${url}/"></iframe>`;
        await console.page.goto(evilUrl);
        await console.page.waitForTimeout(500);
        const frames = console.page.frames().slice(1);
        for (const frame of frames) assert.equal(await frame.locator('#app').count(), 0);
        forgive(console, /frame-ancestors|Refused to (display|frame)|X-Frame-Options|Framing/i);
        for (const fragment of [
          '//evil.example/x',
          '/https://evil.example',
          '/javascript:alert(1)',
          '\\\\evil.example',
        ]) {
          await console.page.goto(`${url}/#${fragment}`);
          await console.page.getByLabel('E-mail address').waitFor();
          assert.equal(new URL(console.page.url()).host, new URL(url).host);
        }
      }),
    );

    test(
      'texts that people write are shown as text on every page that shows them',
      inConsole(async (console) => {
        const { service } = world();
        const person = await world().person();
        const create = (path: string, body: object) => ok(service.call('POST', path, { body }), 201);
        for (const [index, text] of SCRIPTS.entries()) {
          const vault = uniqueName(`marked-${index}`);
          await create('/v1/vaults', { name: vault, description: text, tags: [text.replaceAll(',', ';')] });
          const metadata = { description: text, owner: text, tags: [text.replaceAll(',', ';')] };
          await create(`/v1/vaults/${vault}/secrets`, { path: 'one', value: text, metadata, reason: text });
          await create('/v1/groups', { name: uniqueName('group'), description: text });
          const { id } = await create('/environments', { name: uniqueName('env'), description: text });
          if (index > 0) {
            for (const each of ['/vaults', `/vaults/${vault}`, `/vaults/${vault}/secret/one`, `/environments/${id}`]) {
              await console.open(each);
              await console.page.getByText(text).first().waitFor();
            }
          } else {
            await console.open('/vaults');
            await console.signIn(person);
          }
        }
        await console.open('/audit');
        await console.page.getByRole('table').waitFor();
        assert.equal(await console.page.evaluate('window.attacked'), undefined);
      }),
    );

    test(
      'after signing out neither the back button nor the cache shows what was there',
      inConsole(async (console) => {
        const { service } = world();
        const vault = uniqueName('seen');
        await ok(service.call('POST', '/v1/vaults', { body: { name: vault } }), 201);
        await console.open('/vaults');
        await console.signIn(await world().person());
        await console.page.getByRole('link', { name: vault }).click();
        await console.page.getByRole('heading', { name: vault }).waitFor();
        const before = await console.page.context().cookies();
        const owner = await console.page.evaluate(`localStorage.getItem('coffer-signed-in')`);
        await console.page.getByRole('button', { name: 'Sign out' }).click();
        await console.page.getByText('You are signed out.').waitFor();
        assert.deepEqual(await console.page.context().cookies(), []);
        await console.page.goBack();
        await console.page.getByLabel('E-mail address').waitFor();
        assert.equal(await console.page.getByText(vault).count(), 0);
        // A copy of the cookie is worth nothing.
        await console.page.context().addCookies(before);
        await console.page.evaluate(`localStorage.setItem('coffer-signed-in', '${owner}')`);
        await console.page.reload();
        await console.page.getByLabel('E-mail address').waitFor();
        forgive(console, /401/);
      }),
    );

    test(
      'a copied value does not stay in the clipboard after signing out, being idle, or leaving the page',
      inConsole(async (console) => {
        const { service } = world();
        const { page: tab } = console;
        await tab.context().grantPermissions(['clipboard-read', 'clipboard-write']);
        const vault = uniqueName('copied');
        await ok(service.call('POST', '/v1/vaults', { body: { name: vault } }), 201);
        const body = { path: 'one', value: 'copied-from-here' };
        await ok(service.call('POST', `/v1/vaults/${vault}/secrets`, { body }), 201);
        const person = await world().person();
        const inClipboard = () => tab.evaluate('navigator.clipboard.readText()');
        const copy = async () => {
          await console.open(`/vaults/${vault}/secret/one`);
          await console.signIn(person);
          await tab.getByRole('button', { name: 'Copy', exact: true }).click();
          await tab.getByText(/^Copied\. The clipboard is cleared/).waitFor();
          assert.equal(await inClipboard(), 'copied-from-here');
        };
        await copy();
        await tab.getByRole('button', { name: 'Sign out' }).click();
        await tab.getByText('You are signed out.').waitFor();
        assert.equal(await inClipboard(), '');

        await copy();
        await tab.evaluate(`localStorage.setItem('coffer-active-at', String(Date.now() - 16 * 60_000))`);
        await tab.keyboard.press('a');
        await tab.getByText('nothing happened for 15 minutes').waitFor();
        assert.equal(await inClipboard(), '');

        await copy();
        // The session ends elsewhere while the page is away, and nobody can have cleared it by then.
        await tab.goto('about:blank');
        await tab.context().clearCookies();
        await console.open('/');
        await tab.getByLabel('E-mail address').waitFor();
        await until('the clipboard is cleared', async () => (await inClipboard()) === '');
        assert.equal(await tab.evaluate(`sessionStorage.getItem('coffer-clipboard-due')`), null);
        forgive(console, /401/);
      }),
    );

    test(
      'a user who does nothing for a quarter of an hour is signed out, on the server too',
      inConsole(async (console) => {
        await console.page.clock.install();
        await console.open('/vaults');
        await console.signIn(await world().person());
        const [cookie] = await console.page.context().cookies();
        await console.page.clock.fastForward('16:00');
        await console.page.getByText('nothing happened for 15 minutes').waitFor();
        const headers = withSession(`${cookie?.name}=${cookie?.value}`);
        // The page says so before the service has answered.
        await until('the service has ended the session', async () => {
          const { status } = await fetch(`${world().url}/console/api/auth/me`, { headers });
          return status === 401;
        });
        // A request may have been under way when the session ended.
        forgive(console, /401/);
      }),
    );

    test(
      'a page that was closed, or a machine that slept, for that long is signed out too',
      inConsole(async (console) => {
        await console.open('/vaults');
        await console.signIn(await world().person());
        const [cookie] = await console.page.context().cookies();
        const idleFor = (ms: number) =>
          console.page.evaluate(`localStorage.setItem('coffer-active-at', String(Date.now() - ${ms}))`);
        await idleFor(10 * 60_000);
        await console.open('/vaults');
        await console.page.getByRole('heading', { name: 'Vaults' }).waitFor();
        await idleFor(16 * 60_000);
        await console.page.keyboard.press('a');
        await console.page.getByText('nothing happened for 15 minutes').waitFor();
        const headers = withSession(`${cookie?.name}=${cookie?.value}`);
        // The page says so before the service has answered.
        await until('the service has ended the session', async () => {
          const { status } = await fetch(`${world().url}/console/api/auth/me`, { headers });
          return status === 401;
        });
        forgive(console, /401/);
      }),
    );

    test(
      'a tab never acts as somebody else than it shows',
      inConsole(async (console) => {
        const [one, two] = [await world().person(), await world().person()];
        await console.open('/');
        await console.signIn(one);
        const other = await console.page.context().newPage();
        await other.goto(world().url);
        await other.getByRole('button', { name: 'Sign out' }).click();
        await giveCredentials(other, two);
        await other.getByText(two.email).first().waitFor();
        await console.page.getByLabel('E-mail address').waitFor();
        assert.equal(await console.page.getByText(one.email).count(), 0);
        await console.page.reload();
        await console.page.getByText(two.email).first().waitFor();
        forgive(console, /401/);
      }),
    );

    test(
      'a page on another port that replaces the session gets nothing of what is written, and the tab says so',
      inConsole(async (console) => {
        const { service, url } = world();
        const attackers = await addTenant(service);
        const attacker = await addPerson(service, { tenant: attackers, role: 'admin' });
        const planted = await fetch(`${url}/console/api/auth/login`, {
          method: 'POST',
          headers: { ...SAME_ORIGIN, 'content-type': 'application/json' },
          body: JSON.stringify({ email: attacker.email, password: attacker.password, tenant: attackers.name }),
        });
        const session = planted.headers.getSetCookie()[0]?.split(';')[0] ?? '';
        const vault = uniqueName('same-name');
        for (const token of [service.adminToken, attackers.owner.token]) {
          await ok(service.call('POST', '/v1/vaults', { token, body: { name: vault } }), 201);
          const body = { path: 'database', value: 'before' };
          await ok(service.call('POST', `/v1/vaults/${vault}/secrets`, { token, body }), 201);
        }
        const { page: tab } = console;
        await console.open(`/vaults/${vault}/secret/database`);
        await console.signIn(await world().person());
        await tab.getByRole('button', { name: 'Write a new version' }).click();
        await tab.getByRole('dialog').getByLabel('Value').fill('the new production password');
        const other = await tab.context().newPage();
        // Browsers keep a bounded number of cookies for a host, and delete the oldest, which no script could have read.
        page = `<script>
          for (let i = 0; i < 400; i++) document.cookie = 'c' + i + '=x; Path=/; Secure';
          for (let i = 0; i < 400; i++) document.cookie = 'c' + i + '=; Path=/; Secure; Max-Age=0';
          document.cookie = '${session}; Path=/; Secure; SameSite=Strict; Max-Age=40000';
        </script>`;
        await other.goto(evilUrl);
        // What a page sets reaches the store of cookies a little later.
        await until('the cookie is replaced', async () => {
          const cookies = await tab.context().cookies(url);
          return cookies.map(({ name, value }) => `${name}=${value}`).join() === session;
        });
        await other.close();
        const sent: string[] = [];
        tab.on('request', (request) => sent.push(`${request.method()} ${new URL(request.url()).pathname}`));
        await tab.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
        await tab.getByRole('heading', { name: 'You are signed in as somebody else now' }).waitFor();
        await requireAccessible(tab);
        assert.equal(await tab.getByText(vault).count(), 0, 'nothing of the person is shown any more');
        await tab.keyboard.press('Control+k');
        assert.deepEqual(sent, [`PUT /console/api/v1/vaults/${vault}/secrets/database`]);
        for (const token of [service.adminToken, attackers.owner.token]) {
          const { value } = await ok(service.call('GET', `/v1/vaults/${vault}/secrets/database`, { token }));
          assert.equal(value, 'before');
        }
        await tab.getByRole('button', { name: 'Load again' }).click();
        await tab.getByText('was replaced by that of somebody else').waitFor();
        await tab.reload();
        await tab.getByLabel('E-mail address').waitFor();
        assert.equal(await tab.getByText(attacker.email).count(), 0, 'the planted session is not used');
        forgive(console, /403/);
      }),
    );
  });
});
