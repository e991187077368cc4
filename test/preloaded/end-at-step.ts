import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import pg from 'pg';

/**
 * Ends this process as a power cut would, just before its n-th step to the disk or to the database; without a number, it only writes what
 * each step was. Statements that are sent to a server are two steps: before they go out, and when nobody has heard what came of them.
 */
const endAt = Number(process.env['COFFER_TEST_END_AT'] ?? 0);
const stepsFile = process.env['COFFER_TEST_STEPS_FILE'];
const append = fs.appendFileSync;
let steps = 0;

function step(what: string): void {
  steps++;
  if (stepsFile !== undefined) append(stepsFile, `${what.replaceAll(/\s+/g, ' ').slice(0, 120)}\n`);
  if (steps === endAt) process.kill(process.pid, 'SIGKILL');
}

type Anything = (...args: unknown[]) => unknown;

/** What a step is, or null for what changes nothing outside this process. */
type WhatOf = (args: unknown[], self: object) => string | null;

function count(owner: object, name: string, whatOf: WhatOf, isSent = false): void {
  const methods = owner as Record<string, Anything>;
  const real = methods[name] as Anything;
  methods[name] = function (this: object, ...args: unknown[]) {
    const what = whatOf(args, this);
    if (what !== null) step(what);
    const result = real.apply(this, args);
    if (isSent && what !== null) step(`sent: ${what}`);
    return result;
  };
}

for (const name of [
  'writeSync',
  'write',
  'fsyncSync',
  'fdatasync',
  'renameSync',
  'linkSync',
  'rmSync',
  'unlinkSync',
  'ftruncateSync',
  'mkdirSync',
  'chmodSync',
]) {
  count(fs, name, () => name);
}
const { O_WRONLY, O_RDWR } = fs.constants;
const isForWriting = (flags: unknown) =>
  typeof flags === 'number' ? (flags & (O_WRONLY | O_RDWR)) !== 0 : flags !== undefined && flags !== 'r';
count(fs, 'openSync', ([, flags]) => (isForWriting(flags) ? 'openSync' : null));
syncBuiltinESMExports();

const READING = /^\s*(select\b|pragma \w+$)/;
const sqlOf = (statement: object) => (statement as StatementSync).sourceSQL;
count(DatabaseSync.prototype, 'exec', ([sql]) => String(sql));
count(DatabaseSync.prototype, 'close', () => 'close');
count(StatementSync.prototype, 'run', (_, statement) => sqlOf(statement));
for (const name of ['get', 'all']) {
  count(StatementSync.prototype, name, (_, statement) => (READING.test(sqlOf(statement)) ? null : sqlOf(statement)));
}

count(pg.Client.prototype, 'connect', () => 'connect', true);
count(
  pg.Client.prototype,
  'query',
  ([query]) => (typeof query === 'string' ? query : String((query as { text?: string }).text)),
  true,
);
count(pg.Client.prototype, 'end', () => 'end', true);
