import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Settings } from './cases.ts';
import { conditions, stampOf } from './conditions.ts';
import { PER_VAULT } from './data-set.ts';
import { DATABASES, Installations } from './installation.ts';
import { PARTS } from './parts.ts';
import { PEER_NAMES } from './peers.ts';
import { headOf, markdownPart, markdownReport, type Report } from './report.ts';
import { benchSummary, SUMMARY_PAGE, writeSummary } from './summary.ts';

/**
 * Measures the service beside a bare node:http server, in one run, with the same client. Each part prints its tables as soon as it is done;
 * what is there so far is always in bench/results/.
 */
const FOLDER = 'bench/results';
const HELP = `npm run bench -- [part …] [--seconds N] [--rounds N] [--connections 1,32,256] [--vaults N] [--database sqlite|postgres] [--beside FOLDER …] [--peer openbao]
npm run bench -- --summary bench/results/<date>.json

Measures all parts, or those named, and writes ${FOLDER}/<date>.md and .json. --summary puts a summary of such a file into ${SUMMARY_PAGE}.

${PARTS.map(({ name, about, minutes }) => `  ${name.padEnd(12)} ${String(minutes).padStart(4)} min  ${about}`).join('\n')}
  ${'all'.padEnd(12)} ${String(PARTS.reduce((sum, { minutes, isExtra }) => sum + (isExtra === true ? 0 : minutes), 0)).padStart(4)} min; footprint by itself takes 5 min more, to fill a large installation

  --seconds      of each measurement (2)
  --rounds       through all subjects of a part; medians are shown (3); guard always has nine
  --connections  at once (1,32,256); guard always has 32
  --vaults       of ${PER_VAULT} secrets in the large installation (1000)
  --database     only this one; nodes need PostgreSQL anyway
  --beside       also measures the service in another checkout, installed, on data of its own, in reads, writes and guard
  --peer         also measures another product there, whose program is on the PATH: openbao (bao)
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '1,32,256' },
    vaults: { type: 'string', default: '1000' },
    database: { type: 'string' },
    beside: { type: 'string', multiple: true, default: [] },
    peer: { type: 'string', multiple: true, default: [] },
    summary: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const unknown = positionals.filter((name) => !PARTS.some((part) => part.name === name));
const settings: Settings = {
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
  connections: values.connections.split(',').map(Number),
  vaults: Number(values.vaults),
  databases: DATABASES.filter((kind) => values.database === undefined || values.database === kind),
  beside: values.beside,
  peers: PEER_NAMES.filter((name) => values.peer.includes(name)),
};
const { seconds, rounds, connections, vaults, databases, beside, peers } = settings;
const isSensible =
  databases.length > 0 &&
  peers.length === values.peer.length &&
  [seconds, rounds, ...connections, vaults].every((value) => value > 0);
if (values.help || unknown.length > 0 || !isSensible) {
  process.stdout.write(unknown.length > 0 ? `There is no part called ${unknown.join(', ')}.\n\n${HELP}` : HELP);
  process.exit(values.help ? 0 : 2);
}
if (values.summary === undefined) process.exit((await measureParts()) ? 0 : 1);
writeSummary('bench', benchSummary(JSON.parse(readFileSync(values.summary, 'utf8')) as Report));
process.exit(0);

/** Returns whether all parts passed. */
async function measureParts(): Promise<boolean> {
  const shown = {
    ...settings,
    connections: values.connections,
    databases: databases.join(),
    beside: beside.join() || null,
    peers: peers.join() || null,
  };
  const report: Report = { ...conditions(), settings: shown, parts: [] };
  const file = `${FOLDER}/${stampOf(report)}`;
  mkdirSync(FOLDER, { recursive: true });
  say(`${headOf(report)}\n`);
  const installations = new Installations();
  const failures: string[] = [];
  try {
    const chosen = PARTS.filter((part) =>
      positionals.length === 0 ? part.isExtra !== true : positionals.includes(part.name),
    );
    for (const { name, run } of chosen) {
      const started = performance.now();
      const tables = await run(installations, settings);
      const result = { part: name, seconds: (performance.now() - started) / 1000, tables };
      report.parts.push(result);
      say(markdownPart(result));
      failures.push(...tables.flatMap((table) => table.failures ?? []));
      writeFileSync(`${file}.json`, `${JSON.stringify(report, null, 2)}\n`);
      writeFileSync(`${file}.md`, markdownReport(report));
    }
  } finally {
    await installations.remove();
  }
  say(`${file}.md and ${file}.json\n`);
  for (const failure of failures) say(failure);
  return failures.length === 0;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
