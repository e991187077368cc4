import type { Settings } from './cases.ts';
import { DATABASE_NAMES, type DatabaseKind, type Installation, type Installations } from './installation.ts';
import { measureAnswered } from './load.ts';
import type { Row, Table } from './report.ts';
import { readSecret } from './requests.ts';
import { SCAN_PER_VAULT, SCAN_VAULTS, writeReads } from './scan-data.ts';
import { spread } from './spread.ts';
import { median } from './statistics.ts';
import { memoryMiB } from './subject.ts';
import { get, post, send } from './tenants.ts';

const EXPORTERS = '/v1/audit/exporters';
const BEHIND = 100_000;
/** Datadog drops what is older than 18 hours. */
const DAYS = 0.5;
const POLL_MS = 100;
const TIMEOUT_MS = 10 * 60_000;
const CONNECTIONS = 32;
const ALLOW_RECEIVERS = { CV_OUTBOUND_ALLOW: '127.0.0.1/32' };

const CREDENTIALS: Record<string, object> = {
  splunk_hec: { token: 'token' },
  elastic: { api_key: 'key' },
  datadog: { api_key: 'key' },
};
const TYPES = ['https_json', 'splunk_hec', 'elastic', 'datadog', 'otlp', 'syslog'];
const BESIDE = ['https_json', 'splunk_hec', 'elastic'];

/** How fast each kind of exporter delivers what it is behind, and what three of them cost readers. */
export async function exporters(installations: Installations, settings: Settings): Promise<Table[]> {
  const tables: Table[] = [];
  for (const database of settings.databases) {
    const one = await installations.start(database, {
      vaults: SCAN_VAULTS,
      perVault: SCAN_PER_VAULT,
      settings: ALLOW_RECEIVERS,
    });
    const receivers = await startReceivers(installations);
    tables.push(await readsBeside(database, one, receivers, settings));
    await installations.whileStopped(one, async () =>
      writeReads(one, { entries: BEHIND, days: DAYS, resources: 1000 }),
    );
    tables.push(await catchingUp(database, one, receivers));
  }
  return tables;
}

interface Receivers {
  http: number;
  syslog: number;
}

async function startReceivers(installations: Installations): Promise<Receivers> {
  const [http, syslog] = [
    await installations.process('bench/receiver-process.ts', ['http'], {}),
    await installations.process('bench/receiver-process.ts', ['syslog'], {}),
  ];
  return { http: http.port, syslog: syslog.port };
}

/** Disabled at first. */
async function create({ port, token }: Installation, type: string, { http, syslog }: Receivers): Promise<string> {
  const endpoint = type === 'syslog' ? `tcp://127.0.0.1:${syslog}` : `http://127.0.0.1:${http}/audit`;
  const credentials = CREDENTIALS[type];
  const body = { name: `bench-${type}`, type, endpoint, enabled: false, ...(credentials && { credentials }) };
  return String((await post(port, token, EXPORTERS, body))['id']);
}

const enable = (one: Installation, id: string, enabled: boolean) =>
  send(one, 'PATCH', `${EXPORTERS}/${id}`, { enabled });

interface State {
  delivered: number;
  rejected: number;
  skipped: number;
  lag_entries: number;
  last_error: string | null;
}

const stateOf = async (one: Installation, id: string) =>
  (await get(one, `${EXPORTERS}/${id}`)).json() as Promise<State>;

async function catchingUp(database: DatabaseKind, one: Installation, receivers: Receivers): Promise<Table> {
  const rows: Row[] = [];
  for (const type of TYPES) {
    const id = await create(one, type, receivers);
    const from = new Date(Date.now() - DAYS * 24 * 3_600_000).toISOString();
    await post(one.port, one.token, `${EXPORTERS}/${id}/replay`, { from });
    const started = performance.now();
    await enable(one, id, true);
    let peakMiB = 0;
    for (;;) {
      peakMiB = Math.max(peakMiB, memoryMiB(one.pid) ?? Number.NaN);
      const { delivered, rejected, skipped, last_error } = await stateOf(one, id);
      if (rejected + skipped > 0) throw new Error(`${type}: ${rejected} rejected, ${skipped} skipped`);
      if (delivered >= BEHIND) break;
      if (performance.now() - started > TIMEOUT_MS) throw new Error(`${type}: ${delivered} delivered, ${last_error}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    const seconds = (performance.now() - started) / 1000;
    await send(one, 'DELETE', `${EXPORTERS}/${id}`);
    rows.push({ type, seconds, perSecond: BEHIND / seconds, peakMiB });
  }
  return {
    name: `exporters ${database}`,
    title: `${DATABASE_NAMES[database]}: an exporter that is ${BEHIND.toLocaleString('en-GB')} entries behind`,
    columns: [
      { key: 'type', heading: 'type' },
      { key: 'seconds', heading: 's', digits: 1 },
      { key: 'perSecond', heading: 'entries /s', digits: 0 },
      { key: 'peakMiB', heading: 'memory at most, MiB', digits: 0 },
    ],
    rows,
    notes: [
      'To a receiver on the same machine that takes everything. Memory is the resident set of the whole service.',
    ],
  };
}

/** Turns without and with exporters alternate, so that what else changes on the machine meets both. */
async function readsBeside(
  database: DatabaseKind,
  one: Installation,
  receivers: Receivers,
  { seconds, rounds }: Settings,
): Promise<Table> {
  const vaults = one.vaults.filter(({ tenant }) => tenant === one.tenants[0]);
  const request = spread({ vaults, perVault: one.perVault }, readSecret);
  const load = { port: one.port, request, connections: CONNECTIONS, seconds };
  const ids: string[] = [];
  for (const type of BESIDE) ids.push(await create(one, type, receivers));
  const measured = { without: [] as number[], beside: [] as number[], p99Without: [] as number[], p99: [] as number[] };
  const deliveredBy = async () => {
    const states = await Promise.all(ids.map((id) => stateOf(one, id)));
    return states.reduce((sum, { delivered }) => sum + delivered, 0);
  };
  let delivered = 0;
  for (let round = 0; round < rounds; round++) {
    const alone = await measureAnswered('reads', load);
    const before = await deliveredBy();
    for (const id of ids) await enable(one, id, true);
    const beside = await measureAnswered('reads beside exporters', load);
    delivered += (await deliveredBy()) - before;
    for (const id of ids) await enable(one, id, false);
    measured.without.push(alone.perSecond);
    measured.p99Without.push(alone.p99Ms);
    measured.beside.push(beside.perSecond);
    measured.p99.push(beside.p99Ms);
  }
  for (const id of ids) await send(one, 'DELETE', `${EXPORTERS}/${id}`);
  const [without, beside] = [median(measured.without), median(measured.beside)];
  const row = {
    without,
    beside,
    ratio: beside / without,
    p99Without: median(measured.p99Without),
    p99: median(measured.p99),
    delivered: delivered / (seconds * rounds),
  };
  return {
    name: `reads beside exporters ${database}`,
    title: `${DATABASE_NAMES[database]}: reads of a tenant without and with three exporters (${BESIDE.join(', ')})`,
    columns: [
      { key: 'without', heading: 'without, /s', digits: 0 },
      { key: 'beside', heading: 'with, /s', digits: 0 },
      { key: 'ratio', heading: 'ratio', digits: 2 },
      { key: 'p99Without', heading: 'without, p99 ms', digits: 1 },
      { key: 'p99', heading: 'with, p99 ms', digits: 1 },
      { key: 'delivered', heading: 'entries delivered /s', digits: 0 },
    ],
    rows: [row],
    notes: ['Client, service, database and receiver share the cores of this machine.'],
  };
}
