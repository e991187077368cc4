import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APPROVAL_KINDS } from '../../server/src/kernel/endpoint/approval.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { readGuidePage } from '../support/guide-pages.ts';

const rows = new Map(
  [...readGuidePage('approvals.md').matchAll(/^\| `(\w+)` \| (.+) \| .+ \|$/gm)].map(
    ([, kind = '', what = '']) => [kind, what] as const,
  ),
);

test('the page on approvals has a row for each kind, and for nothing else', () => {
  assert.deepEqual([...rows.keys()].toSorted(), [...APPROVAL_KINDS].toSorted());
});

test('every kind is one that some endpoint may need, and none is called reserved', () => {
  for (const [kind, what] of rows) {
    assert.ok(
      DECLARATIONS.some(({ approval }) => approval === kind),
      kind,
    );
    assert.doesNotMatch(what, /reserved/, kind);
  }
});
