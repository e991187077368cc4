import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseSecretPath, RESERVED_LAST_SEGMENTS } from '../../server/src/kernel/wire/secret-path.ts';
import { refuseBadLocation } from './zero-knowledge-location.ts';

function takes(location: { vault: string; path: string }): boolean {
  try {
    refuseBadLocation(location);
    return true;
  } catch (error) {
    assert.ok(error instanceof TypeError);
    return false;
  }
}

/** Last segments reserved by the service; the library need not know them. */
const RESERVED = new RegExp(`(^|/)(${RESERVED_LAST_SEGMENTS.join('|')})$`);

test('the library and the service agree on how a path is spelled', () => {
  const characters = fc.constantFrom(...'aZ09._@+=-', '/', '/', '.', '%', ' ', '\n', 'é', ':', '~');
  const near = fc.string({ unit: characters, maxLength: 12 });
  const long = fc.tuple(fc.nat(40), fc.nat(140)).map(([count, length]) => `${`${'a'.repeat(length)}/`.repeat(count)}a`);
  fc.assert(
    fc.property(fc.oneof(near, long, fc.string()), (path) => {
      if (RESERVED.test(path)) return;
      const parsed = parseSecretPath(path);
      const isOwnSpelling = parsed.ok && parsed.path === path;
      assert.equal(takes({ vault: 'v', path }), isOwnSpelling, JSON.stringify(path));
    }),
    { numRuns: 5000 },
  );
});
