import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { CofferError } from '../base/errors.ts';
import { UnsealError } from '../crypto/sealing.ts';
import { createLogger } from './log.ts';
import { INTERVAL_MS, KINDS_MAX, LINES_PER_INTERVAL, RepeatedLines } from './repeated-lines.ts';

const refused = (code = 'ECONNREFUSED') =>
  Object.assign(new Error(`connect ${code} 127.0.0.1:1`), { code, syscall: 'connect' });

function captured() {
  const lines: Record<string, unknown>[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
  return { log: createLogger({ level: 'info', format: 'json', stream }), lines };
}

test('the first lines of an interval are written, and then the number of the others', () => {
  let now = 0;
  const reported: number[] = [];
  const repeated = new RepeatedLines(() => now);
  const written = () => repeated.mayWrite('a', (leftOut) => reported.push(leftOut));
  const count = (lines: number) => Array.from({ length: lines }, written).filter(Boolean).length;
  assert.equal(count(1000), LINES_PER_INTERVAL);
  now = INTERVAL_MS - 1;
  assert.equal(count(1), 0);
  assert.deepEqual(reported, []);
  now = INTERVAL_MS;
  assert.equal(count(LINES_PER_INTERVAL), LINES_PER_INTERVAL);
  assert.deepEqual(reported, [1000 - LINES_PER_INTERVAL + 1]);
  // Nothing was left out since, so there is nothing to report.
  now = 2 * INTERVAL_MS;
  assert.equal(count(1), 1);
  assert.equal(reported.length, 1);
  repeated.flush();
});

test('memory is bounded, and what no longer fits is written', () => {
  const repeated = new RepeatedLines(() => 0);
  for (let i = 0; i < KINDS_MAX; i++) assert.ok(repeated.mayWrite(`${i}`, () => {}));
  for (let i = 0; i < 100; i++) assert.ok(repeated.mayWrite('one more', () => {}));
  const other = new RepeatedLines(() => 0);
  for (let i = 0; i < 100; i++) assert.ok(other.mayWrite('x'.repeat(10_000), () => {}));
});

test('requests that fail with the same error at the same endpoint repeat a line, whatever their ids', () => {
  const { log, lines } = captured();
  const child = log.child({ node_id: 'n' });
  for (let i = 0; i < 100; i++)
    child.warn({ err: refused(), request_id: `r${i}`, endpoint: 'readSecret' }, 'unavailable');
  assert.equal(lines.length, LINES_PER_INTERVAL);
  assert.equal(lines[0]?.['request_id'], 'r0');
});

test('lines that differ in level, message, error or a fact do not count as repeated', () => {
  const { log, lines } = captured();
  for (let i = 0; i < LINES_PER_INTERVAL; i++) log.warn({ err: refused(), job: 'a' }, 'failed');
  const before = lines.length;
  log.error({ err: refused(), job: 'a' }, 'failed');
  log.warn({ err: refused(), job: 'a' }, 'failed otherwise');
  log.warn({ err: refused('ETIMEDOUT'), job: 'a' }, 'failed');
  log.warn({ err: new CofferError('NOT_FOUND', 'There is none.'), job: 'a' }, 'failed');
  log.warn({ err: refused(), job: 'b' }, 'failed');
  log.warn({ err: refused(), job: 'a', tenant: 'ten_b' }, 'failed');
  assert.equal(lines.length, before + 6);
  log.warn({ err: refused(), job: 'a' }, 'failed');
  assert.equal(lines.length, before + 6);
});

test('lines without an error, fatal ones and those about damaged values are always written', () => {
  const { log, lines } = captured();
  for (let i = 0; i < 50; i++) log.error({ err: new UnsealError(), request_id: `r${i}` }, 'not decrypted');
  for (let i = 0; i < 50; i++) log.error({ table: 'tokens', row: 'one' }, 'a row is forged');
  for (let i = 0; i < 50; i++) log.fatal({ err: refused() }, 'the process ends');
  for (let i = 0; i < 50; i++) log.info({ err: refused() }, 'told');
  assert.equal(lines.length, 200);
});

test('a process that ends says what was left out, without what may be secret', () => {
  const program = `
    import { createLogger } from './log.ts';
    const log = createLogger({ level: 'info', format: 'json' });
    for (let i = 0; i < 20; i++) log.error({ err: new TypeError('MARKER'), token: 'MARKER', request_id: String(i) }, 'unexpected: MARKER');`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  assert.equal(status, 0);
  assert.doesNotMatch(stdout, /MARKER/);
  const lines = stdout.trim().split('\n');
  assert.equal(lines.length, LINES_PER_INTERVAL + 1);
  const { level, left_out, error, msg } = JSON.parse(lines.at(-1) ?? '');
  assert.deepEqual([level, left_out, error.type], ['error', 20 - LINES_PER_INTERVAL, 'TypeError']);
  assert.match(msg, /left out/);
});
