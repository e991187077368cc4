import { availableParallelism } from 'node:os';
import { CASE_COLUMNS, type Case, measureCases, type Settings, USUAL_CONNECTIONS } from './cases.ts';
import type { Installations } from './installation.ts';
import type { Table } from './report.ts';
import { type RequestName, requestOf, SHOWN } from './requests.ts';

const NAMES: RequestName[] = ['me', 'secret', 'write', 'encrypt'];

/** One process and two on one PostgreSQL; connections are spread over both. */
export async function nodes(installations: Installations, settings: Settings): Promise<Table[]> {
  const first = await installations.shared('postgres');
  const second = await installations.secondNode(first);
  const several = settings.connections.filter((count) => count >= USUAL_CONNECTIONS);
  const cases: Case[] = [];
  for (const name of NAMES) {
    const bytes = await requestOf(name, first);
    for (const connections of several) {
      const one: Case = {
        request: SHOWN[name],
        subject: 'one process',
        connections,
        pids: [first.pid],
        load: { port: first.port, request: bytes },
      };
      const pids = [first.pid, Number(second.child.pid)];
      const load = { port: [first.port, second.port], request: bytes };
      cases.push(one, { ...one, subject: 'two processes', pids, load, yardstick: one });
    }
  }
  const notes = [
    `Ratios are to one process. Client, PostgreSQL and both processes share ${availableParallelism()} cores: where these are few, a second process can only take from the first.`,
  ];
  const rows = await measureCases(cases, settings);
  return [{ name: 'nodes', title: 'One and two processes on one PostgreSQL', columns: CASE_COLUMNS, rows, notes }];
}
