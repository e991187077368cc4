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

function count(owner: object, name: string, whatOf: (args: unknown[], self: object) => string, isSent = false): void {
  const methods = owner as Record<string, Anything>;
  const real = methods[name] as Anything;
  methods[name] = function (this: object, ...args: unknown[]) {
    const what = whatOf(args, this);
    step(what);
    const result = real.apply(this, args);
    if (isSent) step(`sent: ${what}`);
    return result;
  };
}

for (const name of ['writeSync', 'fsyncSync', 'renameSync', 'linkSync', 'rmSync', 'ftruncateSync', 'mkdirSync']) {
  count(fs, name, () => name);
}
syncBuiltinESMExports();
count(DatabaseSync.prototype, 'exec', ([sql]) => String(sql));
count(StatementSync.prototype, 'run', (_, statement) => (statement as StatementSync).sourceSQL);
count(
  pg.Client.prototype,
  'query',
  ([query]) => (typeof query === 'string' ? query : String((query as { text?: string }).text)),
  true,
);
