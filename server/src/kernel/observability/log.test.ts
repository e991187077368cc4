import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { CofferError } from '../base/errors.ts';
import { createLogger, type LogOptions, MESSAGE_WITHHELD } from './log.ts';

const MARKER = 'MARKER';

function capture(options: Partial<LogOptions> & { isTTY?: boolean } = {}) {
  const lines: string[] = [];
  const { isTTY = false, ...given } = options;
  const stream = { isTTY, write: (line: string) => void lines.push(line) };
  const log = createLogger({ level: 'trace', format: 'json', stream, ...given });
  const last = (): Record<string, unknown> => JSON.parse(lines.at(-1) ?? 'null');
  return { log, lines, last, text: () => lines.join('') };
}

function caught(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  assert.fail('nothing was thrown');
}

function postgresError(): Error {
  return Object.assign(new Error(`duplicate key: Key (email)=(${MARKER})`), {
    code: '23505',
    severity: 'ERROR',
    detail: `Key (email)=(${MARKER}) already exists.`,
    where: MARKER,
    hint: MARKER,
    query: `insert into users values ('${MARKER}')`,
    parameters: [MARKER],
    args: [MARKER],
    constraint_name: 'users_email_key',
    table_name: 'users',
    routine: '_bt_check_unique',
  });
}

test('a line is JSON with a label, an ISO time, and nothing about the machine', () => {
  const { log, last, lines } = capture();
  log.warn({ request_id: 'req_1' }, 'slow');
  const { time, ...rest } = last();
  assert.deepEqual(rest, { level: 'warn', request_id: 'req_1', msg: 'slow' });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.match(lines[0] ?? '', /\n$/);
});

test('the level is obeyed', () => {
  const { log, lines } = capture({ level: 'error' });
  log.warn('no');
  assert.deepEqual(lines, []);
  const silent = capture({ level: 'silent' });
  silent.log.fatal('no');
  assert.deepEqual(silent.lines, []);
});

test('auto is pretty on a terminal and JSON elsewhere', () => {
  const terminal = capture({ format: 'auto', isTTY: true });
  terminal.log.info({ port: 7400 }, 'listening');
  assert.match(terminal.text(), /INFO.*listening/s);
  assert.throws(() => JSON.parse(terminal.text()));
  const pipe = capture({ format: 'auto' });
  pipe.log.info('listening');
  assert.equal(pipe.last()['msg'], 'listening');
  const forced = capture({ format: 'pretty' });
  forced.log.info('listening');
  assert.match(forced.text(), /^\[.*\] INFO: listening\n$/);
});

test('a PostgreSQL error keeps its facts and loses its values', () => {
  const { log, last, text } = capture();
  log.error({ err: postgresError() }, 'query failed');
  const { stack, ...err } = last()['err'] as Record<string, unknown>;
  assert.deepEqual(err, {
    type: 'Error',
    message: 'the database refused the statement',
    code: '23505',
    severity: 'ERROR',
    constraint_name: 'users_email_key',
    table_name: 'users',
    routine: '_bt_check_unique',
  });
  assert.ok(Array.isArray(stack) && stack.length > 0 && String(stack[0]).startsWith('at '));
  assert.ok(!text().includes(MARKER));
});

test('an error leaks nothing however it is handed over', () => {
  const { log, text, lines } = capture();
  const err = postgresError();
  const wrapped = new CofferError('UNAVAILABLE', 'try again', {
    cause: err,
    auditReason: MARKER,
    details: { a: MARKER },
  });
  log.error(err);
  log.error(err, 'with a message');
  log.error({ err }, err.message);
  log.error(err, `failed: ${err.message}`);
  log.error({ err });
  log.error({ err }, 'with %s', err);
  log.error({ error: err, nested: { reason: err }, list: [err] }, 'other names');
  log.error('as an argument %s %o', err, err);
  log.error({ err: wrapped });
  log.error({ err: MARKER }, 'not an error');
  log.error({ err: { message: MARKER } }, 'not an error');
  log.child({ err }).error('as a binding');
  assert.equal(lines.length, 12);
  assert.ok(!text().includes(MARKER), text());
});

test('messages of V8, Node, parsers and SQLite are withheld, codes are logged', () => {
  const { log, last, text } = capture();
  const database = new DatabaseSync(':memory:');
  const errors = [
    caught(() => JSON.parse(`{"a": ${MARKER}}`)),
    caught(() => 'a' in (MARKER as unknown as object)),
    caught(() => new URL(MARKER)),
    caught(() => Buffer.alloc(MARKER as unknown as number)),
    caught(() => assert.equal(MARKER, 'x')),
    caught(() => database.exec(`select '${MARKER}' from "${MARKER}"`)),
  ];
  for (const error of errors) {
    log.error(error);
    assert.ok(inspect(error).includes(MARKER), 'the error would leak if it were printed');
    assert.ok(!text().includes(MARKER), text());
  }
  const sqlite = last()['err'] as Record<string, unknown>;
  assert.equal(sqlite['code'], 'ERR_SQLITE_ERROR');
  assert.equal(sqlite['errcode'], 1);
  database.close();
});

test('our own messages and those of the operating system are logged, through causes', () => {
  const { log, last } = capture();
  const missing = caught(() => readFileSync('/nonexistent/root.key'));
  log.error(new CofferError('UNAVAILABLE', 'The store cannot be written.', { cause: missing }));
  const err = last()['err'] as Record<string, Record<string, unknown>>;
  assert.equal(err['message'], 'The store cannot be written.');
  assert.equal(err['type'], 'CofferError');
  assert.equal(err['code'], 'UNAVAILABLE');
  assert.match(String(err['cause']?.['message']), /^ENOENT: .*root\.key/);
  assert.equal(last()['msg'], 'The store cannot be written.');

  class StartError extends Error {}
  const own = capture({ ownErrors: [StartError] });
  own.log.error(new StartError('chmod 700 it'));
  assert.equal(own.last()['msg'], 'chmod 700 it');
  own.log.error(new Error('chmod 700 it'));
  assert.equal(own.last()['msg'], MESSAGE_WITHHELD);
});

test('a message of many lines does not pass for a stack', () => {
  const { log, text } = capture();
  const lookalike = new Error(`x\n    at ${MARKER} (file.ts:1:1)\n    at ${MARKER}:1:1`);
  log.error(lookalike);
  lookalike.message = 'changed';
  lookalike.stack = `Error: x\n${MARKER}\n  ${MARKER}\n${lookalike.stack?.split('\n').at(-1)}`;
  log.error(lookalike);
  assert.ok(!text().includes(MARKER), text());
});

test('a cycle of causes ends', () => {
  const { log, lines } = capture();
  const error = new Error('x');
  error.cause = error;
  log.error(error);
  assert.equal(lines.length, 1);
});

test('redacted keys never show at the top two levels, in lines and in bindings', () => {
  const keys = [
    'authorization',
    'password',
    'secret',
    'token',
    'client_secret',
    'value',
    'otp',
    'cookie',
    'set-cookie',
    'body',
  ];
  const content = fc.oneof(fc.constant(MARKER), fc.constant([MARKER]), fc.constant({ deep: { deeper: MARKER } }));
  fc.assert(
    fc.property(fc.constantFrom(...keys), content, fc.constantFrom('req_id', 'input', 'x'), (key, secret, outer) => {
      const { log, text, lines } = capture();
      log.info({ [key]: secret, harmless: 1 }, 'top');
      log.info({ [outer]: { [key]: secret, harmless: 1 } }, 'below');
      log.child({ [key]: secret }).info('bound');
      log
        .child({ [outer]: { [key]: secret } })
        .child({ a: 1 })
        .info('bound below');
      log.info('argument %o %j', { [key]: secret }, { [key]: secret });
      assert.equal(lines.length, 5);
      assert.ok(!text().includes(MARKER), text());
      assert.match(lines[1] ?? '', /"harmless":1/);
    }),
  );
});

test('values that know how to print themselves still do, and bytes are hidden', () => {
  const { log, last, text } = capture();
  const at = new Date(0);
  log.info(
    { at, config: { toJSON: () => ({ host: 'h', token: MARKER }) }, bytes: Buffer.from([77, 65]), when: { at } },
    'x',
  );
  const { level: _level, time: _time, ...rest } = last();
  const iso = at.toISOString();
  assert.deepEqual(rest, {
    at: iso,
    config: { host: 'h', token: '[hidden]' },
    bytes: '[hidden]',
    when: { at: iso },
    msg: 'x',
  });
  assert.ok(!text().includes(MARKER));
});

test('redaction leaves the logged object as it was', () => {
  const { log } = capture();
  const input = Object.freeze({ token: MARKER, inner: Object.freeze({ value: MARKER }) });
  log.info(input, 'x');
  log.info({ input }, 'x');
  assert.equal(input.inner.value, MARKER);
});

test('a request is its method and its path', () => {
  const { log, last, text } = capture();
  log.info({ req: { method: 'GET', url: `/v1/vaults?token=${MARKER}`, headers: { authorization: MARKER } } }, 'in');
  assert.deepEqual(last()['req'], { method: 'GET', path: '/v1/vaults' });
  assert.ok(!text().includes(MARKER));
});

test('pretty lines hide the same things', () => {
  const { log, text } = capture({ format: 'pretty' });
  log.error({ err: postgresError(), password: MARKER, input: { value: MARKER } });
  assert.match(text(), /23505/);
  assert.ok(!text().includes(MARKER), text());
});

test('without a stream, lines reach standard output before the process ends', () => {
  const script = `import { createLogger } from ${JSON.stringify(import.meta.resolve('./log.ts'))};
    createLogger({ level: 'info', format: 'auto' }).info('last words'); process.exit(3);`;
  const { stdout, status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  assert.equal(status, 3, stderr);
  assert.equal(JSON.parse(stdout).msg, 'last words');
});
