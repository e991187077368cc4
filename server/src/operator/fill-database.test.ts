import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { loadConfig } from '../assembly/settings.ts';
import { SCHEMA_VERSION } from '../kernel/storage/schema-version.ts';
import { JOURNAL_FILE } from '../start/open-audit.ts';
import { fillDatabase, type Source } from './fill-database.ts';

describe('filling a folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-fill-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('leaves nothing but its lock if what follows the rows fails, so that the next attempt is not refused', async () => {
    const dataDir = join(folder, 'data');
    const config = loadConfig({ CV_DATA_DIR: dataDir });
    const schema = SCHEMA_VERSION;
    let wasJournalThere = false;
    const source: Source = {
      schema,
      mark: 'unfinished',
      isCheckedFirst: true,
      records: () => [
        { journalAt: 0, piece: Buffer.from('journal') },
        { counts: {}, journalBytes: 7 },
      ],
      finish: () => {
        wasJournalThere = existsSync(join(dataDir, JOURNAL_FILE));
        return Promise.reject(new Error('there is no room'));
      },
    };
    for (let attempt = 1; attempt <= 2; attempt++) {
      await assert.rejects(fillDatabase(config, source), /there is no room/);
      assert.ok(wasJournalThere);
      assert.deepEqual(readdirSync(dataDir), ['lock']);
    }
  });
});
