import type { Settings } from './cases.ts';
import { DATABASE_NAMES, type Installation, type Installations } from './installation.ts';
import { run } from './load.ts';
import type { Column, Row, Table } from './report.ts';
import { readSecret } from './requests.ts';
import { spread } from './spread.ts';
import { median, quantile } from './statistics.ts';
import { cpuSeconds } from './subject.ts';
import { post } from './tenants.ts';

const HOSTS = 1000;
const ACCOUNTS_PER_HOST = 50;
/** Hosts that report at the same time. */
const REPORTERS = 4;
/** Few readers, and with pauses, so that they measure what they wait for and not what they do. */
const READERS = { connections: 2, pauseMs: 5 };
const BEFORE_SECONDS = 5;
/** Longer than any ingest; the readers are stopped when it ends. */
const SLICE_SECONDS = 1;

const SECRETS = 1000;
const POLICIES = 10;
const FULL_CALLS = 10;
const UNCHANGED_CALLS = 100;

const INGEST_COLUMNS: Column[] = [
  { key: 'database', heading: 'database' },
  { key: 'what', heading: 'reports' },
  { key: 'seconds', heading: 's', digits: 1 },
  { key: 'perSecond', heading: 'hosts/s', digits: 0 },
  { key: 'beforeP99Ms', heading: 'read before, p99 ms', digits: 1 },
  { key: 'duringP99Ms', heading: 'read meanwhile, p99 ms', digits: 1 },
  { key: 'ratio', heading: 'meanwhile ÷ before', digits: 2 },
];
const STATE_COLUMNS: Column[] = [
  { key: 'database', heading: 'database' },
  { key: 'what', heading: 'call' },
  { key: 'ms', heading: 'median ms', digits: 1 },
  { key: 'cpuMs', heading: 'processor ms', digits: 2 },
  { key: 'cheaper', heading: 'whole ÷ this, time', digits: 1 },
  { key: 'cheaperCpu', heading: 'processor', digits: 1 },
];

/** What hosts and clusters ask of the service, and what others notice of it. */
export async function fleet(installations: Installations, { databases }: Settings): Promise<Table[]> {
  const ingests: Row[] = [];
  const states: Row[] = [];
  for (const database of databases) {
    const installation = await installations.start(database);
    const name = DATABASE_NAMES[database];
    ingests.push(...(await ingest(installation)).map((row) => ({ database: name, ...row })));
    states.push(...(await desiredState(installation)).map((row) => ({ database: name, ...row })));
  }
  return [
    {
      name: 'ingest',
      title: `${HOSTS.toLocaleString('en-GB')} hosts with ${ACCOUNTS_PER_HOST} accounts each report, ${REPORTERS} at a time`,
      columns: INGEST_COLUMNS,
      rows: ingests,
      notes: [
        'Client, service and database share the cores of this machine. Hosts report as fast as they can; real ones spread their reports over the interval.',
      ],
    },
    {
      name: 'desired-state',
      title: `The desired state of a cluster with ${SECRETS.toLocaleString('en-GB')} secrets in ${POLICIES} policies`,
      columns: STATE_COLUMNS,
      rows: states,
      notes: [
        'A whole answer decrypts every secret and records every path. An unchanged one is 304. Processor time is that of the service, without PostgreSQL.',
      ],
    },
  ];
}

interface Cluster {
  id: string;
  token: string;
}

async function addCluster({ port, token }: Installation, name: string, kind: string): Promise<Cluster> {
  const { id, cluster_token } = await post(port, token, '/clusters', { name, kind });
  return { id: String(id), token: String(cluster_token) };
}

async function ingest(installation: Installation): Promise<Row[]> {
  const cluster = await addCluster(installation, 'hosts', 'hosts');
  const reads = new Reads(installation);
  const before = p99(await reads.during(new Promise((resolve) => setTimeout(resolve, BEFORE_SECONDS * 1000))));
  const rows: Row[] = [];
  for (const [what, uid] of [
    ['the first', 1000],
    ['the same again', 1000],
    ['every account changed', 2000],
  ] as const) {
    const started = performance.now();
    const reporting = report(installation, cluster, uid);
    const during = p99(await reads.during(reporting));
    const seconds = ((await reporting) - started) / 1000;
    const ratio = during / before;
    rows.push({ what, seconds, perSecond: HOSTS / seconds, beforeP99Ms: before, duringP99Ms: during, ratio });
  }
  return rows;
}

/** Reads of secrets of all tenants, for as long as something lasts. */
class Reads {
  readonly #port: number;
  readonly #request: () => Buffer;

  constructor(installation: Installation) {
    this.#port = installation.port;
    this.#request = spread(installation, readSecret);
  }

  async during(work: Promise<unknown>): Promise<number[]> {
    const latencies: number[] = [];
    let isOver = false;
    const ended = work.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const load = { port: this.#port, seconds: SLICE_SECONDS, request: this.#request, ...READERS };
      await run(load, (ms, status) => {
        if (status !== 200) throw new Error(`a read answered ${status}`);
        if (!isOver) latencies.push(ms);
      });
    }
    await ended;
    return latencies;
  }
}

function p99(latencies: readonly number[]): number {
  return quantile(Float64Array.from(latencies).sort(), 0.99);
}

/** Every host once; resolves to the time at which the last one was acknowledged. */
async function report({ port }: Installation, cluster: Cluster, uid: number): Promise<number> {
  const scanned_at = new Date().toISOString();
  let next = 0;
  const reporter = async () => {
    for (let host = next++; host < HOSTS; host = next++) {
      const response = await fetch(`http://127.0.0.1:${port}/kube-guardian/endpoint-accounts`, {
        method: 'POST',
        headers: { 'x-cluster-token': cluster.token, 'content-type': 'application/json' },
        body: JSON.stringify({ ...hostOf(host, uid), scanned_at }),
      });
      const { accepted } = (await response.json()) as { accepted?: number };
      if (accepted !== ACCOUNTS_PER_HOST) throw new Error(`a report was answered ${response.status}`);
    }
  };
  await Promise.all(Array.from({ length: REPORTERS }, reporter));
  return performance.now();
}

function hostOf(host: number, uid: number) {
  return {
    host_id: `host_${String(host).padStart(32, '0')}`,
    hostname: `host-${host}`,
    accounts: Array.from({ length: ACCOUNTS_PER_HOST }, (_, i) => ({
      username: `user${i}`,
      uid: uid + i,
      shell: '/bin/bash',
      ssh_keys: [
        { type: 'ssh-ed25519', fingerprint_sha256: fingerprintOf(`${uid} ${host} ${i}`), comment: `user${i}` },
      ],
    })),
  };
}

function fingerprintOf(text: string): string {
  return `SHA256:${Buffer.from(text.padEnd(33, '.')).toString('base64').slice(0, 43)}`;
}

async function desiredState(installation: Installation): Promise<Row[]> {
  const { port, token } = installation;
  const cluster = await addCluster(installation, 'kubernetes', 'kubernetes');
  await post(port, token, '/v1/vaults', { name: 'delivered', environment: 'staging' });
  await post(port, token, '/v1/vaults', { name: 'elsewhere', environment: 'staging' });
  const paths = Array.from({ length: SECRETS }, (_, i) => `app/${i}/password`);
  const secrets = Object.fromEntries(paths.map((path) => [path, `value of ${path}`]));
  await post(port, token, '/v1/vaults/delivered/import', { secrets });
  for (let policy = 0; policy < POLICIES; policy++) {
    const part = paths.slice((policy * SECRETS) / POLICIES, ((policy + 1) * SECRETS) / POLICIES);
    const mappings = part.map((path, i) => ({ key: `key${i}`, path }));
    const body = { namespace: 'bench', secret_name: `secret-${policy}`, vault: 'delivered', mappings };
    await post(port, token, `/clusters/${cluster.id}/policies`, body);
  }
  const sync = async (etag: string | null, expected: number) => {
    const response = await fetch(`http://127.0.0.1:${port}/clusters/${cluster.id}/desired-state`, {
      headers: { 'x-cluster-token': cluster.token, ...(etag !== null && { 'if-none-match': etag }) },
    });
    await response.arrayBuffer();
    if (response.status !== expected) throw new Error(`a desired state was answered ${response.status}`);
    return response.headers.get('etag') ?? '';
  };
  const first = await timed(installation, 1, () => sync(null, 200));
  const etag = await sync(null, 200);
  const whole = await timed(installation, FULL_CALLS, () => sync(null, 200));
  await sync(etag, 304);
  const unchanged = await timed(installation, UNCHANGED_CALLS, () => sync(etag, 304));
  let writes = 0;
  const write = () => post(port, token, '/v1/vaults/elsewhere/secrets', { path: `w/${++writes}`, value: 'a value' });
  const beside = await timed(installation, UNCHANGED_CALLS, () => sync(etag, 304), write);
  const row = (what: string, { ms, cpuMs }: Timed): Row => ({
    what,
    ms,
    cpuMs,
    cheaper: whole.ms / ms,
    cheaperCpu: cpuMs === null || whole.cpuMs === null ? null : whole.cpuMs / cpuMs,
  });
  return [
    row('the first', first),
    row('whole again', whole),
    row('unchanged', unchanged),
    // On SQLite nothing is read at all while nobody changes anything, so this is what it costs in an installation that is in use.
    { ...row('unchanged, after a change elsewhere', { ms: beside.ms, cpuMs: null }) },
  ];
}

interface Timed {
  ms: number;
  cpuMs: number | null;
}

/** The median time of a call, and the processor time of the service for each. What comes before each call is not timed. */
async function timed(
  { pid }: Installation,
  calls: number,
  call: () => Promise<unknown>,
  before: () => Promise<unknown> = async () => {},
): Promise<Timed> {
  const elapsed: number[] = [];
  const used = cpuSeconds(pid);
  for (let i = 0; i < calls; i++) {
    await before();
    const started = performance.now();
    await call();
    elapsed.push(performance.now() - started);
  }
  const usedAfter = cpuSeconds(pid);
  const cpuMs = used === null || usedAfter === null ? null : ((usedAfter - used) * 1000) / calls;
  return { ms: median(elapsed), cpuMs };
}
