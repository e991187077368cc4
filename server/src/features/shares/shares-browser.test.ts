import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sealShare } from '../../../../client/src/index.ts';
import { findBrowser } from '../../../../test/support/browser.ts';
import { BrowserPage } from '../../../../test/support/browser-page.ts';
import { ok } from '../../../../test/support/people.ts';
import { type Service, startService } from '../../../../test/support/service.ts';

const browser = findBrowser();
const VALUE = 'hunter2 <b>ü</b>';

describe('the page of a link in a browser', () => {
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
  const click = (selector: string) => page.evaluate(`document.querySelector('${selector}').click()`);
  const shown = `document.getElementById('value').textContent`;
  const viewsLeft = async (id: string) => {
    const { shares } = await ok(service.call('GET', '/v1/shares'));
    return shares.find((share: { id: string }) => share.id === id).views_left;
  };

  async function link(passphrase: string | null = null) {
    const { envelope, key } = await sealShare(VALUE, passphrase);
    const body = { envelope, expires_in_seconds: 3600 };
    const { id } = await ok(service.call('POST', '/v1/shares', { body }), 201);
    return { id, url: `${service.url}/s/${id}#${key}` };
  }

  inBrowser('opens nothing until a click, and then shows the value once', async () => {
    const { id, url } = await link();
    await page.goTo(url);
    await page.until(`location.hash === ''`);
    assert.equal(await viewsLeft(id), 1);
    await click('#open');
    await page.until(`${shown} !== ''`);
    assert.equal(await page.evaluate(shown), VALUE);
    assert.equal(await viewsLeft(id), 0);
    await page.goTo(`${service.url}/docs`);
    await page.goTo(url);
    await page.until(`location.hash === ''`);
    await click('#open');
    await page.until(`document.getElementById('said').textContent.startsWith('There is nothing to open')`);
  });

  inBrowser('asks for the passphrase until it is right', async () => {
    const { url } = await link('right');
    await page.goTo(`${service.url}/docs`);
    await page.goTo(url);
    await page.until(`location.hash === ''`);
    await click('#open');
    await page.until(`!document.getElementById('passphrase').hidden`);
    for (const [passphrase, until] of [
      ['wrong', `document.getElementById('said').textContent.startsWith('The passphrase is wrong')`],
      ['right', `${shown} !== ''`],
    ] as const) {
      await page.evaluate(`document.querySelector('input').value = '${passphrase}'`);
      await click('#passphrase button');
      await page.until(until);
    }
    assert.equal(await page.evaluate(shown), VALUE);
  });
});
