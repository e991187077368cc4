import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DigestTable } from './digest-table.ts';
import { rowDigest } from './row-text.ts';

test('knows of each row what was said of it last, as a map would', () => {
  const change = fc.record({ name: fc.integer({ min: 0, max: 400 }), state: fc.integer({ min: 0, max: 3 }) });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 3000 }), (changes) => {
      const table = new DigestTable();
      const map = new Map<string, string | null>();
      for (const { name, state } of changes) {
        const digest = state === 0 ? null : rowDigest(String(state));
        table.set(`row ${name}`, digest);
        map.set(`row ${name}`, digest);
      }
      assert.equal(table.missed, [...map.values()].filter((digest) => digest !== null).length);
      for (let name = 0; name <= 400; name++) {
        const known = map.get(`row ${name}`);
        const expected = known === undefined ? 'unknown' : known === null ? 'deleted' : 'same';
        assert.equal(table.isMissed(`row ${name}`), expected === 'same');
        assert.equal(table.compare(`row ${name}`, known ?? rowDigest('x')), expected);
        if (known) assert.equal(table.compare(`row ${name}`, rowDigest('another')), 'other');
      }
      assert.equal(table.missed, 0);
    }),
    { numRuns: 20 },
  );
});
