import { type Settings, USUAL_CONNECTIONS } from './cases.ts';
import { GROWTH_COLUMNS, growthRow, pairOf, pairTitle, readAnywhere, writeAnywhere } from './growth.ts';
import { type Installation, type Installations, SERVER } from './installation.ts';
import { measureAnswered } from './load.ts';
import type { Table } from './report.ts';
import { secretsIn } from './spread.ts';
import { median } from './statistics.ts';
import { memoryMiB, startProcess, stopProcess } from './subject.ts';

const STARTS = 5;
const REST_MS = 3000;
const SAMPLE_MS = 100;
/** Nothing that was compiled by an earlier start is used, as after an update. */
const COLD = { NODE_DISABLE_COMPILE_CACHE: '1' };

/** What an installation takes: time to start, memory, room on disk. */
export async function footprint(installations: Installations, settings: Settings): Promise<Table[]> {
  const tables: Table[] = [];
  for (const database of settings.databases) {
    const pair = await pairOf(installations, database, settings.vaults);
    const small = await measureFootprint(installations, pair.small, settings.seconds);
    const large = await measureFootprint(installations, pair.large, settings.seconds);
    const rows = [...small].map(([what, value]) => growthRow(what, value, large.get(what) ?? Number.NaN));
    const notes = [
      `Starts are medians of ${STARTS}, from the spawn to ready on existing data; cold ones compile everything anew. Memory is the resident set of the service, without PostgreSQL's. ` +
        'Room is that of the database when it was filled and nothing else had happened; beyond an empty one is what secrets add.',
    ];
    tables.push({
      name: `footprint ${database}`,
      title: pairTitle(database, pair),
      columns: GROWTH_COLUMNS,
      rows,
      notes,
    });
  }
  return tables;
}

async function measureFootprint(
  installations: Installations,
  one: Installation,
  seconds: number,
): Promise<Map<string, number>> {
  const measured = new Map<string, number>([['first start, nothing there yet, ms', one.firstReadyMs]]);
  await installations.whileStopped(one, async () => {
    measured.set('cold start, ms', await startMs({ ...one.env, ...COLD }));
    measured.set('warm start, ms', await startMs(one.env));
  });
  await rest();
  measured.set('memory at rest, MiB', memoryMiB(one.pid) ?? Number.NaN);
  measured.set('memory under load, at most, MiB', await underLoad(one, seconds));
  await rest();
  measured.set('memory after the load, MiB', memoryMiB(one.pid) ?? Number.NaN);
  const secrets = secretsIn(one);
  measured.set('database, KiB', one.bytes / 1024);
  measured.set('database, bytes for each secret', one.bytes / secrets);
  measured.set('beyond an empty one, bytes for each secret', (one.bytes - one.emptyBytes) / secrets);
  return measured;
}

async function startMs(env: Record<string, string>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    const { child, readyMs } = await startProcess(SERVER, [], env);
    times.push(readyMs);
    await stopProcess(child);
  }
  return median(times);
}

async function underLoad(one: Installation, seconds: number): Promise<number> {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, memoryMiB(one.pid) ?? Number.NaN);
  }, SAMPLE_MS);
  for (const request of [readAnywhere(one), writeAnywhere(one)]) {
    await measureAnswered(one.name, { port: one.port, request, connections: USUAL_CONNECTIONS, seconds });
  }
  clearInterval(timer);
  return most;
}

function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, REST_MS));
}
