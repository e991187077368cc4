import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DECLARATIONS } from './declarations.ts';
import { openApiDocument } from './features/reference/openapi.ts';
import { endpointsMarkdown, errorsMarkdown, quotasMarkdown } from './features/reference/reference-docs.ts';
import { configurationMarkdown } from './kernel/platform/settings.ts';

/**
 * Generates docs/generated from the code; with `--check` it only reports differences. The files are committed so that a change of the interface is
 * seen in review, and the check keeps them up to date.
 */

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = 'docs/generated';
/** The default address instead of this machine's, so that the file is the same wherever it is generated. */
const SERVER_URL = 'http://127.0.0.1:7400';

function generatedFiles(): Map<string, string> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const openApi = openApiDocument(DECLARATIONS, { version, serverUrl: SERVER_URL });
  return new Map([
    ['openapi.json', `${JSON.stringify(openApi, null, 2)}\n`],
    ['endpoints.md', endpointsMarkdown(DECLARATIONS)],
    ['errors.md', errorsMarkdown()],
    ['quotas.md', quotasMarkdown()],
    [
      'configuration.md',
      `# Configuration\n\nGenerated from the code by \`npm run generate\`; do not edit.\n\n${configurationMarkdown()}`,
    ],
  ]);
}

function committed(name: string): string | null {
  try {
    return readFileSync(join(ROOT, FOLDER, name), 'utf8');
  } catch {
    return null;
  }
}

function check(files: ReadonlyMap<string, string>): void {
  const different = [...files].filter(([name, text]) => committed(name) !== text).map(([name]) => `${FOLDER}/${name}`);
  if (different.length === 0) return;
  console.error(`These files differ from what the code generates: ${different.join(', ')}. Run: npm run generate`);
  process.exitCode = 1;
}

function write(files: ReadonlyMap<string, string>): void {
  mkdirSync(join(ROOT, FOLDER), { recursive: true });
  for (const [name, text] of files) writeFileSync(join(ROOT, FOLDER, name), text);
}

if (process.argv.includes('--check')) check(generatedFiles());
else write(generatedFiles());
