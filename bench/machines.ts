import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { newDpopKey, proofBy } from '../test/support/machines.ts';
import { CASE_COLUMNS, type Case, measureCases, type Settings, USUAL_CONNECTIONS } from './cases.ts';
import type { Installation, Installations } from './installation.ts';
import { type Load, requestWith } from './load.ts';
import type { Table } from './report.ts';
import { readSecret } from './requests.ts';
import { SPREAD, spread, type Target, targets } from './spread.ts';
import { post, type Vault } from './tenants.ts';

/** Proofs are used once, and made beforehand: what making one costs is the client's. More than are used in a second. */
const PROOFS_PER_SECOND = 15_000;

interface MachineRead {
  what: string;
  load: Pick<Load, 'port' | 'request' | 'tls'>;
}

/** Secrets read with a personal access token, and by app connections that authenticate in each of their ways. */
export async function machines(installations: Installations, settings: Settings): Promise<Table[]> {
  const rows = [];
  for (const database of settings.databases) {
    const installation = await installations.shared(database);
    const cases: Case[] = [];
    for (const { what, load } of await machineReads(
      installation,
      Math.ceil((settings.seconds + 1) * PROOFS_PER_SECOND),
    )) {
      const subject = { subject: installation.name, pids: [installation.pid] };
      const [yardstick] = cases;
      cases.push({ request: what, ...subject, connections: USUAL_CONNECTIONS, load, ...(yardstick && { yardstick }) });
    }
    // Proofs are made beforehand, for one round.
    rows.push(...(await measureCases(cases, { ...settings, rounds: 1 })));
  }
  const notes = ['Ratios are to the read with a personal access token.'];
  return [{ name: 'machines', title: 'A secret read by machines', columns: CASE_COLUMNS, rows, notes }];
}

/** An app connection with its credentials, and the secrets of its vault. */
interface Machine {
  headers: Record<string, string>;
  tls: ConnectionOptions;
  /** The next secret it reads. */
  next(): Target;
}

async function machineReads(installation: Installation, count: number): Promise<MachineRead[]> {
  const { port, tlsPort, vaults, dataDir } = installation;
  if (tlsPort === null) throw new Error('there is no TLS port to measure');
  const ca = readFileSync(join(dataDir, 'ca.pem'));
  const all = await Promise.all(vaults.map((vault) => newMachine(installation, vault, ca)));
  const machineOf = (connection: number) => all[connection % all.length] as Machine;
  const withHeaders = (connection: number) => {
    const { headers, next } = machineOf(connection);
    return requestWith(next().secret, headers);
  };
  const proven = await Promise.all(all.map((machine) => provenReads(machine, tlsPort, Math.ceil(count / all.length))));
  const withProof = (connection: number) => {
    const request = proven[connection % proven.length]?.pop();
    if (request === undefined) throw new Error('there are too few proofs for this round');
    return request;
  };
  const byToken = spread(installation, readSecret);
  const tls = (connection: number) => machineOf(connection).tls;
  return [
    { what: 'GET a secret, personal access token', load: { port, request: byToken } },
    { what: 'GET a secret, client headers', load: { port, request: withHeaders } },
    { what: 'GET a secret, token over TLS', load: { port: tlsPort, tls: () => ({ ca }), request: byToken } },
    { what: 'GET a secret, headers and mTLS', load: { port: tlsPort, tls, request: withHeaders } },
    { what: 'GET a secret, headers, mTLS and DPoP', load: { port: tlsPort, tls, request: withProof } },
  ];
}

/** A connection reads one vault, so the machines together read as many secrets as everybody else. */
async function newMachine({ port, vaults, perVault }: Installation, vault: Vault, ca: Buffer): Promise<Machine> {
  const body = { name: `bench-${vault.name}`, vault: vault.name, mtls_required: false };
  const made = (await post(port, String(vault.tokens[0]), '/v1/app-connections', body)) as Record<string, string>;
  return {
    headers: { 'X-Client-Id': String(made['client_id']), 'X-Client-Secret': String(made['client_secret']) },
    tls: { ca, cert: String(made['certificate']), key: String(made['private_key']) },
    next: targets({ vaults: [vault], perVault }, Math.ceil(SPREAD / vaults.length)),
  };
}

async function provenReads({ headers, next }: Machine, tlsPort: number, count: number): Promise<Buffer[]> {
  const key = await newDpopKey();
  const at = Date.now();
  const requests: Buffer[] = [];
  for (let i = 0; i < count; i++) {
    const { secret } = next();
    const DPoP = await proofBy(key, { htu: `https://127.0.0.1:${tlsPort}${secret}`, at });
    requests.push(requestWith(secret, { ...headers, DPoP }));
  }
  return requests;
}
