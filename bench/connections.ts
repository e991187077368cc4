import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, type RequestOptions, request as secureRequest } from 'node:https';
import { connect as connectPlain, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import type { Settings } from './cases.ts';
import type { Installation, Installations } from './installation.ts';
import type { Row, Table } from './report.ts';
import { median } from './statistics.ts';
import { cpuSeconds } from './subject.ts';

const AT_A_TIME = 8;
const REQUEST = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
const CLASSICAL = 'X25519';
const HYBRID = 'X25519MLKEM768';

/** Something that is done again and again, and the process whose time it takes. */
interface Kind {
  name: string;
  pid: number;
  once(): Promise<void>;
  close?(): void;
}

/** What a new connection costs in each way, and whether HTTP/2 would cost less than HTTP/1.1. */
export async function connections(installations: Installations, settings: Settings): Promise<Table[]> {
  return [await newConnections(installations, settings), await protocols(installations, settings)];
}

async function newConnections(installations: Installations, settings: Settings): Promise<Table> {
  const installation = await installations.shared('sqlite', { isTrusting: true });
  const port = Number(installation.tlsPort);
  const ca = readFileSync(join(installation.dataDir, 'ca.pem'));
  const tls = (groups: string) => () =>
    over(connect({ port, host: '127.0.0.1', ca, servername: 'localhost', ecdhCurve: groups }));
  const { pid } = installation;
  const kinds: Kind[] = [
    { name: 'a connection without TLS', pid, once: () => over(connectPlain(installation.port, '127.0.0.1')) },
    { name: `TLS, ${CLASSICAL}`, pid, once: tls(CLASSICAL) },
    { name: `TLS, ${HYBRID}`, pid, once: tls(HYBRID) },
    reused(installation, ca),
  ];
  return {
    name: 'connections',
    title: 'GET /health, each time over a new connection',
    columns: COLUMNS,
    rows: await measured(kinds, settings),
    notes: [
      `${AT_A_TIME} at a time, on SQLite. The last line keeps its connections, and shows what all others add to.`,
    ],
  };
}

/** One request over this connection, which the service then closes. */
async function over(socket: Socket): Promise<void> {
  socket.end(REQUEST);
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  if (!answer.startsWith('HTTP/1.1 200')) throw new Error(`the service answered ${answer.slice(0, 40)}`);
}

/** Each connection continues the session of an earlier one. The service allows no such connection, because it would lack the client's certificates. */
function resuming({ port, ca, isResuming }: { port: number; ca: Buffer; isResuming: boolean }): () => Promise<void> {
  const sessions: Buffer[] = [];
  return async () => {
    const session = isResuming ? sessions.shift() : undefined;
    const socket: TLSSocket = connect({ port, host: '127.0.0.1', ca, servername: 'localhost', session });
    if (isResuming) socket.on('session', (next: Buffer) => sessions.push(next));
    let isResumed = false;
    socket.once('secureConnect', () => {
      isResumed = socket.isSessionReused();
    });
    await over(socket);
    if (session !== undefined && !isResumed) throw new Error('the server did not resume the session');
  };
}

function reused({ tlsPort, pid }: Installation, ca: Buffer): Kind {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME, ca });
  const options = { port: tlsPort, host: '127.0.0.1', servername: 'localhost', path: '/health', agent };
  return { name: 'TLS, kept open', pid, once: () => answered(options), close: () => agent.destroy() };
}

async function answered(options: RequestOptions): Promise<void> {
  const request = secureRequest(options);
  request.end();
  const [response] = await once(request, 'response');
  response.resume();
  await once(response, 'end');
}

/** A bare server, since the service offers neither HTTP/2 nor sessions that are resumed. */
async function protocols(installations: Installations, settings: Settings): Promise<Table> {
  const folder = installations.newFolder();
  const { child, port } = await installations.process('bench/http2-process.ts', [folder], {});
  const ca = readFileSync(join(folder, 'cert.pem'));
  const pid = Number(child.pid);
  const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME, ca });
  const options = { port, host: '127.0.0.1', servername: 'localhost', path: '/', agent };
  const session = connectHttp2(`https://127.0.0.1:${port}`, { ca, servername: 'localhost' });
  const stream = async () => {
    const request = session.request({ ':path': '/' });
    request.resume();
    await once(request, 'end');
  };
  const kinds: Kind[] = [
    { name: `a new connection, ${HYBRID}`, pid, once: resuming({ port, ca, isResuming: false }) },
    { name: 'a new connection, resumed', pid, once: resuming({ port, ca, isResuming: true }) },
    { name: `HTTP/1.1, ${AT_A_TIME} connections`, pid, once: () => answered(options), close: () => agent.destroy() },
    { name: 'HTTP/2, one connection', pid, once: stream, close: () => session.close() },
  ];
  return {
    name: 'protocols',
    title: 'Bare Node.js over TLS: sessions that are resumed, and HTTP/2',
    columns: COLUMNS,
    rows: await measured(kinds, settings),
    notes: [`${AT_A_TIME} requests at a time, answers of 200 bytes; the client is Node.js too, and shares the cores.`],
  };
}

const COLUMNS = [
  { key: 'kind', heading: 'kind' },
  { key: 'perSecond', heading: 'a second', digits: 0 },
  { key: 'cpuMicros', heading: 'processor time of the server, µs', digits: 0 },
];

/** In rounds through all kinds, so that a machine that is busy for a while is busy for all. */
async function measured(kinds: Kind[], { rounds, seconds }: Settings): Promise<Row[]> {
  const results = new Map(kinds.map(({ name }) => [name, { perSecond: [] as number[], cpuMicros: [] as number[] }]));
  for (let round = 0; round <= rounds; round++) {
    for (const kind of kinds) {
      const { perSecond, cpuMicros } = await measuredOnce(kind, seconds);
      // The first round warms up.
      if (round === 0) continue;
      results.get(kind.name)?.perSecond.push(perSecond);
      results.get(kind.name)?.cpuMicros.push(cpuMicros);
    }
  }
  for (const { close } of kinds) close?.();
  return kinds.map(({ name }) => {
    const { perSecond = [], cpuMicros = [] } = results.get(name) ?? {};
    return { kind: name, perSecond: median(perSecond), cpuMicros: median(cpuMicros) };
  });
}

async function measuredOnce({ once: act, pid }: Kind, seconds: number) {
  const cpuBefore = cpuSeconds(pid) ?? Number.NaN;
  const started = performance.now();
  let count = 0;
  const work = async () => {
    while (performance.now() - started < seconds * 1000) {
      await act();
      count++;
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  const elapsed = (performance.now() - started) / 1000;
  return { perSecond: count / elapsed, cpuMicros: (((cpuSeconds(pid) ?? Number.NaN) - cpuBefore) / count) * 1e6 };
}
