import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { newMigratedDatabase } from '../support/postgres.ts';
import { spawnService, stopService } from '../support/process.ts';
import { DATABASES } from '../support/service.ts';
import { StatementCounter } from '../support/statement-counter.ts';
import { until } from '../support/until.ts';

/** The waits of its loops grow to 8 seconds, so in a window of this length each looks for work at least once. */
const WINDOW_MS = 12_000;
const SAMPLES_EACH_MS = 500;
/** A start and the first run of every job take most of it on a slow machine, on which both counts are smaller, never larger. */
const IDLE_WITHIN_MS = 300_000;
const STATEMENTS_PER_SECOND_MAX = 3;
const SWITCHES_PER_SECOND_MAX = 20;

for (const kind of DATABASES)
  describe(`a node that has nothing to do, ${kind}`, () => {
    test('leaves the database and the processor alone', async (t) => {
      const counted = kind === 'postgres' ? await StatementCounter.before(await newMigratedDatabase()) : null;
      const node = await spawnService(counted === null ? {} : { databaseUrl: counted.url });
      try {
        const samples = [sampleOf(node.pid, counted?.counter)];
        let rates = { statements: Number.POSITIVE_INFINITY, switches: Number.POSITIVE_INFINITY };
        const shown = () =>
          `${rates.statements.toFixed(1)} statements and ${rates.switches.toFixed(1)} context switches a second`;
        await until(
          () => `it does not become idle: ${shown()}`,
          () => {
            const last = samples.at(-1);
            if (last !== undefined && performance.now() - last.at < SAMPLES_EACH_MS) return false;
            const now = sampleOf(node.pid, counted?.counter);
            samples.push(now);
            // The latest sample that is a window ago. Earlier ones belong to the time before it was idle.
            const from = samples.findLast(({ at }) => now.at - at >= WINDOW_MS);
            if (from === undefined) return false;
            rates = ratesBetween(from, now);
            return rates.statements < STATEMENTS_PER_SECOND_MAX && rates.switches < SWITCHES_PER_SECOND_MAX;
          },
          IDLE_WITHIN_MS,
        );
        t.diagnostic(shown());
      } finally {
        await stopService(node);
        await counted?.counter.close();
      }
    });
  });

interface Sample {
  at: number;
  statements: number;
  switches: number;
}

function sampleOf(pid: number, counter: StatementCounter | undefined): Sample {
  return { at: performance.now(), statements: counter?.count ?? 0, switches: switchesOf(pid) };
}

/** Both a second, of the time that passed. */
function ratesBetween(from: Sample, to: Sample): Omit<Sample, 'at'> {
  const seconds = (to.at - from.at) / 1000;
  return {
    statements: (to.statements - from.statements) / seconds,
    switches: (to.switches - from.switches) / seconds,
  };
}

/** How often its threads waited for something. How often others took the processor from them says nothing about the node. */
function switchesOf(pid: number): number {
  let sum = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
    sum += Number(/^voluntary_ctxt_switches:\s*(\d+)$/m.exec(status)?.[1]);
  }
  return sum;
}
