import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { assertSameAs, type Everything, everythingOf } from '../support/everything.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { newDataDir, pause, runCoffer, spawnService, startCoffer, stopService } from '../support/process.ts';
import { call, type DatabaseKind, onBothDatabases, startService } from '../support/service.ts';

/** Every step from where the key is taken in hand; those before it only open the database, and some of them will do. */
const LAST_STEPS = { sqlite: 20, postgres: 34 };
const SAMPLED_EVERY = 24;
const READING = /^(vaults:list|secrets:(list|read|read_metadata)|audit:\w+|eaas:\w+|tokens:create|server:rekey)$/;
const REKEY = ['server', 'rekey'];

interface Place {
  dataDir: string;
  databaseUrl?: string | undefined;
  env?: Record<string, string>;
}

/** Two tenants with secrets in several versions, an encryption key, and what all of it said before. */
class Installation {
  readonly kind: DatabaseKind;
  readonly env: Record<string, string>;
  place: Place = { dataDir: '' };
  steps: string[] = [];
  #tokens: string[] = [];
  #envelope = '';
  #before: Everything[] = [];

  constructor(kind: DatabaseKind, env: Record<string, string> = {}) {
    this.kind = kind;
    this.env = env;
  }

  async make(): Promise<void> {
    const databaseUrl = this.kind === 'postgres' ? await newPostgresDatabase() : undefined;
    const service = await spawnService({ databaseUrl, env: this.env });
    const admin = service.adminToken();
    const send = async (token: string, method: string, path: string, body: unknown) => {
      const answer = await call(service.url, method, path, { token, body });
      assert.ok(answer.status < 300, answer.text);
      return answer.body;
    };
    const tenant = await send(admin, 'POST', '/v1/tenants', { name: 'other', owner_email: 'o@example.com' });
    this.#tokens = [admin, tenant.owner.token];
    for (const token of this.#tokens) {
      for (const [name, paths] of [
        ['shop', ['db/password', 'api/key']],
        ['bank', ['pin']],
      ] as const) {
        await send(token, 'POST', '/v1/vaults', { name, environment: 'staging' });
        for (const path of paths) {
          await send(token, 'POST', `/v1/vaults/${name}/secrets`, { path, value: `${name} ${path} 1` });
          for (const n of [2, 3])
            await send(token, 'PUT', `/v1/vaults/${name}/secrets/${path}`, { value: `${path} ${n}` });
        }
      }
    }
    await send(admin, 'POST', '/eaas/keys', { name: 'orders' });
    const sealed = await send(admin, 'POST', '/eaas/keys/orders/encrypt', { plaintext: 'sealed before' });
    this.#envelope = sealed.envelope;
    for (const token of this.#tokens) this.#before.push(await everythingOf(service.url, token));
    await stopService(service);
    this.place = { dataDir: service.dataDir, databaseUrl, env: this.env };
  }

  /** Rekeys a copy to the end, and notes each of its steps. */
  async countSteps(env: Record<string, string> = {}): Promise<number[]> {
    const place = await this.copy();
    const file = `${place.dataDir}.steps`;
    const counting = { ...place.env, ...env, COFFER_TEST_STEPS_FILE: file };
    const { code, stderr } = await runCoffer(REKEY, { ...place, env: counting, preloaded: 'end-at-step.ts' });
    assert.equal(code, 0, stderr);
    this.steps = readFileSync(file, 'utf8').trimEnd().split('\n');
    const { length } = this.steps;
    const all = Array.from({ length }, (_, i) => i + 1);
    return all.filter((step) => step > length - LAST_STEPS[this.kind] || step % SAMPLED_EVERY === 0);
  }

  async copy(): Promise<Place> {
    const dataDir = newDataDir();
    cpSync(this.place.dataDir, dataDir, { recursive: true });
    const { databaseUrl } = this.place;
    if (databaseUrl === undefined) return { ...this.place, dataDir };
    await untilLeft(databaseUrl);
    const url = new URL(databaseUrl);
    const [template, name] = [url.pathname.slice(1), `copy_${process.pid}_${Math.random().toString(36).slice(2)}`];
    url.pathname = '/postgres';
    await query(url.href, `create database ${name} template ${template}`);
    url.pathname = `/${name}`;
    return { ...this.place, dataDir, databaseUrl: url.href };
  }

  /** Rekeys, and ends just before that step. */
  async endAt(place: Place, step: number, env: Record<string, string> = {}): Promise<void> {
    const ending = { ...place.env, ...env, COFFER_TEST_END_AT: String(step) };
    const { signal, stderr, code } = await startCoffer(REKEY, { ...place, env: ending, preloaded: 'end-at-step.ts' })
      .exited;
    assert.equal(signal, 'SIGKILL', `it ended by itself (${code}), before step ${step}: ${stderr}`);
    if (place.databaseUrl !== undefined) await untilLeft(place.databaseUrl);
  }

  /** Starts the service there and holds everything against what was there before the first rekey. */
  async assertWhole(place: Place, env: Record<string, string> = place.env ?? {}): Promise<void> {
    const { dataDir, databaseUrl } = place;
    const service = await startService(this.kind, {
      dataDir,
      env,
      keepData: true,
      ...(databaseUrl && { databaseUrl }),
    });
    for (const [i, token] of this.#tokens.entries()) {
      assertSameAs(await everythingOf(service.url, token), this.#before[i] as Everything, READING);
      const signed = await service.call('POST', '/auth/tokens', { token, body: { name: `made ${Math.random()}` } });
      assert.equal(signed.status, 201, signed.text);
    }
    const opened = await service.call('POST', '/eaas/keys/orders/decrypt', { body: { envelope: this.#envelope } });
    assert.equal(opened.body.plaintext, 'sealed before');
    await service.close();
  }
}

/** A killed process' sessions end when the server sees that it is gone, and what they were about to commit is committed. */
async function untilLeft(databaseUrl: string): Promise<void> {
  const [url, name] = [new URL(databaseUrl), new URL(databaseUrl).pathname.slice(1)];
  url.pathname = '/postgres';
  for (;;) {
    const sessions = await query(url.href, 'select 1 from pg_stat_activity where datname = $1', [name]);
    if (sessions.length === 0) return;
    await pause(20);
  }
}

onBothDatabases('a rekey with a key file that ends before any of its steps', (kind) => {
  const installation = new Installation(kind);
  before(() => installation.make());

  test('leaves everything open, and the next one finishes', async (t) => {
    const chosen = await installation.countSteps();
    let replaced = 0;
    for (const step of chosen) {
      const place = await installation.copy();
      const key = join(place.dataDir, 'root.key');
      const old = readFileSync(key, 'utf8');
      await installation.endAt(place, step);
      await installation.assertWhole(place);
      const used = readFileSync(key, 'utf8');
      if (used !== old) replaced++;
      const { code, stderr } = await runCoffer(REKEY, place);
      assert.equal(code, 0, stderr);
      assert.ok(![old, used].includes(readFileSync(key, 'utf8')), 'the next one made another key');
      const left = readdirSync(place.dataDir).filter((name) => name.includes('key'));
      assert.deepEqual(left, ['root.key'], 'and left no other around');
      await installation.assertWhole(place);
    }
    assert.ok(replaced > 0 && replaced < chosen.length, 'some ended before the commit, some after');
    t.diagnostic(`${chosen.length} of ${installation.steps.length} steps; ${replaced} ended after the commit`);
  });
});

describe('a rekey with another provider that ends before any of its steps', () => {
  const KEYS = [1, 2].map((n) => Buffer.alloc(32, n).toString('base64'));
  const PHRASES = ['the passphrase before it', 'the passphrase after it'];
  const providers = [
    ['env', 'CV_ROOT_KEY', 'CV_NEW_ROOT_KEY', KEYS],
    ['passphrase', 'CV_ROOT_PASSPHRASE', 'CV_NEW_ROOT_PASSPHRASE', PHRASES],
  ] as const;

  for (const [provider, variable, newVariable, [old = '', next = '']] of providers) {
    test(`${provider}: one of the two keys opens everything, and the other nothing`, async (t) => {
      const env = { CV_ROOT_KEY_PROVIDER: provider, [variable]: old };
      const renewed = { CV_ROOT_KEY_PROVIDER: provider, [variable]: next };
      const given = { [newVariable]: next };
      const installation = new Installation('sqlite', env);
      await installation.make();
      const chosen = (await installation.countSteps(given)).slice(-14);
      let replaced = 0;
      for (const step of chosen) {
        const place = await installation.copy();
        await installation.endAt(place, step, given);
        const isOld = await opens(place, env);
        assert.equal(await opens(place, renewed), !isOld, 'one of them opens it, and only one');
        await installation.assertWhole(place, isOld ? env : renewed);
        if (!isOld) {
          replaced++;
          continue;
        }
        const { code, stderr } = await runCoffer(REKEY, { ...place, env: { ...env, ...given } });
        assert.equal(code, 0, stderr);
        await installation.assertWhole(place, renewed);
      }
      t.diagnostic(`${chosen.length} steps; ${replaced} ended after the commit`);
    });
  }

  async function opens({ dataDir }: Place, env: Record<string, string>): Promise<boolean> {
    try {
      const service = await startService('sqlite', { dataDir, env, keepData: true });
      await service.close();
      return true;
    } catch (error) {
      assert.match(String(error), /does not open this database/);
      return false;
    }
  }
});
