import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describeConsole, requireAccessible } from '../../support/console.ts';
import type { Person } from '../../support/people.ts';
import { onSqliteAtLanding } from '../../support/service.ts';
import { differences, onBlankPage, sheetOf, type Tile } from './contact-sheet.ts';
import { fillPages } from './page-world.ts';

/**
 * Every page beside its reference, in five sizes and modes. With UPDATE_PICTURES=1 the references are drawn anew: look at them before you commit them.
 */

const REFERENCES = join(import.meta.dirname, 'references');
const DRAWN = join(import.meta.dirname, '../../../node_modules/.cache/coffer-pictures');
/** Times, ids and plots differ from run to run by less; a column that is missing or a bar that wraps is more. */
const DIFFERING_MAX = 0.06;

const DESKTOP = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const MODES: Readonly<Record<string, { options: BrowserContextOptions; tile: Tile }>> = {
  light: { options: { viewport: DESKTOP, colorScheme: 'light' }, tile: { width: 144, height: 90 } },
  dark: { options: { viewport: DESKTOP, colorScheme: 'dark' }, tile: { width: 144, height: 90 } },
  contrast: { options: { viewport: DESKTOP, contrast: 'more' }, tile: { width: 144, height: 90 } },
  phone: { options: { viewport: PHONE, colorScheme: 'light' }, tile: { width: 60, height: 130 } },
  'phone-dark': { options: { viewport: PHONE, colorScheme: 'dark' }, tile: { width: 60, height: 130 } },
};

onSqliteAtLanding('pictures of every page', (database) => {
  describeConsole(database, (world, inConsole) => {
    let filling: Promise<{ admin: Person; addresses: string[] }> | null = null;
    /** Once for all tests. Without a browser there is no service, and nothing to fill. */
    const filled = () => {
      filling ??= fillPages(world().service);
      return filling;
    };

    const loaded = async (page: Page) => {
      await page.locator('main h1').waitFor();
      await page.waitForLoadState('networkidle');
      await page.getByText('Loading …').first().waitFor({ state: 'detached' });
    };

    for (const [mode, { options, tile }] of Object.entries(MODES)) {
      test(
        `look as before: ${mode}`,
        inConsole(async () => {
          const { admin, addresses } = await filled();
          const drawing = await world().newPage({ ...options, reducedMotion: 'reduce' });
          const { page, open, signIn } = drawing;
          await open('/');
          await signIn(admin);
          const pictures: Buffer[] = [];
          for (const address of addresses) {
            await open(address);
            await loaded(page);
            pictures.push(await page.screenshot());
          }
          const browser = page.context().browser();
          assert.ok(browser !== null);
          await drawing.close();
          await onBlankPage(browser, async (blank) => {
            const sheet = await sheetOf(blank, pictures, tile);
            const file = join(REFERENCES, `${mode}.png`);
            if (process.env['UPDATE_PICTURES'] === '1') {
              mkdirSync(REFERENCES, { recursive: true });
              writeFileSync(file, sheet);
            }
            mkdirSync(DRAWN, { recursive: true });
            writeFileSync(join(DRAWN, `${mode}.png`), sheet);
            const found = await differences(blank, [sheet, readFileSync(file)], tile);
            assert.ok(found !== null, `a page was added or removed: draw ${mode}.png anew with UPDATE_PICTURES=1`);
            const changed = addresses.flatMap((address, i) =>
              (found[i] ?? 1) > DIFFERING_MAX ? [`${address} by ${Math.round((found[i] ?? 1) * 100)} %`] : [],
            );
            assert.deepEqual(changed, [], `compare ${mode}.png with ${DRAWN}`);
          });
        }),
      );
    }

    test(
      'can be read by everybody, with long names, at 200 % and from right to left, without moving sideways',
      inConsole(async ({ page, open, signIn }) => {
        const { admin, addresses } = await filled();
        await open('/');
        await signIn(admin);
        const found: string[] = [];
        const measure = async (what: string) => {
          const over = Number(
            await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
          );
          if (over > 0) found.push(`${what} by ${over} px`);
        };
        for (const address of addresses) {
          await page.setViewportSize(DESKTOP);
          await open(address);
          await loaded(page);
          // All findings at once, because a run takes minutes.
          await requireAccessible(page).catch((error: unknown) => found.push(`${address}: ${error}`));
          await measure(address);
          // A browser that enlarges to 200 % has half the pixels of style.
          await page.setViewportSize({ width: DESKTOP.width / 2, height: DESKTOP.height / 2 });
          await measure(`${address} at 200 %`);
          await page.setViewportSize(PHONE);
          await measure(`${address} on a phone`);
          await page.evaluate(`document.documentElement.dir = 'rtl'`);
          await measure(`${address} on a phone, from right to left`);
          await page.setViewportSize(DESKTOP);
          await measure(`${address} from right to left`);
        }
        assert.deepEqual(found, []);
      }),
    );
  });
});
