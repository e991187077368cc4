import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, requireAccessible, untilInPage } from '../../support/console.ts';
import { addPerson, addTenant, ok, uniqueName } from '../../support/people.ts';
import { storeRotation } from '../../support/rotations.ts';
import { onSqliteAtLanding } from '../../support/service.ts';
import { addPolicy, addSecret, addVault } from '../../support/vaults.ts';

onSqliteAtLanding('finding in the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    test(
      'a secret is found from every page by a part of its path, whatever its vault',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const [one, two] = [await addVault(service), await addVault(service)];
        await addSecret(service, one, 'mailer/SMTP_password');
        await addSecret(service, two, 'mailer/smtp_password');
        await addSecret(service, two, 'mailer/smtp_user');
        await open('/me');
        await signIn(await world().person());
        await page.keyboard.press('Control+k');
        const field = page.getByRole('combobox', { name: 'Find something, or do it' });
        const options = page.getByRole('option');
        await field.fill('smtp_PASS');
        await options.filter({ hasText: `Secret in ${one}` }).waitFor();
        assert.deepEqual(await options.allTextContents(), [
          `mailer/SMTP_passwordSecret in ${one}`,
          `mailer/smtp_passwordSecret in ${two}`,
        ]);
        await requireAccessible(page);
        await field.fill(`${two}/mailer`);
        await options.filter({ hasText: 'smtp_user' }).waitFor();
        assert.equal(await options.filter({ hasText: `Secret in ${one}` }).count(), 0, 'the vault was named');
        await field.fill(`mail ${two}`);
        await options.filter({ hasText: 'smtp_user' }).waitFor();
        await field.fill('no-such-thing');
        await page.getByText('Nothing that you may see has this name.').waitFor();
        await field.fill('users, not a path');
        await page.getByText('Nothing that you may see has this name.').waitFor();
        await field.fill('smtp user');
        await options.filter({ hasText: 'smtp_user' }).waitFor();
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'mailer/smtp_user' }).waitFor();

        const mate = await world().person('member');
        const connection = uniqueName('program');
        const { id } = await ok(service.call('GET', `/v1/vaults/${two}`));
        await ok(service.call('POST', '/v1/app-connections', { body: { name: connection, vault_ids: [id] } }), 201);
        await page.keyboard.press('Control+k');
        const top = (await field.boundingBox())?.y;
        await field.fill(`mailer ${two.slice(0, -1)}`);
        await options.filter({ hasText: 'smtp_user' }).waitFor();
        assert.equal((await field.boundingBox())?.y, top, 'the field stays where it is');
        await field.fill(connection);
        await options.filter({ hasText: 'Connection' }).waitFor();
        await field.fill(mate.email);
        await options.filter({ hasText: 'Person' }).waitFor();
        await field.fill('invite');
        await options.filter({ hasText: 'Invite a person' }).click();
        await page.getByRole('dialog', { name: 'Invite a colleague' }).waitFor();
      }),
    );

    test(
      'a secret is found by abbreviations of its terms, after those that have them as typed',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const tenant = await addTenant(service);
        const by = tenant.owner.token;
        const vault = await addVault(service, {}, by);
        for (const path of ['DATABASE_URL', 'DATABASE_USER', 'old/db.url'])
          await addSecret(service, vault, path, {}, by);
        const person = await addPerson(service, { tenant, role: 'admin', email: `${uniqueName('p')}@example.com` });
        await open('/');
        await signIn(person);
        await page.keyboard.press('Control+k');
        const options = page.getByRole('option');
        await page.getByRole('combobox').fill('db url');
        await options.filter({ hasText: 'DATABASE_URL' }).waitFor();
        assert.deepEqual(await options.allTextContents(), [
          `old/db.urlSecret in ${vault}`,
          `DATABASE_URLSecret in ${vault}`,
        ]);
        await page.getByRole('combobox').fill('attpth');
        await options.filter({ hasText: 'Attack paths' }).waitFor();
      }),
    );

    test(
      'the navigation shows the page that is open, however low the window is',
      inConsole(async ({ page, open, signIn }) => {
        const inSight = (name: string) =>
          untilInPage(
            page,
            `(() => {
            const link = [...document.querySelectorAll('nav a')].find((each) => each.textContent === '${name}');
            const { left = -1, top = -1, height = 0 } = link?.getBoundingClientRect() ?? {};
            return link !== undefined && document.elementFromPoint(left + 12, top + height / 2) === link;
          })()`,
          );
        await page.setViewportSize({ width: 1280, height: 800 });
        await open('/webhooks');
        await signIn(await world().person());
        await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
        for (const name of ['Start', 'Webhooks', 'My account', 'Plan']) await inSight(name);
        await page.setViewportSize({ width: 1280, height: 480 });
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox').fill('plan');
        await page.getByRole('option', { name: /^Plan/ }).waitFor();
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Plan', exact: true }).waitFor();
        await inSight('Plan');
        await requireAccessible(page);
      }),
    );

    test(
      'every page of the navigation fits on a low screen, and keys are named for the keyboard there is',
      inConsole(async ({ page, open, signIn }) => {
        const person = await world().person('owner');
        await page.setViewportSize({ width: 1366, height: 768 });
        await open('/');
        await signIn(person);
        await page.getByRole('navigation').getByText('Plan').waitFor();
        const heights =
          'const { scrollHeight, clientHeight } = document.querySelector("nav"); scrollHeight - clientHeight';
        assert.equal(await page.evaluate(heights), 0);
        await page.getByText('Ctrl K').waitFor();
        const vault = await addVault(world().service);
        await addSecret(world().service, vault, 'a');
        const phone = await world().newPage({ hasTouch: true, isMobile: true });
        await phone.open(`/vaults/${vault}`);
        await phone.signIn(person);
        await phone.page.setViewportSize({ width: 390, height: 844 });
        await phone.page.getByText('All words must be part of the path.').waitFor();
        assert.equal(await phone.page.getByText('Press / to search.').isVisible(), false);
        await phone.page.getByRole('button', { name: 'Menu' }).click();
        await phone.page.getByRole('button', { name: /^Find/ }).waitFor();
        assert.equal(await phone.page.getByText('Ctrl K').isVisible(), false);
        await phone.close();
        const mac = await world().newPage();
        await mac.page.addInitScript('Object.defineProperty(navigator, "platform", { get: () => "MacIntel" })');
        await mac.open('/');
        await mac.signIn(person);
        await mac.page.getByText('⌘ K').waitFor();
        await mac.close();
      }),
    );

    test(
      'only what one may list is found, and the newest search counts',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const tenant = await addTenant(service);
        const by = tenant.owner.token;
        const vault = await addVault(service, {}, by);
        const word = uniqueName('word');
        for (const place of ['open', 'closed']) await addSecret(service, vault, `${place}/${word}`, {}, by);
        const member = await addPerson(service, { tenant });
        const statement = { action: ['secrets:list'], resource: [`vault/${vault}/open/*`] };
        await addPolicy(service, { user: member.id }, [statement], by);
        await open('/');
        await signIn(member);
        // The search for the first word is answered late, after the one for the second.
        let isHeld = true;
        await page.route(/\/v1\/secrets\?path=zz/, async (route) => {
          while (isHeld) await new Promise((resolve) => setTimeout(resolve, 20));
          await route.continue().catch(() => {});
        });
        await page.getByRole('button', { name: /^Find/ }).click();
        const field = page.getByRole('combobox');
        const held = page.waitForRequest(/path=zz/);
        await field.fill('zz');
        await held;
        await field.fill(word);
        await page.getByRole('option', { name: `open/${word}` }).waitFor();
        isHeld = false;
        assert.deepEqual(await page.getByRole('option').allTextContents(), [`open/${word}Secret in ${vault}`]);
      }),
    );

    test(
      'the start page shows what failed and what is due in all vaults, and nothing to whom nothing is shown',
      inConsole(async ({ page, open, signIn }) => {
        const { service } = world();
        const names: string[] = [];
        for (let each = 0; each < 3; each++) names.push(await addVault(service));
        const last = String(names.at(-1));
        const rotated = { type: 'password', rotation: { interval_days: 2 } };
        for (let each = 0; each < 7; each++) await addSecret(service, last, `due/${each}`, rotated);
        const { id } = await addSecret(service, last, 'broken/login', { type: 'password' });
        await storeRotation(service, id, 'failed');
        await open('/');
        await signIn(await world().person());
        const heading = page.getByRole('heading', { name: '7 rotations due' });
        await heading.waitFor();
        await page.getByRole('heading', { name: '1 failed rotation', exact: true }).waitFor();
        // The calendar has them too.
        const card = page.locator('section').filter({ has: heading }).last();
        const due = card.getByRole('link', { name: `${last}/due/` });
        assert.equal(await due.count(), 5);
        await page.getByRole('button', { name: 'Show all 7' }).click();
        assert.equal(await due.count(), 7);
        await requireAccessible(page);
        const { entries } = await ok(service.call('GET', `/v1/audit?action=secrets:list&vault=${last}`));
        assert.deepEqual(entries, [], 'no vault was asked for by itself');
        await page.getByRole('link', { name: `${last}/broken/login` }).click();
        await page.getByRole('heading', { name: 'broken/login' }).waitFor();
      }),
    );
  });
});
