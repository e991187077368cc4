import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newPostgresDatabase } from '../support/postgres.ts';
import { newDataDir, spawnService, stopService } from '../support/process.ts';
import { call, onBothDatabases } from '../support/service.ts';
import { Receiver } from '../support/siem-receivers.ts';

const EXPORTERS = '/v1/audit/exporters';
const MINUTES = 60;
const MINUTE_MS = 60_000;
const ENTRIES_A_MINUTE = 1000;
const AT_ONCE = 20;
/** The back-off doubles from one second to five minutes, so an hour has about nine short waits and eleven long ones. */
const ATTEMPTS_MAX = 30;
/** Enough for the service, and not for the entries of an hour as well. */
const HEAP_MIB_MAX = 128;
const CAUGHT_UP_WITHIN_MS = 60_000;

onBothDatabases('a receiver that is down for an hour of load', (database) => {
  test('gets every entry in order afterwards, and the service does not collect them in memory', async () => {
    const receiver = await Receiver.start();
    let attempts = 0;
    receiver.respond = () => {
      attempts++;
      return null;
    };
    const dataDir = newDataDir();
    const clockFile = `${dataDir}.clock`;
    writeFileSync(clockFile, '0');
    const service = await spawnService({
      dataDir,
      preloaded: 'clock.ts',
      env: {
        CV_OUTBOUND_ALLOW: '127.0.0.1/32',
        COFFER_TEST_CLOCK_FILE: clockFile,
        NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB_MAX}`,
      },
      ...(database === 'postgres' && { databaseUrl: await newPostgresDatabase() }),
    });
    const token = service.adminToken();
    const ask = async (method: string, path: string, body?: object, status = 200) => {
      const answer = await call(service.url, method, path, { token, ...(body && { body }) });
      assert.equal(answer.status, status, answer.text);
      return answer.body;
    };
    const made = await ask('POST', EXPORTERS, { name: 'siem', type: 'https_json', endpoint: receiver.url }, 201);
    const record = async (count: number) => {
      for (let sent = 0; sent < count; sent += AT_ONCE) {
        await Promise.all(Array.from({ length: AT_ONCE }, () => ask('GET', '/v1/groups')));
      }
    };
    for (let minute = 1; minute <= MINUTES; minute++) {
      await record(ENTRIES_A_MINUTE);
      writeFileSync(clockFile, String(minute * MINUTE_MS));
      process.kill(service.pid, 'SIGUSR2');
    }
    // The last entries are linked to the log a moment after they were recorded.
    let behind = await ask('GET', `${EXPORTERS}/${made.id}`);
    for (let looks = 0; behind.lag_entries < MINUTES * ENTRIES_A_MINUTE; looks++) {
      assert.ok(looks < 100, `${behind.lag_entries} behind`);
      await sleep(100);
      behind = await ask('GET', `${EXPORTERS}/${made.id}`);
    }
    assert.ok(behind.lag_seconds >= (MINUTES - 1) * 60, `${behind.lag_seconds} s behind`);
    assert.match(behind.last_error, /ECONNRESET/);
    assert.ok(attempts > 2 && attempts <= ATTEMPTS_MAX, `${attempts} attempts`);

    receiver.requests.length = 0;
    receiver.respond = () => ({ status: 200 });
    writeFileSync(clockFile, String((MINUTES + 5) * MINUTE_MS));
    process.kill(service.pid, 'SIGUSR2');
    const deadline = performance.now() + CAUGHT_UP_WITHIN_MS;
    for (;;) {
      const { cursor, last_error } = await ask('GET', `${EXPORTERS}/${made.id}`);
      if (cursor >= behind.cursor + behind.lag_entries) break;
      assert.ok(performance.now() < deadline, `it is at ${cursor}: ${last_error}`);
      await sleep(100);
    }
    const seqs = receiver.requests.flatMap(({ body }) =>
      body
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { seq: number | null }).seq)
        .filter((seq) => seq !== null),
    );
    assert.deepEqual(
      seqs,
      seqs.map((_, i) => made.cursor + 1 + i),
      'each once, in order, without a gap',
    );
    await stopService(service);
  });
});
