import { connect, type Socket } from 'node:net';
import type { Settings } from './cases.ts';
import { DATABASE_NAMES, type Installation, type Installations } from './installation.ts';
import { getRequest, type Load, postFrom, run, writeRequest } from './load.ts';
import { addressOf } from './password-logins.ts';
import type { Column, Row, Table } from './report.ts';
import { readSecret } from './requests.ts';
import { type Seeded, spread } from './spread.ts';
import { quantile } from './statistics.ts';
import { post, type Tenant } from './tenants.ts';

const [QUIET_TENANT, NOISY_TENANT] = [1, 2];
const LARGE_VALUES = 8;
const LARGE_BYTES = 1024 * 1024;
const SEARCHED = 1000;
const STALLED = 60;
/** Until the noise is there. */
const LEAD_SECONDS = 1;

/** The quiet tenant's: few, and with pauses, so that they measure what it waits for and not what it does. */
const QUIET = {
  read: { connections: 2, pauseMs: 5 },
  write: { connections: 1, pauseMs: 20 },
};
type QuietName = keyof typeof QUIET;

interface Noise {
  name: string;
  /** Begins it; what it answers with ends it. */
  begin(seconds: number): Promise<() => Promise<unknown>>;
}

const COLUMNS: Column[] = [
  { key: 'database', heading: 'database' },
  { key: 'beside', heading: 'beside' },
  { key: 'readP99Ms', heading: 'read, p99 ms', digits: 1 },
  { key: 'readRatio', heading: 'to alone', digits: 1 },
  { key: 'writeP99Ms', heading: 'write, p99 ms', digits: 1 },
  { key: 'writeRatio', heading: 'to alone', digits: 1 },
  { key: 'refused', heading: 'refused', digits: 0 },
];

/** How much longer a quiet tenant waits beside each kind of noisy one. */
export async function fairness(installations: Installations, { seconds, databases }: Settings): Promise<Table[]> {
  const rows: Row[] = [];
  for (const database of databases) {
    const installation = await installations.start(database, { isTrusting: true });
    const [quiet, noisy] = [vaultsOf(installation, QUIET_TENANT), vaultsOf(installation, NOISY_TENANT)];
    let alone: Record<QuietName, number> | undefined;
    for (const noise of [SILENCE, ...(await noises(installation, noisy))]) {
      const end = await noise.begin(seconds + LEAD_SECONDS);
      if (noise !== SILENCE) await pause(LEAD_SECONDS);
      const { p99, refused } = await quietP99(installation, quiet, seconds);
      await end();
      alone ??= p99;
      rows.push({
        database: DATABASE_NAMES[database],
        beside: noise.name,
        readP99Ms: p99.read,
        readRatio: p99.read / alone.read,
        writeP99Ms: p99.write,
        writeRatio: p99.write / alone.write,
        refused,
      });
    }
  }
  const notes = [
    'Client, service and database share the cores of this machine: part of what the quiet tenant waits for is that.',
  ];
  return [{ name: 'fairness', title: 'A quiet tenant beside a noisy one', columns: COLUMNS, rows, notes }];
}

const SILENCE: Noise = { name: 'nobody', begin: async () => async () => {} };

let writes = 0;

async function quietP99({ port }: Installation, quiet: Seeded, seconds: number) {
  const { vault, token } = firstOf(quiet);
  const requests: Record<QuietName, Load['request']> = {
    read: spread(quiet, readSecret),
    write: () => writeRequest('POST', `${vault}/secrets`, token, { path: `w/${++writes}`, value: 'a value' }),
  };
  const latencies: Record<QuietName, number[]> = { read: [], write: [] };
  let refused = 0;
  const drive = (name: QuietName) =>
    run({ port, seconds, request: requests[name], ...QUIET[name] }, (ms, status) => {
      latencies[name].push(ms);
      if (status > 299) refused++;
    });
  await Promise.all([drive('read'), drive('write')]);
  const p99 = (name: QuietName) => quantile(Float64Array.from(latencies[name]).sort(), 0.99);
  return { p99: { read: p99('read'), write: p99('write') }, refused };
}

async function noises({ port }: Installation, noisy: Seeded): Promise<Noise[]> {
  const { vault, token, tenant } = firstOf(noisy);
  for (let i = 0; i < LARGE_VALUES; i++) {
    const value = String(i).repeat(LARGE_BYTES);
    await post(port, token, `${vault}/secrets`, { path: `large/${i}`, value });
  }
  const searched = Object.fromEntries(
    Array.from({ length: SEARCHED }, (_, i) => [`small/${i}`, `value ${i} `.repeat(50)]),
  );
  await post(port, token, `${vault}/import`, { secrets: searched });
  let imports = 0;
  let logins = 0;
  const importRequest = () => {
    imports++;
    const secrets = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`i${imports}/${i}`, 'v'.repeat(64)]));
    return writeRequest('POST', `${vault}/import`, token, { secrets });
  };
  const loginRequest = () => {
    logins++;
    const body = { tenant: tenant.name, email: `nobody-${logins}@example.com`, password: 'not the right one' };
    return postFrom(addressOf(logins), '/auth/login', body);
  };
  const searchRequest = writeRequest('POST', `${vault}/search`, token, { query: 'nowhere', prefix: 'small/' });
  const exportRequest = getRequest(`${vault}/export?prefix=large/`, token);
  const steady = (name: string, connections: number, request: Load['request']): Noise => ({
    name,
    async begin(seconds) {
      const running = run({ port, seconds, connections, request }, () => {});
      return () => running;
    },
  });
  return [
    steady('8 imports of 300', 8, importRequest),
    steady('32 exports of 8 MiB', 32, exportRequest),
    { name: `${STALLED} exports that nobody reads`, begin: async () => stall(port, exportRequest) },
    steady('16 searches of 1,000', 16, searchRequest),
    steady('16 logins', 16, loginRequest),
  ];
}

function stall(port: number, request: Buffer): () => Promise<void> {
  const sockets: Socket[] = Array.from({ length: STALLED }, () => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => {});
    socket.pause();
    socket.write(request);
    return socket;
  });
  return async () => {
    for (const socket of sockets) socket.destroy();
  };
}

/** The vaults of one tenant. */
function vaultsOf({ tenants, vaults, perVault }: Installation, tenant: number): Seeded {
  return { vaults: vaults.filter((vault) => vault.tenant === tenants[tenant]), perVault };
}

function firstOf({ vaults: [first] }: Seeded): { vault: string; token: string; tenant: Tenant } {
  if (first === undefined) throw new Error('a tenant has no vault');
  return { vault: `/v1/vaults/${first.name}`, token: String(first.tokens[0]), tenant: first.tenant };
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
