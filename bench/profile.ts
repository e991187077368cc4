import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { DATABASES, type DatabaseKind, type Installation, Installations } from './installation.ts';
import { type Measured, measureAnswered } from './load.ts';
import { busyTree, type CpuProfile, type Frame, frameTree, timesByFunction, timesByGroup } from './profile-times.ts';
import { REQUEST_NAMES, type RequestName, requestOf, SHOWN } from './requests.ts';
import { cpuSeconds } from './subject.ts';

const HELP = `npm run profile -- [request] [--database sqlite|postgres] [--seconds N] [--connections N] [--folder bench/results]

Shows where the main thread of the service spends its time while it answers one kind of request:
${REQUEST_NAMES.map((name) => `  ${name.padEnd(10)} ${SHOWN[name]}`).join('\n')}

Writes profile-<request>-<database>.cpuprofile to the folder. Chrome's developer tools and https://www.speedscope.app show it as a flame graph.
`;
const FUNCTIONS_SHOWN = 40;
/** Rooms with less than this share of the time, and less than ten times as much with what they call, are left out. */
const SMALLEST_SHOWN = 0.001;
const WARM_UP_SECONDS = 3;
/** The main thread cannot use more than all threads together, unless what was counted is not use. */
const BUSY_MACHINE = 1.1;
const WAITED =
  'The machine is busy: times below include those in which the service was not let run. Compare shares only.';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    database: { type: 'string', default: 'sqlite' },
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '32' },
    folder: { type: 'string', default: 'bench/results' },
    help: { type: 'boolean', default: false },
  },
});
const request = (positionals[0] ?? 'secret') as RequestName;
const database = values.database as DatabaseKind;
const [seconds, connections] = [Number(values.seconds), Number(values.connections)];
const isKnown = REQUEST_NAMES.includes(request) && DATABASES.includes(database);
if (values.help || !isKnown || !(seconds > 0) || !(connections > 0)) {
  process.stdout.write(HELP);
  process.exit(values.help ? 0 : 2);
}
const file = `${values.folder}/profile-${request}-${database}`;
mkdirSync(values.folder, { recursive: true });

const installations = new Installations();
try {
  const installation = await installations.start(database, { isProfiled: true });
  const { measured, cpuMicros } = await profiled(installation);
  const profile = JSON.parse(readFileSync(`${file}.cpuprofile`, 'utf8')) as CpuProfile;
  process.stdout.write(shown(installation.name, measured, cpuMicros, frameTree(profile)));
} finally {
  await installations.remove();
}
process.exit(0);

async function profiled(installation: Installation): Promise<{ measured: Measured; cpuMicros: number | null }> {
  const { port, pid } = installation;
  const load = { port, request: await requestOf(request, installation), connections };
  await measureAnswered(SHOWN[request], { ...load, seconds: Math.min(WARM_UP_SECONDS, seconds) });
  await tell(installation, null);
  const before = cpuSeconds(pid);
  const measured = await measureAnswered(SHOWN[request], { ...load, seconds });
  const after = cpuSeconds(pid);
  await tell(installation, `${file}.cpuprofile`);
  const cpuMicros = before === null || after === null ? null : ((after - before) * 1e6) / measured.requests;
  return { measured, cpuMicros };
}

/** Null begins the profile, a file's name ends it and says where it goes. */
async function tell({ child }: Installation, what: string | null): Promise<void> {
  const answered = once(child, 'message');
  child.send(what as string);
  await answered;
}

function shown(name: string, measured: Measured, cpuMicros: number | null, root: Frame): string {
  const { requests, perSecond, p50Ms, p99Ms } = measured;
  const busy = busyTree(root);
  const per = (micros: number) => micros / requests;
  const title = `${SHOWN[request]}; ${name}; ${connections} connections: ${per(busy.total).toFixed(1)} µs of the main thread a request`;
  const row = (label: string, self: number, inclusive: number) =>
    `${per(self).toFixed(2).padStart(9)} ${((self / busy.total) * 100).toFixed(1).padStart(6)} ${per(inclusive).toFixed(2).padStart(9)}  ${label}`;
  const head = ' µs self      % µs inclus.';
  return [
    '',
    `${title}, ${per(root.total - busy.total).toFixed(1)} µs idle.`,
    `${Math.round(perSecond)} requests/s with the profiler on, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms; processor time of all threads ${cpuMicros?.toFixed(1) ?? '?'} µs a request.`,
    ...(cpuMicros !== null && per(busy.total) > cpuMicros * BUSY_MACHINE ? [WAITED] : []),
    '',
    `${head}  by room, package and part of Node (inclusive: with what was called from there)`,
    ...timesByGroup(busy)
      .filter(
        ({ self, inclusive }) => self > busy.total * SMALLEST_SHOWN || inclusive > busy.total * 10 * SMALLEST_SHOWN,
      )
      .map(({ name, self, inclusive }) => row(name, self, inclusive)),
    '',
    `${head}  by function, the first ${FUNCTIONS_SHOWN}`,
    ...timesByFunction(busy)
      .slice(0, FUNCTIONS_SHOWN)
      .map(({ name, self, inclusive }) => row(name, self, inclusive)),
    '',
    `${file}.cpuprofile`,
    '',
  ].join('\n');
}
