import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeConsole, requireAccessible } from '../support/console.ts';
import { ok, uniqueName } from '../support/people.ts';
import { onSqliteAtLanding } from '../support/service.ts';

/** Every page as every role: who is led to it, that it opens without a refused request, and that it can be read by everybody. */

const FOR_ALL = ['Start', 'Services', 'Vaults', 'Compare', 'Anomalies', 'Approvals', 'My account'];
const FOR_AUDITORS = [
  ...FOR_ALL,
  'Composed environments',
  'People',
  'Groups',
  'Policies',
  'Sign-on',
  'Connections',
  'Workload identity',
  'Audit log',
  'Access graph',
  'Attack paths',
  'Exporters',
  'Webhooks',
  'Encryption keys',
  'Hosts',
  'Clusters',
  'Background jobs',
  'Settings',
  'Plan',
];
const EXPECTED = {
  owner: FOR_AUDITORS,
  admin: FOR_AUDITORS,
  auditor: FOR_AUDITORS,
  member: FOR_ALL,
} as const;
const SCREENS = { 'a phone': { width: 390, height: 844 }, 'a tablet': { width: 820, height: 1180 } };

onSqliteAtLanding('pages of the console', (database) => {
  describeConsole(database, (world, inConsole) => {
    for (const [role, titles] of Object.entries(EXPECTED)) {
      test(
        `as ${role}`,
        inConsole(async ({ page, open, signIn, complaints }) => {
          const { service } = world();
          const vault = uniqueName('seen-by-all');
          await ok(service.call('POST', '/v1/vaults', { body: { name: vault } }), 201);
          await open('/');
          await signIn(await world().person(role as keyof typeof EXPECTED));
          if (role === 'member') await page.getByText('No vault is shared with you yet.').waitFor();
          const navigation = page.getByRole('navigation');
          for (const title of titles) await navigation.getByRole('link', { name: title, exact: true }).waitFor();
          const links = await navigation.getByRole('link').all();
          const shown = await Promise.all(
            links.map(async (link) => [await link.innerText(), await link.getAttribute('href')]),
          );
          assert.deepEqual(shown.map(([title]) => title).toSorted(), [...titles].toSorted());
          for (const [title, href] of shown) {
            await open(String(href).replace(/^#/, ''));
            await page.locator('main h1').waitFor();
            await page.getByText('Loading …').first().waitFor({ state: 'detached' });
            assert.equal(await page.getByRole('alert').count(), 0, title ?? '');
            await requireAccessible(page);
            for (const [screen, size] of Object.entries(SCREENS)) {
              await page.setViewportSize(size);
              const width = Number(await page.evaluate('document.documentElement.scrollWidth'));
              assert.ok(width <= size.width, `${title} is ${width} px wide on ${screen}`);
              const wider = await page.evaluate(
                `[...document.querySelectorAll('.table-box')].filter((box) => box.scrollWidth > box.clientWidth).length`,
              );
              assert.equal(wider, 0, `a table of ${title} has to be moved sideways on ${screen}`);
            }
            await page.setViewportSize({ width: 1280, height: 900 });
            assert.deepEqual(complaints, [], title ?? '');
          }
        }),
      );
    }
  });
});
