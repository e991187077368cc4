import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newDpopKey, proofBy } from '../test/support/machines.ts';
import { CASE_COLUMNS, type Case, measureCases, type Settings, USUAL_CONNECTIONS } from './cases.ts';
import { pathOf, vaultOf } from './data-set.ts';
import { DATABASES, type Installation, type Installations } from './installation.ts';
import { getRequest, type Load, requestWith } from './load.ts';
import type { Table } from './report.ts';

/** Proofs are used once, and made beforehand: what making one costs is the client's. More than are used in a second. */
const PROOFS_PER_SECOND = 15_000;

interface MachineRead {
  what: string;
  load: Pick<Load, 'port' | 'request' | 'tls'>;
}

/** The same secret, read by a person's token and by a connection that proves itself in each of its ways. */
export async function machines(installations: Installations, settings: Settings): Promise<Table[]> {
  const rows = [];
  for (const database of DATABASES) {
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

async function machineReads({ port, tlsPort, token, dataDir }: Installation, count: number): Promise<MachineRead[]> {
  if (tlsPort === null) throw new Error('there is no TLS port to measure');
  const path = `/v1/vaults/${vaultOf(0)}/secrets/${pathOf(7)}`;
  const response = await fetch(`http://127.0.0.1:${port}/v1/app-connections`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', vault: vaultOf(0), mtls_required: false }),
  });
  if (response.status !== 201) throw new Error(`no connection was made: ${response.status}`);
  const made = (await response.json()) as Record<'client_id' | 'client_secret' | 'certificate' | 'private_key', string>;
  const headers = { 'X-Client-Id': made.client_id, 'X-Client-Secret': made.client_secret };
  const tls = {
    ca: readFileSync(join(dataDir, 'ca.pem')),
    cert: made.certificate,
    key: made.private_key,
  };
  const key = await newDpopKey();
  const claims = { htu: `https://127.0.0.1:${tlsPort}${path}` };
  const proofs: string[] = [];
  let next = 0;
  const proven = () => {
    const DPoP = proofs[next++];
    if (DPoP === undefined) throw new Error('there are too few proofs for this round');
    return requestWith(path, { ...headers, DPoP });
  };
  const at = Date.now();
  for (let i = 0; i < count; i++) proofs.push(await proofBy(key, { ...claims, at }));
  return [
    { what: 'GET a secret, personal access token', load: { port, request: getRequest(path, token) } },
    { what: 'GET a secret, client headers', load: { port, request: requestWith(path, headers) } },
    {
      what: 'GET a secret, token over TLS',
      load: { port: tlsPort, tls: { ca: tls.ca }, request: getRequest(path, token) },
    },
    { what: 'GET a secret, headers and mTLS', load: { port: tlsPort, tls, request: requestWith(path, headers) } },
    { what: 'GET a secret, headers, mTLS and DPoP', load: { port: tlsPort, tls, request: proven } },
  ];
}
