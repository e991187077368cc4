import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { Installation, rekeyAgain } from '../support/interrupted-rekey.ts';
import { onBothDatabases } from '../support/service.ts';

onBothDatabases('a rekey with a key file that ends before any of its steps', (kind) => {
  const installation = new Installation(kind);
  before(() => installation.make());

  test('leaves everything open, and the next one finishes', async (t) => {
    await installation.noteSteps();
    let replaced = 0;
    const { ended, checked } = await installation.endAtEach(async (place) => {
      const file = join(place.dataDir, 'root.key');
      const keyNow = () => readFileSync(file, 'utf8');
      const old = keyNow();
      await installation.assertWhole(place);
      const used = keyNow();
      if (used !== old) replaced++;
      await rekeyAgain(place);
      assert.ok(![old, used].includes(keyNow()), 'the next one made another key');
      const left = readdirSync(place.dataDir).filter((name) => name.includes('key'));
      assert.deepEqual(left, ['root.key'], 'and left no other around');
      await installation.assertWhole(place);
    });
    assert.ok(replaced > 0 && replaced < checked, 'some ended before the commit, some after');
    t.diagnostic(`all ${ended} steps left ${checked} different states; in ${replaced} the next start changed the key`);
  });
});
