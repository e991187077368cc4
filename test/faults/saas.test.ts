import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { type MailServer, startMailServer, textPart } from '../support/mail-server.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import {
  killService,
  newDataDir,
  pause,
  randomBetween,
  type ServiceProcess,
  spawnService,
  stopService,
} from '../support/process.ts';
import { type Answer, call, DATABASES, type DatabaseKind } from '../support/service.ts';
import { mailTo, newApplicant } from '../support/signups.ts';
import { newStripeId, STRIPE_ENV, signatureOf, stripeEvent, subscription } from '../support/stripe.ts';
import { until } from '../support/until.ts';

/** Sign-ups and billing events while the process is killed again and again: each is done, or can be repeated. */

/** Longer than a lease of a mail, so that a process that starts finds none of the one before. Nodes of PostgreSQL need its clock, and wait. */
const CLOCK_STEP_MS = 2 * 60_000;
const ARRIVES_WITHIN_MS = 240_000;
const KILLS = 4;
/** Within this time of a request the process is killed. */
const KILLED_WITHIN_MS = 60;

class Restarted {
  readonly #dataDir = newDataDir();
  readonly #env: Record<string, string>;
  #starts = 0;

  readonly #stepMs: number;

  constructor(env: Record<string, string>) {
    this.#env = { ...env, COFFER_TEST_CLOCK_FILE: `${this.#dataDir}.clock` };
    this.#stepMs = env['CV_DATABASE_URL'] === undefined ? CLOCK_STEP_MS : 0;
  }

  /** By how much its clock is ahead. */
  get aheadMs(): number {
    return (this.#starts - 1) * this.#stepMs;
  }

  start(): Promise<ServiceProcess> {
    writeFileSync(`${this.#dataDir}.clock`, String(this.#starts++ * this.#stepMs));
    return spawnService({ dataDir: this.#dataDir, env: this.#env, preloaded: 'clock.ts' });
  }
}

const settled = (answer: Promise<Answer>): Promise<Answer | null> => answer.catch(() => null);

async function environment(database: DatabaseKind, server: MailServer): Promise<Record<string, string>> {
  return {
    CV_SIGNUP: 'on',
    CV_SMTP_URL: server.url,
    CV_MAIL_FROM: 'coffer@service.example',
    ...STRIPE_ENV,
    ...(database === 'postgres' && { CV_DATABASE_URL: await newPostgresDatabase() }),
  };
}

for (const database of DATABASES) {
  describe(`a process that is killed during sign-ups and billing, ${database}`, () => {
    test('each step is done or can be repeated, and nothing is done twice', async () => {
      const server = await startMailServer();
      const installation = new Restarted(await environment(database, server));
      let service = await installation.start();
      /** Sends something and kills the process at some instant; then sends it again until it is answered. */
      const throughKills = async (send: () => Promise<Answer>): Promise<Answer> => {
        for (let kill = 0; kill < KILLS; kill++) {
          const sent = settled(send());
          await pause(randomBetween(0, KILLED_WITHIN_MS));
          await killService(service);
          service = await installation.start();
          const answer = await sent;
          if (answer !== null) return answer;
        }
        return send();
      };
      const post = (path: string, body: unknown) => call(service.url, 'POST', path, { token: null, body });

      const applicant = newApplicant();
      const signedUp = await throughKills(() => post('/saas/signup', applicant));
      assert.ok([201, 429].includes(signedUp.status), signedUp.text);
      // Of several mails the newest counts; a sign-up that was answered has sent one.
      const tokens = () =>
        mailTo(server, applicant.email).flatMap(({ source }) => /cv_verify_[0-9A-Za-z]+/.exec(textPart(source)) ?? []);
      await until('the mail', () => tokens().length > 0, ARRIVES_WITHIN_MS);
      let tried = '';
      const verify = () => {
        tried = tokens().at(-1) ?? '';
        return post('/saas/verify', { token: tried, password: applicant.password });
      };
      let verified = await throughKills(verify);
      const tenant = `firm-${applicant.organization.slice('Firm '.length)}`;
      const tenants = async () => {
        const { body } = await call(service.url, 'GET', '/v1/tenants', { token: service.adminToken() });
        return body.tenants.filter(({ name }: { name: string }) => name.startsWith(tenant));
      };
      // A lost answer may have made the tenant; or the token was of a sign-up before the newest, whose mail comes later.
      await until(
        'a tenant',
        async () => {
          if (verified.status !== 200 && tokens().at(-1) !== tried) verified = await verify();
          return (await tenants()).length > 0;
        },
        ARRIVES_WITHIN_MS,
      );
      const { email, password } = applicant;
      const session = await post('/auth/login', { email, password, tenant });
      assert.equal(session.status, 200, session.text);
      const { token } = session.body;
      const made = await tenants();
      assert.equal(made.length, 1);

      const id = newStripeId('sub');
      const object = subscription({ id, status: 'active', tenant: made[0].id });
      const event = stripeEvent('customer.subscription.created', object, Date.now() + installation.aheadMs);
      const body = JSON.stringify(event);
      const bill = () => {
        const headers = { 'stripe-signature': signatureOf(body, Date.now() + installation.aheadMs) };
        return call(service.url, 'POST', '/billing/webhook', { token: null, body, headers });
      };
      assert.equal((await throughKills(bill)).status, 200);
      assert.equal((await bill()).status, 200);
      const tier = await call(service.url, 'GET', '/saas/tier', { token });
      assert.equal(tier.body.tier, 'professional');
      const audit = await call(service.url, 'GET', '/v1/audit?limit=1000', { token });
      const events = audit.body.entries.filter(({ action }: { action: string }) => action === 'billing:event');
      assert.equal(events.length, 1);
      const verification = await call(service.url, 'GET', '/v1/audit/verify', { token });
      assert.equal(verification.body.valid, true, verification.text);
      await stopService(service);
      await server.close();
    });
  });
}
