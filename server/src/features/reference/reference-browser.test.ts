import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { findBrowser } from '../../../../test/support/browser.ts';
import { BrowserPage } from '../../../../test/support/browser-page.ts';
import { type Service, startService } from '../../../../test/support/service.ts';
import { DECLARATIONS } from '../../tools/declarations.ts';
import { nounPages } from './nouns.ts';

/** The reference as a browser shows it. What it says is tested beside its code. */

const browser = findBrowser();
const VISIBLE = `[...document.querySelectorAll('main [data-words]')].filter((each) => each.checkVisibility())`;
const WIDTHS = [390, 1280];
/** The longest of their kind. */
const LOOKED_AT = ['', '/conventions', '/errors', '/secrets', '/app-connections', '/guide', '/guide/environments'];

describe('the reference in a browser', () => {
  let service: Service;
  let page: BrowserPage;
  before(async () => {
    if ('missing' in browser) return;
    service = await startService('sqlite');
    page = await BrowserPage.open(browser.path);
  });
  after(async () => {
    await page?.close();
    await service?.close();
  });
  const inBrowser = (name: string, work: () => Promise<void>) =>
    test(name, (t) => ('missing' in browser ? t.skip(browser.missing) : work()));
  const open = (address: string) => page.goTo(`${service.url}/docs${address}`);
  const here = () => page.evaluate(`location.pathname + location.hash`);
  const visible = () => page.evaluate(`${VISIBLE}.map((each) => each.id)`);

  inBrowser('the filter shows only hits, of all nouns, and Enter goes to the first one', async () => {
    await page.look({ width: 1280 });
    await open('');
    assert.equal((await visible()).length, DECLARATIONS.length);
    await page.press('/');
    await page.type('rotate SECRET');
    const words = ({ method, path, name, summary, noun, permission }: (typeof DECLARATIONS)[number]) =>
      [method, path, name, summary, noun, permission].join(' ').toLowerCase();
    const expected = nounPages(DECLARATIONS)
      .flatMap(({ endpoints }) => endpoints)
      .filter((e) => words(e).includes('rotate') && words(e).includes('secret'))
      .map(({ name }) => name);
    assert.ok(expected.length > 1 && expected.includes('rotateSecret'));
    assert.deepEqual(await visible(), expected);
    const shown = await page.evaluate(`document.querySelector('main').innerText`);
    for (const gone of ['First request', 'Cryptography', 'Create a vault']) assert.ok(!shown.includes(gone), gone);
    assert.equal(
      await page.evaluate(`document.querySelector('#filter-status').textContent`),
      `${expected.length} of ${DECLARATIONS.length}`,
    );
    await page.press('Enter');
    await page.until(`location.pathname !== '/docs' && document.readyState === 'complete'`);
    assert.equal(await here(), `/docs/secrets#${expected[0]}`);
  });

  inBrowser(
    'the filter works by keyboard: down and up through the hits, and Escape shows everything again',
    async () => {
      await open('/vaults');
      await page.press('/');
      await page.type('restore');
      assert.deepEqual(await visible(), ['deleteVault', 'restoreVault']);
      const focused = () => page.evaluate(`document.activeElement.closest('article')?.id ?? document.activeElement.id`);
      for (const [key, expected] of [
        ['ArrowDown', 'deleteVault'],
        ['ArrowDown', 'restoreVault'],
        ['ArrowDown', 'restoreVault'],
        ['ArrowUp', 'deleteVault'],
        ['ArrowUp', 'filter'],
      ] as const) {
        await page.press(key);
        assert.equal(await focused(), expected, key);
      }
      await page.type('d nothing');
      assert.deepEqual(await visible(), []);
      assert.ok(await page.evaluate(`document.querySelector('#nothing-found').checkVisibility()`));
      await page.press('Escape');
      assert.ok((await visible()).length > 5);
    },
  );

  inBrowser('what a page does not have is looked for among all nouns with one more step', async () => {
    await open('/vaults');
    await page.press('/');
    await page.type('totp');
    assert.deepEqual(await visible(), []);
    await page.evaluate(`document.querySelector('#filter-all').click()`);
    await page.until(`location.pathname === '/docs' && document.readyState === 'complete'`);
    assert.ok((await visible()).includes('enrolTotp'));
    assert.equal(await page.evaluate(`document.querySelector('#filter').value`), 'totp');
  });

  inBrowser('an address of the reference when it was one page leads to where that is now', async () => {
    for (const [old, now] of [
      ['#createVault', '/docs/vaults#createVault'],
      ['#composeEnvironment', '/docs/composed-environments#composeEnvironment'],
      ['#noun-composed-environments', '/docs/composed-environments'],
      ['#errors', '/docs/errors'],
      ['#error-NOT_FOUND', '/docs/errors#error-NOT_FOUND'],
    ] as const) {
      await open(old);
      await page.until(`location.pathname !== '/docs' && document.readyState === 'complete'`);
      assert.equal(await here(), now);
    }
    for (const stays of ['#nothing', '#content', '#%', '#filter=totp']) {
      await open(stays);
      assert.equal(await here(), `/docs${stays}`);
    }
  });

  inBrowser('without JavaScript everything is there but the filter', async () => {
    await page.send('Emulation.setScriptExecutionDisabled', { value: true });
    await open('/vaults');
    await page.send('Emulation.setScriptExecutionDisabled', { value: false });
    const text = await page.evaluate(`document.body.innerText`);
    for (const noun of nounPages(DECLARATIONS)) assert.ok(text.includes(noun.title), noun.title);
    assert.equal((await visible()).length, DECLARATIONS.filter(({ noun }) => noun === 'vaults').length);
    assert.ok(!(await page.evaluate(`document.querySelector('#filter').checkVisibility()`)));
    assert.equal(await page.evaluate(`document.querySelectorAll('figure button').length`), 0);
  });

  inBrowser('no page is wider than its window, on a phone or a desk', async () => {
    for (const width of WIDTHS) {
      await page.look({ width });
      for (const address of LOOKED_AT) {
        await open(address);
        const beyond = await page.evaluate('((root) => root.scrollWidth - root.clientWidth)(document.documentElement)');
        assert.equal(beyond, 0, `${address} at ${width}`);
      }
    }
  });

  inBrowser('the browser complains of nothing: no policy is violated, no script fails', async () => {
    assert.deepEqual(page.complaints, []);
  });
});
