import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Writes docs/terminal.svg, the picture in README.md: a first session, typed into bash beside a service that was started for it in an empty
 * folder. Run it by hand after what the service prints has changed; it needs bash, curl and jq, and ports 7400 and 7443.
 */

const root = join(import.meta.dirname, '..');
const READY_TIMEOUT_MS = 30_000;
/** The last line of what a first start says. */
const LAST_OF_WELCOME = /The API is described at .*\n/;
/** What the commands of the session use. */
const DEFINITIONS = [
  'U=http://127.0.0.1:7400   # in another terminal',
  `coffer() { printf 'Authorization: Bearer %s' "$(cat data/admin.token)" |
  curl -s -H @- -H 'Content-Type: application/json' "$@"; }`,
];
const SESSION = [
  `coffer $U/v1/vaults -d '{"name":"shop","environment":"staging"}' | jq -c '{name,environment,status}'`,
  `coffer $U/v1/vaults/shop/secrets -d '{"path":"db/password","type":"password"}' | jq -c '{path,version}'`,
  'coffer $U/v1/vaults/shop/secrets/db/password | jq -r .value',
  `coffer $U/v1/vaults/shop/secrets/db/password/rotate -d '{"reason":"first try"}' | jq -c '{status,version}'`,
  'curl -s $U/v1/vaults/shop/secrets/db/password | jq -r .error.message   # without a token',
  `coffer "$U/v1/audit?vault=shop" |
  jq -r '.entries[] | "\\(.timestamp[11:19])  \\(.actor.name)  \\(.action)  \\(.resource)"'`,
  `coffer $U/v1/audit/verify | jq -c '{valid,entries}'`,
];

const COLUMNS = 112;
const COLUMN_PX = 7.8;
const LINE_PX = 19;
const FONT_PX = 13;
const PADDING_PX = 16;
const TITLE_BAR_PX = 30;
const XML_ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
type Kind = 'typed' | 'printed';
interface Line {
  kind: Kind;
  text: string;
}
const EMPTY: Line = { kind: 'printed', text: '' };

const folder = mkdtempSync(join(tmpdir(), 'terminal-picture-'));
try {
  const lines = await recordSession();
  const file = join(root, 'docs/terminal.svg');
  writeFileSync(file, drawTerminal(lines));
  process.stdout.write(`Wrote ${file}, ${lines.length} lines. Look at it before you commit it.\n`);
} finally {
  rmSync(folder, { recursive: true });
}

async function recordSession(): Promise<Line[]> {
  const service = spawn(process.execPath, ['--disable-sigusr1', join(root, 'server/src/main.ts')], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const welcome = await readWelcome(service.stdout);
    return [...typed('npm start'), ...printed(welcome), ...playSession()];
  } finally {
    service.kill('SIGTERM');
    await once(service, 'close');
  }
}

async function readWelcome(stdout: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
  while (!LAST_OF_WELCOME.test(text)) {
    const [piece] = await once(stdout, 'data', { signal });
    text += String(piece);
  }
  return text;
}

/** Each command runs in a bash of its own, after the definitions. */
function playSession(): Line[] {
  const results = SESSION.map((command) => {
    const script = [...DEFINITIONS, command].join('\n');
    const output = execFileSync('bash', ['--norc', '-euo', 'pipefail', '-c', script], { cwd: folder });
    return [...typed(command), ...printed(output.toString())];
  });
  return [EMPTY, ...DEFINITIONS.flatMap(typed), EMPTY, ...results.flat()];
}

function typed(command: string): Line[] {
  return command.split('\n').map((text, no) => ({ kind: 'typed', text: `${no === 0 ? '$' : '>'} ${text}` }));
}

function printed(output: string): Line[] {
  return output
    .trimEnd()
    .split('\n')
    .map((text) => ({ kind: 'printed', text }));
}

function drawTerminal(lines: readonly Line[]): string {
  const tooLong = lines.find(({ text }) => text.length > COLUMNS);
  if (tooLong !== undefined) throw new Error(`This line has more than ${COLUMNS} columns: ${tooLong.text}`);
  const width = Math.ceil(COLUMNS * COLUMN_PX + 2 * PADDING_PX);
  const height = TITLE_BAR_PX + lines.length * LINE_PX + 2 * PADDING_PX;
  const rows = lines.map(({ kind, text }, no) => {
    const y = TITLE_BAR_PX + PADDING_PX + (no + 1) * LINE_PX - 5;
    // The length is given, so that columns line up whatever font the reader has.
    const length = (text.length * COLUMN_PX).toFixed(1);
    return text === ''
      ? ''
      : `<text class="${kind}" x="${PADDING_PX}" y="${y}" textLength="${length}" xml:space="preserve">${escapeXml(text)}</text>\n`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A terminal: Coffer is started, keeps a secret, rotates it, refuses a stranger and verifies its audit log.">
<style>
text { font: ${FONT_PX}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #c9d1d9 }
.typed { fill: #ffffff; font-weight: 600 }
</style>
<rect width="${width}" height="${height}" rx="10" fill="#0d1117"/>
<path d="M0 ${TITLE_BAR_PX}V10a10 10 0 0 1 10-10h${width - 20}a10 10 0 0 1 10 10v${TITLE_BAR_PX - 10}z" fill="#21262d"/>
<circle cx="20" cy="15" r="5.5" fill="#ff5f57"/><circle cx="40" cy="15" r="5.5" fill="#febc2e"/><circle cx="60" cy="15" r="5.5" fill="#28c840"/>
${rows.join('')}</svg>
`;
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => XML_ESCAPES[character] ?? character);
}
