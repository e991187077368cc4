import { bareCases, CASE_COLUMNS, type Case, measureCases, type Settings, USUAL_CONNECTIONS } from './cases.ts';
import type { Installation, Installations } from './installation.ts';
import type { Table } from './report.ts';
import { type RequestName, requestOf, SHOWN } from './requests.ts';

/** Those that answer a hundred things at once are not asked for by hundreds at once. */
const LARGE_ANSWERS: RequestName[] = ['list', 'aggregate'];

/** Requests on both databases beside a bare server that answers as many bytes, at each number of connections. */
export async function besideBare(
  title: string,
  names: RequestName[],
  installations: Installations,
  settings: Settings,
): Promise<Table[]> {
  const subjects = await subjectsOf(installations, settings);
  const cases: Case[] = [];
  for (const name of names) {
    const most = LARGE_ANSWERS.includes(name) ? USUAL_CONNECTIONS : Infinity;
    cases.push(
      ...(await casesOf(
        name,
        installations,
        subjects,
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
  running: Installation[],
  connections: number[],
): Promise<Case[]> {
  const subjects = await Promise.all(
    running.map(async (installation) => ({ installation, bytes: await requestOf(name, installation) })),
  );
  const [first] = subjects;
  if (first === undefined || connections.length === 0) return [];
  const asked = { port: first.installation.port, bytes: first.bytes };
  const bare = await bareCases(installations, SHOWN[name], asked, connections);
  return bare.flatMap((yardstick) => [
    yardstick,
    ...subjects.map(({ installation: { name: subject, pid, port }, bytes }) => ({
      request: SHOWN[name],
      subject,
      connections: yardstick.connections,
      pids: [pid],
      load: { port, request: bytes },
      yardstick,
    })),
  ]);
}
