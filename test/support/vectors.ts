import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

const FOLDER = join(import.meta.dirname, '../../../shared/vectors');

/** Bytes that others made, read in place. Null, with the test marked as skipped, where the folder is missing. */
export function vector(t: TestContext, name: string): Buffer | null {
  const file = join(FOLDER, name);
  if (existsSync(file)) return readFileSync(file);
  t.skip(`there are no vectors beside the project: ${name} is missing`);
  return null;
}

export function nitroVector(t: TestContext): Buffer | null {
  const text = vector(t, 'nitro-attestation-document.b64');
  return text === null ? null : Buffer.from(text.toString('utf8'), 'base64');
}
