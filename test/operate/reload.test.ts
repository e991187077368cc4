import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { ok } from '../support/people.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { newDataDir, type ProcessOptions, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { call } from '../support/service.ts';
import { mailTo, newApplicant, newNetwork, SIGNUP_ENV } from '../support/signups.ts';
import { newStripeId, STRIPE_ENV, STRIPE_SECRET, signatureOf, stripeEvent, subscription } from '../support/stripe.ts';
import { until } from '../support/until.ts';
import { freshCall, replacedIn, spawnWorkers, WORKERS, workerPids } from '../support/workers.ts';

const LOADED = /"reloaded":(\[[^\]]*\]).*the settings were loaded again/;

/** Files with settings, beside the data folder. */
function settingFiles(dataDir: string) {
  mkdirSync(dirname(dataDir), { recursive: true });
  const path = (name: string) => join(dirname(dataDir), name);
  return { path, write: (name: string, content: string) => writeFileSync(path(name), `${content}\n`) };
}

async function reloaded(service: ServiceProcess, expected: RegExp): Promise<void> {
  const before = service.stdout().length;
  service.kill('SIGHUP');
  await until(`the log has ${expected}`, () => expected.test(service.stdout().slice(before)));
}

describe('SIGHUP', () => {
  test('loads the log level again, and nothing that is wrong', async () => {
    const dataDir = newDataDir();
    const files = settingFiles(dataDir);
    files.write('level', 'info');
    const service = await spawnService({ dataDir, env: { CV_LOG_LEVEL_FILE: files.path('level') } });
    await reloaded(service, /"reloaded":\[\].*the settings were loaded again/);
    files.write('level', 'debug');
    await reloaded(service, /"reloaded":\["CV_LOG_LEVEL"\].*the settings were loaded again/);
    files.write('level', 'loud');
    await reloaded(service, /CV_LOG_LEVEL must be .*the settings are wrong; those from before stay in use/);
    files.write('level', 'info');
    await reloaded(service, LOADED);
    assert.equal((await call(service.url, 'GET', '/health/ready', {})).status, 200);
    await stopService(service);
  });

  test('uses a new password of the database, and no other database', async () => {
    const admin = await newPostgresDatabase();
    const role = `reloaded_${process.pid}`;
    const url = (password: string, database = new URL(admin).pathname) => {
      const changed = new URL(admin);
      [changed.username, changed.password, changed.pathname] = [role, password, database];
      return changed.href;
    };
    await query(admin, `create role ${role} login superuser password 'first'`);
    const dataDir = newDataDir();
    const files = settingFiles(dataDir);
    files.write('url', url('first'));
    const service = await spawnService({ dataDir, env: { CV_DATABASE_URL_FILE: files.path('url') } });
    const token = service.adminToken();
    await query(admin, `alter role ${role} password 'second'`);
    files.write('url', url('second'));
    await reloaded(service, /"reloaded":\["CV_DATABASE_URL"\].*the settings were loaded again/);
    await query(admin, `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`);
    await until('the service has connected again', async () => {
      return (await call(service.url, 'GET', '/health/ready', {})).status === 200;
    });
    const body = { name: 'after', environment: 'staging' };
    await ok(call(service.url, 'POST', '/v1/vaults', { token, body }), 201);

    files.write('url', url('second', '/another'));
    await reloaded(service, /"settings":\["CV_DATABASE_URL"\].*need a restart/);
    await ok(call(service.url, 'GET', '/v1/vaults/after', { token }));
    assert.doesNotMatch(service.stdout() + service.stderr(), /first@|second@|:second|:first/);
    await stopService(service);
    await query(admin, `reassign owned by ${role} to current_user; drop role ${role}`);
  });

  test('uses another mail server, and goes on with the last one that was right', async () => {
    const [first, second] = [await startMailServer(), await startMailServer()];
    const dataDir = newDataDir();
    const files = settingFiles(dataDir);
    files.write('smtp', first.url);
    const env = { ...SIGNUP_ENV, CV_SMTP_URL_FILE: files.path('smtp') };
    const service = await spawnService({ dataDir, env });
    const signUp = async () => {
      const applicant = newApplicant();
      const headers = { 'x-forwarded-for': newNetwork() };
      await ok(call(service.url, 'POST', '/saas/signup', { body: applicant, headers }), 201);
      return applicant.email;
    };
    const arrivesAt = async (server: MailServer) => {
      const email = await signUp();
      await until('the mail arrives', () => mailTo(server, email).length === 1);
    };
    await arrivesAt(first);
    const withPassword = second.url.replace('//', '//coffer:hunter2@');
    files.write('smtp', withPassword);
    await reloaded(service, /"reloaded":\["CV_SMTP_URL"\].*the settings were loaded again/);
    files.write('smtp', second.url);
    await reloaded(service, /"reloaded":\["CV_SMTP_URL"\].*the settings were loaded again/);
    const countBefore = first.received.length;
    await arrivesAt(second);
    files.write('smtp', 'not a mail server');
    await reloaded(service, /CV_SMTP_URL.*the settings are wrong; those from before stay in use/);
    await arrivesAt(second);
    assert.equal(first.received.length, countBefore);
    assert.doesNotMatch(service.stdout() + service.stderr(), /hunter2/);
    await stopService(service);
  });

  test('uses another key of Stripe, and needs no signal for another signing secret', async () => {
    const { files, stripe, service } = await stripeService(spawnService);
    assert.equal(await signedBy(service, STRIPE_SECRET), 200);
    assert.equal(stripe.keys.at(-1), 'Bearer rk_first');
    files.write('key', 'rk_second');
    await reloaded(service, /"reloaded":\["CV_STRIPE_API_KEY"\].*the settings were loaded again/);
    assert.equal(await signedBy(service, STRIPE_SECRET), 200);
    assert.equal(stripe.keys.at(-1), 'Bearer rk_second');

    assert.equal(await signedBy(service, OTHER_SECRET), 401);
    files.write('secret', OTHER_SECRET);
    assert.equal(await signedBy(service, OTHER_SECRET), 200);
    assert.equal(await signedBy(service, STRIPE_SECRET), 401);
    await reloaded(service, /"reloaded":\[\].*the settings were loaded again/);
    assert.doesNotMatch(service.stdout() + service.stderr(), /whsec_|rk_(first|second)/);
    await stopService(service);
  });

  test('reaches every worker, also one that was starting', async () => {
    const { files, stripe, service } = await stripeService(spawnWorkers);
    const before = loads(service);
    files.write('key', 'rk_second');
    service.kill('SIGHUP');
    await until('each worker has loaded them', () => loads(service) === before + WORKERS);
    /** The keys that are used by enough events to have reached every worker. */
    const used = async () => {
      stripe.keys.length = 0;
      for (let i = 0; i < 5 * WORKERS; i++) assert.equal(await signedBy(service, STRIPE_SECRET), 200);
      return [...new Set(stripe.keys)];
    };
    assert.deepEqual(await used(), ['Bearer rk_second']);

    const [killed] = workerPids(service).values();
    process.kill(Number(killed), 'SIGKILL');
    await until('it is known to have ended', () => replacedIn(service).length === 1);
    files.write('key', 'rk_third');
    service.kill('SIGHUP');
    await until('another is ready', () => !workerPids(service).values().toArray().includes(Number(killed)));
    await until('all use the new key', async () => (await used()).join() === 'Bearer rk_third');
    assert.equal(replacedIn(service).length, 1, 'no other has ended');
    assert.doesNotMatch(service.stdout() + service.stderr(), /whsec_|rk_(first|second|third)/);
    await stopService(service);
  });
});

const OTHER_SECRET = `whsec_${'other'.repeat(7)}`;

/** What the service asks Stripe for, and with which key. */
async function startStripe(): Promise<{ url: string; keys: string[] }> {
  const keys: string[] = [];
  const api = createServer((request, response) => {
    keys.push(String(request.headers.authorization));
    const id = String(request.url?.split('/').at(-1));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(subscription({ id, status: 'incomplete' })));
  });
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  after(() => {
    api.closeAllConnections();
    api.close();
  });
  return { url: `http://127.0.0.1:${(api.address() as AddressInfo).port}`, keys };
}

async function stripeService(spawn: (options: ProcessOptions) => Promise<ServiceProcess>) {
  const dataDir = newDataDir();
  const files = settingFiles(dataDir);
  const stripe = await startStripe();
  files.write('secret', STRIPE_SECRET);
  files.write('key', 'rk_first');
  const env = {
    CV_STRIPE_PRICES: STRIPE_ENV.CV_STRIPE_PRICES,
    CV_STRIPE_WEBHOOK_SECRET_FILE: files.path('secret'),
    CV_STRIPE_API_KEY_FILE: files.path('key'),
    CV_STRIPE_API_URL: stripe.url,
    CV_OUTBOUND_ALLOW: '127.0.0.1/32',
  };
  return { files, stripe, service: await spawn({ dataDir, env }) };
}

/** How an event is answered that is signed with this secret, and for which the service asks Stripe. */
async function signedBy(service: ServiceProcess, secret: string): Promise<number> {
  const now = Date.now();
  const object = subscription({ id: newStripeId('sub'), status: 'incomplete' });
  const body = JSON.stringify(stripeEvent('customer.subscription.updated', object, now));
  const headers = { 'stripe-signature': signatureOf(body, now, secret) };
  return (await freshCall(service.url, 'POST', '/billing/webhook', { body, headers })).status;
}

function loads(service: ServiceProcess): number {
  return service.stdout().match(/the settings were loaded again/g)?.length ?? 0;
}
