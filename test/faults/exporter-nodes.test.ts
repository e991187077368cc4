import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { killService, newDataDir, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { type Answer, call } from '../support/service.ts';
import { Receiver } from '../support/siem-receivers.ts';
import { until } from '../support/until.ts';

/** What leaves the service while its process is killed: entries of the audit log, and events. */

const EXPORTERS = '/v1/audit/exporters';
const ENV = { CV_OUTBOUND_ALLOW: '127.0.0.1/32' };
/** Longer than a lease, so that a process that starts finds none of the one before. */
const CLOCK_STEP_MS = 2 * 60_000;
const RESUMED_WITHIN_MS = 120_000;

async function ok(answer: Promise<Answer>, status = 200): Promise<Answer['body']> {
  const { status: actual, body, text } = await answer;
  assert.equal(actual, status, text);
  return body;
}

/** Numbers of the entries in the order in which they arrived. */
function seqsIn(receiver: Receiver): number[] {
  return receiver.requests.flatMap(({ body }) =>
    body
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { seq: number | null }).seq)
      .filter((seq) => seq !== null),
  );
}

/** Each at least once; a repeat begins anew somewhere before, and nothing is left out. */
function assertInOrder(seqs: readonly number[], first: number, last: number): void {
  let newest = first - 1;
  for (const seq of seqs) {
    assert.ok(seq <= newest + 1, `${seq} came after ${newest}`);
    newest = Math.max(newest, seq);
  }
  assert.ok(newest >= last, `${newest} of ${last} arrived`);
  assert.equal(Math.min(...seqs), first);
}

/** One installation whose process is killed and started again, each time a little later by its clock. */
class Restarted {
  readonly dataDir = newDataDir();
  readonly #clockFile = `${this.dataDir}.clock`;
  #starts = 0;

  start(): Promise<ServiceProcess> {
    writeFileSync(this.#clockFile, String(this.#starts++ * CLOCK_STEP_MS));
    const env = { ...ENV, COFFER_TEST_CLOCK_FILE: this.#clockFile };
    return spawnService({ dataDir: this.dataDir, env, preloaded: 'clock.ts' });
  }
}

describe('a process that is killed while it sends', () => {
  test('sends every entry at least once, in order', async () => {
    const receiver = await Receiver.start();
    const installation = new Restarted();
    let service = await installation.start();
    const token = service.adminToken();
    const body = { name: 'siem', type: 'https_json', endpoint: receiver.url };
    const exporter = await ok(call(service.url, 'POST', EXPORTERS, { token, body }), 201);
    const rounds = 6;
    for (let round = 0; round < rounds; round++) {
      const { pid, kill } = service;
      const isBeforeResponse = round % 2 === 0;
      const goal = receiver.requests.length + 1 + Math.floor(round / 2);
      receiver.respond = () => {
        if (receiver.requests.length < goal) return { status: 200 };
        if (isBeforeResponse) kill();
        else setTimeout(kill, round);
        return isBeforeResponse ? null : { status: 200 };
      };
      let hasEnded = false;
      void service.exited.then(() => {
        hasEnded = true;
      });
      while (!hasEnded) {
        // Requests of the moment in which it is killed have no answer.
        await call(service.url, 'GET', '/v1/groups', { token }).catch(() => sleep(20));
      }
      assert.equal((await service.exited).signal, 'SIGKILL', `process ${pid}`);
      service = await installation.start();
    }
    receiver.respond = () => ({ status: 200 });
    const { entries } = await ok(call(service.url, 'GET', '/v1/audit?limit=1', { token }));
    await until('it does not catch up', async () => {
      const { cursor } = await ok(call(service.url, 'GET', `${EXPORTERS}/${exporter.id}`, { token }));
      return cursor >= entries[0].seq;
    });
    assertInOrder(seqsIn(receiver), exporter.cursor + 1, entries[0].seq);
    await stopService(service);
  });

  test('sends every event at least once, with the same id', async () => {
    const receiver = await Receiver.start();
    const installation = new Restarted();
    let service = await installation.start();
    const token = service.adminToken();
    const send = (method: string, path: string, body?: object) =>
      call(service.url, method, path, { token, ...(body !== undefined && { body }) });
    await ok(send('POST', '/v1/vaults', { name: 'shop', environment: 'staging' }), 201);
    await ok(send('POST', '/v1/vaults/shop/secrets', { path: 'key', type: 'api_key' }), 201);
    await ok(send('POST', '/webhooks', { url: receiver.url, events: ['secret.rotated'] }), 201);
    const versionIn = (body: string) => Number(JSON.parse(body).secret.version);
    const acknowledged: number[] = [];
    for (let round = 0; round < 8; round++) {
      const { kill } = service;
      const known = acknowledged.at(-1) ?? 1;
      // Events of earlier rounds are accepted; the new one kills the process that sends it.
      receiver.respond = ({ body }) => {
        if (versionIn(body) <= known) return { status: 200 };
        kill();
        return null;
      };
      // It may be sent before the request is answered.
      const answer = await send('POST', '/v1/vaults/shop/secrets/key/rotate', {}).catch(() => null);
      // What sent an event has stored it, so the rotation happened even if nobody was told.
      acknowledged.push(answer === null ? known + 1 : (await ok(Promise.resolve(answer))).version);
      // Every other time it is killed before it is sent at all: the answer comes when the event is stored.
      if (round % 2 === 0) kill();
      await service.exited;
      service = await installation.start();
    }
    receiver.respond = () => ({ status: 200 });
    const idsOf = () =>
      Map.groupBy(
        receiver.requests.map(({ headers, body }) => ({
          id: String(headers['webhook-id']),
          version: versionIn(body),
        })),
        ({ version }) => version,
      );
    await until('an event is lost', () => acknowledged.every((version) => idsOf().has(version)));
    for (const [version, deliveries] of idsOf()) {
      assert.equal(new Set(deliveries.map(({ id }) => id)).size, 1, `version ${version} has one id`);
    }
    await stopService(service);
  });
});

test('of two nodes one runs an exporter, and when it is killed the other goes on where it stopped', async () => {
  const databaseUrl = await newPostgresDatabase();
  const receiver = await Receiver.start();
  let [atOnce, most] = [0, 0];
  receiver.respond = async () => {
    most = Math.max(most, ++atOnce);
    await sleep(30);
    atOnce--;
    return { status: 200 };
  };
  const a = await spawnService({ databaseUrl, env: ENV });
  const token = a.adminToken();
  const body = { name: 'siem', type: 'https_json', endpoint: receiver.url };
  const exporter = await ok(call(a.url, 'POST', EXPORTERS, { token, body }), 201);
  const ownerOf = async () => {
    const [row] = await query(databaseUrl, 'select lease_owner from exporter_progress');
    return row?.['lease_owner'] as string | null;
  };
  let nodeOfA: string | null = null;
  await until('nothing runs it', async () => {
    nodeOfA = await ownerOf();
    return nodeOfA !== null;
  });
  const dataDir = newDataDir();
  mkdirSync(dataDir, { mode: 0o700 });
  copyFileSync(join(a.dataDir, 'root.key'), join(dataDir, 'root.key'));
  const b = await spawnService({ databaseUrl, dataDir, env: ENV });
  for (let i = 0; i < 60; i++) await ok(call(i % 2 === 0 ? a.url : b.url, 'GET', '/v1/groups', { token }));
  const cursorOf = async () =>
    (await ok(call(b.url, 'GET', `${EXPORTERS}/${exporter.id}`, { token }))).cursor as number;
  const newest = async () => (await ok(call(b.url, 'GET', '/v1/audit?limit=1', { token }))).entries[0].seq as number;
  const goal = await newest();
  await until('it does not catch up', async () => (await cursorOf()) >= goal);
  const before = seqsIn(receiver);
  assert.deepEqual(before, [...new Set(before)], 'while nothing fails each comes once');
  assert.equal(most, 1, 'two nodes ran it at once');

  // A run stays with its node while the receiver is silent.
  const silent = Promise.withResolvers<null>();
  receiver.respond = () => silent.promise;
  const held = receiver.requests.length;
  await ok(call(b.url, 'GET', '/v1/groups', { token }));
  await until('nothing is sent', () => receiver.requests.length > held);
  const [running, other] = (await ownerOf()) === nodeOfA ? [a, b] : [b, a];
  await killService(running);
  receiver.respond = () => ({ status: 200 });
  silent.resolve(null);
  await ok(call(other.url, 'GET', '/v1/groups', { token }));
  const { entries } = await ok(call(other.url, 'GET', '/v1/audit?limit=1', { token }));
  await until(
    'the other does not take over',
    async () => (await ok(call(other.url, 'GET', `${EXPORTERS}/${exporter.id}`, { token }))).cursor >= entries[0].seq,
    RESUMED_WITHIN_MS,
  );
  assertInOrder(seqsIn(receiver), exporter.cursor + 1, entries[0].seq);
  await stopService(other);
});
