import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { SCHEMA_VERSION } from '../../server/src/kernel/storage/schema-version.ts';

const ROOT = join(import.meta.dirname, '../..');
const PARTS = ['server', 'client', 'detection', 'cli', 'console', 'docs', 'package.json'];
export const NEXT_RELEASE = '99.0.0';

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** The release after this one, in a folder of its own: the same program with another version and one more migration. */
export function nextRelease({ isAdditive }: { isAdditive: boolean }): { root: string; schema: number } {
  const root = mkdtempSync(join(tmpdir(), 'coffer-next-release-'));
  folders.push(root);
  for (const part of PARTS) cpSync(join(ROOT, part), join(root, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  const manifest = join(root, 'server/package.json');
  const known = JSON.parse(readFileSync(manifest, 'utf8')) as object;
  writeFileSync(manifest, JSON.stringify({ ...known, version: NEXT_RELEASE }));
  const schema = SCHEMA_VERSION + 1;
  writeFileSync(
    join(root, `server/migrations/${String(schema).padStart(4, '0')}-next-release.ts`),
    `${isAdditive ? 'export const isAdditive = true;\n' : ''}
/** What the next release needs. */
export async function up(schema: { createTable(name: string): any }, { text }: { text: any }): Promise<void> {
  await schema.createTable('of_the_next_release').addColumn('a', text).execute();
}
`,
  );
  return { root, schema };
}
