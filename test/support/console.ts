import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, type TestContext } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findBrowser } from './browser.ts';
import { addPerson, type Person, uniqueName } from './people.ts';
import { type DatabaseKind, type Service, startService } from './service.ts';
import { until } from './until.ts';

/** The console in a real browser, with a service of its own. */

const browserHere = findBrowser();
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Chromium starts and a page loads within this on a very slow machine. */
const PATIENCE_MS = 30_000;

/** A page of the console that knows what went wrong in it. */
export interface ConsolePage {
  readonly page: Page;
  /** Opens a page by its fragment, such as `/vaults/payments`. */
  open(fragment: string): Promise<void>;
  signIn(person: Pick<Person, 'email' | 'password' | 'tenant'>): Promise<void>;
  /** What the browser complained about: errors, refused loads, violations of the content security policy. */
  readonly complaints: string[];
  close(): Promise<void>;
}

export interface ConsoleWorld {
  readonly service: Service;
  /** The address that browsers treat as a secure origin, and passkeys as a host name. */
  readonly url: string;
  newPage(options?: BrowserContextOptions): Promise<ConsolePage>;
  /** Somebody with a password. */
  person(role?: 'owner' | 'admin' | 'auditor' | 'member'): Promise<Person>;
}

export type InConsole = (
  work: (console: ConsolePage, t: TestContext) => Promise<void>,
) => (t: TestContext) => Promise<void>;

/**
 * For tests that need a browser: `test('…', inConsole(async ({ page }) => …))`. Without a browser they are skipped, with the reason. A page with
 * complaints fails its test.
 */
export function describeConsole(
  database: DatabaseKind,
  declare: (world: () => ConsoleWorld, inConsole: InConsole) => void,
  env: Record<string, string> = {},
): void {
  let world: ConsoleWorld | null = null;
  let browser: Browser | null = null;
  before(async () => {
    if ('missing' in browserHere) return;
    const service = await startService(database, { env: { CV_CONSOLE: 'on', ...env } });
    browser = await chromium.launch({ executablePath: browserHere.path, args: ['--no-sandbox'], timeout: PATIENCE_MS });
    world = worldOf(service, browser);
  });
  after(async () => {
    await browser?.close();
    await world?.service.close();
  });
  const current = () => {
    assert.ok(world !== null);
    return world;
  };
  declare(current, (work) => async (t) => {
    if ('missing' in browserHere) return t.skip(browserHere.missing);
    const page = await current().newPage();
    try {
      await work(page, t);
      assert.deepEqual(page.complaints, []);
    } finally {
      await page.close();
    }
  });
}

function worldOf(service: Service, browser: Browser): ConsoleWorld {
  const url = service.url.replace('127.0.0.1', 'localhost');
  return {
    service,
    url,
    newPage: (options) => newConsolePage(browser, url, options),
    person: (role = 'admin') => addPerson(service, { role, email: `${uniqueName(role)}@example.com` }),
  };
}

/** Answers the questions of the sign-in up to the password. */
export async function giveCredentials(
  page: Page,
  { email, password, tenant }: Pick<Person, 'email' | 'password' | 'tenant'>,
): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  if (tenant !== undefined) {
    await page.getByRole('button', { name: 'Another organization?' }).click();
    await page.getByLabel('Organization').fill(tenant);
  }
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

async function newConsolePage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return {
    page,
    complaints,
    async open(fragment) {
      // Otherwise the browser would stay in the page that it has, and load nothing.
      await page.goto('about:blank');
      await page.goto(`${url}/#${fragment}`);
    },
    async signIn(person) {
      // While nobody else can sign in, the page wants the admin token first.
      const first = page.getByLabel('Admin token').or(page.getByLabel('E-mail address'));
      await first.waitFor();
      if (await page.getByLabel('Admin token').isVisible())
        await page.getByRole('button', { name: 'Sign in another way' }).click();
      await giveCredentials(page, person);
      await page.getByRole('navigation').waitFor();
    },
    close: () => context.close(),
  };
}

/** An authenticator for passkeys that Chromium simulates. */
export async function addAuthenticator(page: Page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    setVerified: (isUserVerified: boolean) =>
      devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  };
}

/** Waits until an expression is true in the page. Playwright's `waitForFunction` evaluates text in the page again and again, which the content security policy refuses. */
export async function untilInPage(page: Page, expression: string): Promise<void> {
  await until(`in the page: ${expression}`, async () => (await page.evaluate(expression)) === true);
}

/** Fails with what axe finds in the page as it is now. */
export async function requireAccessible(page: Page): Promise<void> {
  await page.evaluate(AXE);
  const found = (await page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | ')))`,
  )) as string[];
  assert.deepEqual(found, []);
}

/** Complaints about requests that a test meant to be refused. */
export function forgive(console: ConsolePage, pattern: RegExp): void {
  const others = console.complaints.filter((each) => !pattern.test(each));
  console.complaints.splice(0, console.complaints.length, ...others);
}
