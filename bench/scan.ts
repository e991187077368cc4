import type { Settings } from './cases.ts';
import { DATABASE_NAMES, type Installation, type Installations } from './installation.ts';
import type { Row, Table } from './report.ts';
import { SCAN_PER_VAULT, SCAN_VAULTS, writeReads } from './scan-data.ts';
import { memoryMiB } from './subject.ts';
import { get, post } from './tenants.ts';

const RESOURCES = 10_000;
const ENTRIES = 1_000_000;
const DAYS = 30;
const SAMPLE_MS = 50;
const REST_MS = 5000;
const TIMEOUT_MS = 30 * 60_000;

/** A scan for anomalies of a month of reads, and of the same month at the end of a log that is twice as long. */
export async function scan(installations: Installations, { databases }: Settings): Promise<Table[]> {
  const tables: Table[] = [];
  for (const database of databases) {
    const rows: Row[] = [];
    for (const times of [1, 2]) {
      const one = await installations.start(database, { vaults: SCAN_VAULTS, perVault: SCAN_PER_VAULT });
      const entries = ENTRIES * times;
      const days = DAYS * times;
      await installations.whileStopped(one, async () => writeReads(one, { entries, days, resources: RESOURCES }));
      const atRest = await rested(one);
      const first = await scanned(one);
      const second = await scanned(one);
      rows.push({
        what: `${entries.toLocaleString('en-GB')} entries of ${days} days`,
        atRest,
        counting: first.seconds,
        countingMiB: first.peakMiB,
        scan: second.seconds,
        scanMiB: second.peakMiB,
      });
    }
    tables.push({
      name: `scan ${database}`,
      title: `${DATABASE_NAMES[database]}: a scan of ${RESOURCES.toLocaleString('en-GB')} resources, read ${ENTRIES.toLocaleString('en-GB')} times in ${DAYS} days`,
      columns: [
        { key: 'what', heading: 'log' },
        { key: 'atRest', heading: 'before, MiB', digits: 0 },
        { key: 'counting', heading: 'first scan, with what is left to count, s', digits: 1 },
        { key: 'countingMiB', heading: 'at most, MiB', digits: 0 },
        { key: 'scan', heading: 'next scan, s', digits: 1 },
        { key: 'scanMiB', heading: 'at most, MiB', digits: 0 },
      ],
      rows,
      notes: ['Memory is the resident set of the whole service. A scan reads 31 days, however long the log is.'],
    });
  }
  return tables;
}

async function rested({ pid }: Installation): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  return memoryMiB(pid) ?? Number.NaN;
}

/** Asks for a scan, and waits until the metrics show that it has ended. */
async function scanned(one: Installation): Promise<{ seconds: number; peakMiB: number }> {
  const before = await durations(one);
  let peakMiB = 0;
  const sampling = setInterval(() => {
    peakMiB = Math.max(peakMiB, memoryMiB(one.pid) ?? Number.NaN);
  }, SAMPLE_MS);
  try {
    await post(one.port, one.token, '/anomalies/scan', {});
    const deadline = performance.now() + TIMEOUT_MS;
    for (;;) {
      const after = await durations(one);
      if (after.count > before.count) return { seconds: after.seconds - before.seconds, peakMiB };
      if (performance.now() > deadline) throw new Error('the scan did not end');
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  } finally {
    clearInterval(sampling);
  }
}

async function durations(one: Installation): Promise<{ count: number; seconds: number }> {
  const text = await (await get(one, '/metrics')).text();
  const number = (name: string) =>
    Number(new RegExp(`^cv_anomaly_scheduler_duration_seconds_${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  return { count: number('count'), seconds: number('sum') };
}
