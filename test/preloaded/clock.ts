import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Lets a test set the clock of this process, as somebody may set that of a machine: the file says by how many milliseconds it is off, and
 * SIGUSR2 that it has changed. What only measures how long something takes goes on evenly, as on a real machine.
 */
const file = String(process.env['COFFER_TEST_CLOCK_FILE']);
const Real = Date;
let offsetMs = 0;

class SetClock extends Real {
  constructor(...given: [] | [number | string]) {
    if (given.length === 0) super(SetClock.now());
    else super(...given);
  }

  static override now(): number {
    return Real.now() + offsetMs;
  }
}

function readOffset(): void {
  offsetMs = Number(readFileSync(file, 'utf8'));
}

if (isMainThread) {
  readOffset();
  process.on('SIGUSR2', readOffset);
  // Dates are also made from parts, which this class does not do by itself.
  globalThis.Date = new Proxy(Real, {
    construct: (target, given: [], newTarget) =>
      given.length === 0 ? new SetClock() : Reflect.construct(target, given, newTarget),
    get: (target, name) => (name === 'now' ? SetClock.now : Reflect.get(target, name)),
  });
}
