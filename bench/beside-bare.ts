import { bareCases, CASE_COLUMNS, type Case, measureCases, type Settings, USUAL_CONNECTIONS } from './cases.ts';
import type { Installation, Installations } from './installation.ts';
import type { Peer } from './peers.ts';
import type { Table } from './report.ts';
import { type RequestName, requestOf, SHOWN } from './requests.ts';

/** Requests that return a hundred things are not sent by hundreds of connections. */
const LARGE_ANSWERS: RequestName[] = ['list', 'aggregate'];

/** Requests on both databases beside a bare server that answers as many bytes, at each number of connections. */
export async function besideBare(
  title: string,
  names: RequestName[],
  installations: Installations,
  settings: Settings,
): Promise<Table[]> {
  const subjects = await subjectsOf(installations, settings);
  const peers = await Promise.all(settings.peers.map((name) => installations.peer(name)));
  const cases: Case[] = [];
  for (const name of names) {
    const most = LARGE_ANSWERS.includes(name) ? USUAL_CONNECTIONS : Infinity;
    cases.push(
      ...(await casesOf(
        name,
        installations,
        { subjects, peers },
        settings.connections.filter((count) => count <= most),
      )),
    );
  }
  const rows = await measureCases(cases, settings);
  const notes = [
    'Ratios are to a bare node:http server that is sent the same and answers as many bytes, in the same run.',
  ];
  return [{ name: 'beside bare', title, columns: CASE_COLUMNS, rows, notes }];
}

/** This service on each database, and each other checkout after it. */
function subjectsOf(installations: Installations, { databases, beside }: Settings): Promise<Installation[]> {
  return Promise.all(
    databases.flatMap((database) => [
      installations.shared(database),
      ...beside.map((checkout) => installations.shared(database, { checkout })),
    ]),
  );
}

async function casesOf(
  name: RequestName,
  installations: Installations,
  running: { subjects: Installation[]; peers: Peer[] },
  connections: number[],
): Promise<Case[]> {
  const own = running.subjects.map(async (one) => ({ ...one, bytes: await requestOf(name, one) }));
  const others = running.peers.map((peer) => ({ ...peer, bytes: peer.requestOf(name) }));
  const [first, ...more] = await Promise.all(own);
  if (first === undefined || connections.length === 0) return [];
  const bare = await bareCases(installations, SHOWN[name], first, connections);
  return bare.flatMap((yardstick) => [
    yardstick,
    ...[first, ...more, ...others].flatMap(({ name: subject, pid, port, bytes }) =>
      bytes === null
        ? []
        : {
            request: SHOWN[name],
            subject,
            connections: yardstick.connections,
            pids: [pid],
            load: { port, request: bytes },
            yardstick,
          },
    ),
  ]);
}
