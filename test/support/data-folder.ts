import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Only the certificate that clients trust is for others to read. */
export function assertModes(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    assert.equal(modeOf(join(dataDir, name)), name === 'ca.pem' ? '644' : '600', name);
  }
}

export function modeOf(file: string): string {
  return (statSync(file).mode & 0o777).toString(8);
}
