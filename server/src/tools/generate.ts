import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALL_SETTINGS } from '../assembly/settings.ts';
import { nounPages } from '../features/reference/nouns.ts';
import { openApiDocument } from '../features/reference/openapi.ts';
import { endpointsMarkdown, errorsMarkdown, quotasMarkdown } from '../features/reference/reference-docs.ts';
import { declaredNames } from '../kernel/authz/declared-resources.ts';
import { NONE } from '../kernel/endpoint/declaration.ts';
import { SEAL_KINDS } from '../kernel/seals/open-provider.ts';
import { listMigrations, schemaAfter } from '../kernel/storage/migrate.ts';
import { configurationMarkdown } from '../settings/settings.ts';
import { DECLARATIONS } from './declarations.ts';
import { sealsMarkdown } from './seal-docs.ts';
import { tableTypes } from './table-types.ts';

/**
 * Generates docs/generated, the names that the console's policy editor completes, the labels by which it explains the audit log, the schema that the
 * Helm chart compares and the type of the database from the code; with `--check` it only reports differences. The files are committed so that a change
 * of the interface is seen in review, and the check reports files that are out of date.
 */

const ROOT = join(import.meta.dirname, '../../..');
const DOCS = 'docs/generated';
/** The default address instead of this machine's, so that the file is the same wherever it is generated. */
const SERVER_URL = 'http://127.0.0.1:7400';

async function generatedFiles(): Promise<Map<string, string>> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const openApi = openApiDocument(DECLARATIONS, { version, serverUrl: SERVER_URL });
  return new Map([
    [`${DOCS}/openapi.json`, `${JSON.stringify(openApi, null, 2)}\n`],
    [`${DOCS}/endpoints.md`, endpointsMarkdown(DECLARATIONS)],
    [`${DOCS}/errors.md`, errorsMarkdown()],
    [`${DOCS}/quotas.md`, quotasMarkdown()],
    [
      `${DOCS}/configuration.md`,
      `# Configuration\n\nGenerated from the code by \`npm run generate\`; do not edit.\n\n${configurationMarkdown(ALL_SETTINGS)}`,
    ],
    [`${DOCS}/seals.md`, sealsMarkdown(SEAL_KINDS)],
    ['console/src/policies/generated.ts', policyNames()],
    ['console/src/audit/generated.ts', auditNames()],
    ['deploy/helm/coffer/files/schema.yaml', await chartSchema()],
    ['server/src/assembly/tables.ts', tableTypes(join(ROOT, 'server/src'))],
  ]);
}

/** By which the chart knows whether the pods that run have to be stopped before this release starts. */
async function chartSchema(): Promise<string> {
  const migrations = listMigrations();
  const loaded = await Promise.all(migrations.map(async ({ version, load }) => ({ version, ...(await load()) })));
  const oldest = loaded.findLast(({ isAdditive }) => !isAdditive)?.version ?? 0;
  return `# Generated from the code by \`npm run generate\`; do not edit.\nschema: ${schemaAfter(migrations)}\noldest: ${oldest}\n`;
}

function policyNames(): string {
  const { actions, resources } = declaredNames();
  const list = (names: readonly string[]) => `[\n${names.map((word) => `  '${word}',\n`).join('')}]`;
  const head = '/** Generated from the code by `npm run generate`; do not edit. */\n';
  return `${head}export const ACTIONS: readonly string[] = ${list(actions)};\n\nexport const RESOURCES: readonly string[] = ${list(resources)};\n`;
}

/** What each action in the audit log records, by the title of its noun. An action of several endpoints is explained by the first. */
function auditNames(): string {
  const known = new Set<string>([NONE]);
  const groups = nounPages(DECLARATIONS).map(({ title, endpoints }) => {
    const lines = endpoints.flatMap(({ audit, summary }) => {
      if (known.has(audit)) return [];
      known.add(audit);
      return [property(audit, `'${summary}'`, 4)];
    });
    return lines.length === 0 ? '' : `  ${key(title)}: {\n${lines.join('')}  },\n`;
  });
  const head = '/** Generated from the code by `npm run generate`; do not edit. */\n';
  return `${head}export const AUDIT_WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {\n${groups.join('')}};\n`;
}

function key(name: string): string {
  return /^\w+$/.test(name) ? name : `'${name}'`;
}

/** As the formatter writes it. */
function property(name: string, text: string, indent: number): string {
  const line = `${' '.repeat(indent)}${key(name)}: ${text},`;
  return line.length <= LINE_MAX
    ? `${line}\n`
    : `${' '.repeat(indent)}${key(name)}:\n${' '.repeat(indent + 2)}${text},\n`;
}
const LINE_MAX = 120;

function committed(name: string): string | null {
  try {
    return readFileSync(join(ROOT, name), 'utf8');
  } catch {
    return null;
  }
}

function check(files: ReadonlyMap<string, string>): void {
  const different = [...files].filter(([name, text]) => committed(name) !== text).map(([name]) => name);
  if (different.length === 0) return;
  console.error(`These files differ from what the code generates: ${different.join(', ')}. Run: npm run generate`);
  process.exitCode = 1;
}

function write(files: ReadonlyMap<string, string>): void {
  mkdirSync(join(ROOT, DOCS), { recursive: true });
  for (const [name, text] of files) writeFileSync(join(ROOT, name), text);
}

const files = await generatedFiles();
if (process.argv.includes('--check')) check(files);
else write(files);
