import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

const FOLDER = join(import.meta.dirname, '../../../shared/vectors');

/**
 * Test vectors made by others stay beside the project, in `../shared/vectors`, and are read there. Where they are missing the test says so and is
 * skipped: it never passes for want of them.
 */
export function outsideVectors<T>(context: TestContext, name: string): T | null {
  const file = join(FOLDER, name);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as T;
  context.skip(`${name} is not in ../shared/vectors`);
  return null;
}
