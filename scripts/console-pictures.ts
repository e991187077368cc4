import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { Coffer } from '../client/src/index.ts';

/** Draws the pictures of the console in the README from a real service: `npm run pictures`. Needs Chromium, and port 7499. */

const ROOT = join(import.meta.dirname, '..');
const TARGET = join(ROOT, 'docs/console');
const PORT = 7499;
const URL = `http://localhost:${PORT}`;
const PASSWORD = 'a picture of a horse and a battery';
const ENVIRONMENT_FILE = {
  'db/password': 'p-81',
  'db/url': 'postgres://db',
  'stripe/key': 'k-1',
  'mail/smtp-password': 'm',
};

const data = mkdtempSync(join(tmpdir(), 'coffer-pictures-'));
const service = spawn(process.execPath, ['--disable-sigusr1', join(ROOT, 'server/main.js')], {
  env: { CV_DATA_DIR: data, CV_PORT: String(PORT), CV_TLS_PORT: 'off', CV_DRAIN_SECONDS: '0', CV_LOG_FORMAT: 'json' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
await new Promise<void>((resolve) => service.stdout.on('data', (text) => /is ready/.test(String(text)) && resolve()));
try {
  await draw();
} finally {
  service.kill('SIGTERM');
  await new Promise((resolve) => service.once('exit', resolve));
  rmSync(data, { recursive: true });
}

async function draw(): Promise<void> {
  const token = readFileSync(join(data, 'admin.token'), 'utf8').trim();
  const coffer = new Coffer({ url: URL, auth: { token } });
  await coffer.call('POST /auth/password', { body: { new_password: PASSWORD } });
  for (const [name, environment] of [
    ['shop-dev', 'development'],
    ['shop-staging', 'staging'],
    ['shop-prod', 'production'],
  ] as const) {
    await coffer.call('POST /v1/vaults', { body: { name, environment, description: 'The web shop' } });
    const secrets = name === 'shop-staging' ? { 'db/password': 'p-2', 'db/url': 'postgres://db' } : ENVIRONMENT_FILE;
    await coffer.call('POST /v1/vaults/{vault}/import', { path: { vault: name }, body: { secrets, environment } });
  }
  await coffer.secrets.rotate('shop-prod', 'db/password', { value: 'p-82', reason: 'quarterly' });
  await coffer.secrets.get('shop-prod', 'db/password');
  await shareVaults(coffer);
  const { user } = await coffer.call('GET /auth/me', {});

  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  mkdirSync(TARGET, { recursive: true });
  const context = await browser.newContext({ viewport: { width: 1200, height: 760 } });
  const page = await context.newPage();
  await page.goto(`${URL}/`);
  await page.getByLabel('E-mail address').fill(user.email);
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').waitFor();
  await picture(page, '/vaults/shop-prod/secret/db/password', 'secret.png', 'of 100');
  await picture(page, '/attack-paths', 'paths.png', 'the worst first');
  await page.emulateMedia({ colorScheme: 'dark' });
  await picture(page, '/compare?vault=shop-dev&vault=shop-staging&vault=shop-prod', 'compare.png', '4 paths');
  await browser.close();
}

/** Machines with access, so that there are ways to secrets to be drawn. */
async function shareVaults(coffer: Coffer): Promise<void> {
  for (const [name, vault] of [
    ['shop-web', 'shop-dev'],
    ['shop-worker', 'shop-dev'],
    ['preview', 'shop-staging'],
    ['nightly-export', 'shop-staging'],
  ] as const) {
    await coffer.call('POST /v1/app-connections', { body: { name, vault, mtls_required: name === 'shop-web' } });
  }
  await coffer.call('POST /attack-paths/recompute', {});
  for (let found = 0; found === 0; ) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    found = (await coffer.call('GET /attack-paths', { query: { limit: 1 } })).attack_paths.length;
  }
}

async function picture(page: Page, fragment: string, file: string, text: string): Promise<void> {
  await page.goto('about:blank');
  await page.goto(`${URL}/#${fragment}`);
  await page.getByText(text).first().waitFor();
  await page.waitForLoadState('networkidle');
  await page.screenshot({ path: join(TARGET, file) });
}
