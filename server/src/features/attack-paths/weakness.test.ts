import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readGuidePage } from '../../../../test/support/guide-pages.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import type { ConnectionRow } from '../app-connections/storage/index.ts';
import type { FederationRow } from '../federations/index.ts';
import type { Grant } from '../risk/index.ts';
import type { TokenRow } from '../tokens/storage/index.ts';
import type { UserRow } from '../users/storage/index.ts';
import type { MethodRow } from '../workload-identity/index.ts';
import {
  connectionWeakness,
  federationWeakness,
  grantWeakness,
  passwordWeakness,
  tokenWeakness,
  WEAKNESS,
  workloadWeakness,
} from './weakness.ts';
import { Worst } from './worst-paths.ts';

const NOW = 1_000 * DAY_MS;
/** Only what a weakness depends on. */
const token = (days: number, dpop_jkt: string | null = null) =>
  ({ created_at: NOW, expires_at: NOW + days * DAY_MS, dpop_jkt }) as TokenRow;
const connection = (more: Partial<ConnectionRow>) =>
  ({ mtls_required: 0, require_dpop: 0, ip_allowlist: null, secret_made_at: NOW, ...more }) as ConnectionRow;
const federation = (subject_pattern: string, claims: object = {}) =>
  ({ subject_pattern, claims: JSON.stringify(claims) }) as FederationRow;

const rows: [what: string, found: { weakness: number } | null, weakness: number | null][] = [
  ['a password alone', passwordWeakness({ password_hash: 'x' } as UserRow, false), 80],
  ['a password with a second factor', passwordWeakness({ password_hash: 'x' } as UserRow, true), 30],
  ['no password', passwordWeakness({ password_hash: '' } as UserRow, false), null],
  ['a token for a year, from anywhere, without a factor', tokenWeakness(token(365), [{}], false), 90],
  ['a token for 30 days from some addresses', tokenWeakness(token(30), [{ ip_allowlist: ['10.0.0.0/8'] }], true), 40],
  ['a token whose parent has an address list', tokenWeakness(token(30), [{ ip_allowlist: [] }, {}], true), 40],
  ['a token bound to a key', tokenWeakness(token(365, 'key'), [], false), 20],
  ['a client secret from anywhere', connectionWeakness(connection({}), NOW), 70],
  ['an old client secret', connectionWeakness(connection({ secret_made_at: NOW - 366 * DAY_MS }), NOW), 85],
  ['a client secret from one address', connectionWeakness(connection({ ip_allowlist: '["10.0.0.1"]' }), NOW), 50],
  ['a client secret with DPoP', connectionWeakness(connection({ require_dpop: 1 }), NOW), 30],
  ['a certificate', connectionWeakness(connection({ mtls_required: 1 }), NOW), 25],
  ['a certificate with DPoP', connectionWeakness(connection({ mtls_required: 1, require_dpop: 1 }), NOW), 10],
  ['a pipeline by its exact subject and claims', federationWeakness(federation('repo:a/b:ref:main', { x: 'y' })), 20],
  ['a pipeline by a pattern', federationWeakness(federation('repo:a/*:ref:main', { x: 'y' })), 40],
  ['a pipeline by a pattern that crosses', federationWeakness(federation('repo:a/**')), 75],
  ['a workload by name', workloadWeakness({ config: '{"allowed":["shop"]}' } as MethodRow), 20],
  ['a workload by any name', workloadWeakness({ config: '{"allowed":["shop-.*"]}' } as MethodRow), 50],
];

describe('the weakness of a credential', () => {
  for (const [what, found, weakness] of rows) {
    test(what, () => assert.equal(found?.weakness ?? null, weakness));
  }

  test('is at most 100, with every reason', () => {
    for (const [, found] of rows) assert.ok(found === null || (found.weakness > 0 && found.weakness <= 100));
    const { why } = tokenWeakness(token(365), [], false);
    assert.match(why, /more than 90 days, usable from any address, its owner has no second factor/);
  });
});

describe('the weakness of a grant', () => {
  const grant = (kind: Grant['kind'], more: Partial<Grant> = {}): Grant => ({
    kind,
    id: 'x',
    name: 'x',
    policies: [],
    memberships: [],
    reachesAllPaths: false,
    ...more,
  });
  const member = (added_at: number, reviewed_at: number | null) =>
    grant('membership', {
      memberships: [
        { vault: 'other', role: 'reader', principal_id: 'u', added_at: 0, reviewed_at: null },
        { vault: 'app', role: 'reader', principal_id: 'u', added_at, reviewed_at },
      ],
    });
  const cases: [what: string, grant: Grant, weakness: number][] = [
    ['a new membership', member(NOW, null), WEAKNESS.membership],
    ['an old membership', member(NOW - 91 * DAY_MS, null), WEAKNESS.membership_unreviewed],
    ['a reviewed membership', member(NOW - 91 * DAY_MS, NOW - 90 * DAY_MS), WEAKNESS.membership],
    ['a role', grant('role'), WEAKNESS.role],
    ['a group', grant('group'), WEAKNESS.group],
    ['a policy', grant('policy'), WEAKNESS.policy],
    ['a connection', grant('connection'), WEAKNESS.connection],
    ['a connection with all paths', grant('connection', { reachesAllPaths: true }), WEAKNESS.connection_all_paths],
  ];
  for (const [what, one, weakness] of cases) {
    test(what, () => assert.equal(grantWeakness(one, 'app', NOW).weakness, weakness));
  }
});

test('the guide has the weakness of every link', () => {
  const rows = readGuidePage('risk.md').matchAll(/^\| (?:… )?[a-z][^|]* \| (\+?\d+) \|$/gm);
  const sorted = (numbers: Iterable<number>) => [...numbers].sort((a, b) => a - b);
  assert.deepEqual(sorted([...rows].map(([, points]) => Number(points))), sorted(Object.values(WEAKNESS)));
});

describe('the worst of many', () => {
  const item = (score: number, id: string) => ({ score, id });

  test('are sorted by score, then by id, and no more than so many', () => {
    const worst = new Worst<{ score: number; id: string }>(3);
    for (const [score, id] of [
      [10, 'c'],
      [30, 'a'],
      [20, 'b'],
      [20, 'a2'],
      [5, 'z'],
    ] as const) {
      worst.add(item(score, id));
    }
    assert.deepEqual(worst.items, [item(30, 'a'), item(20, 'a2'), item(20, 'b')]);
    assert.deepEqual([worst.accepts(20), worst.accepts(21)], [false, true]);
  });

  test('hold nothing twice, and nothing without a score', () => {
    const worst = new Worst<{ score: number; id: string }>(3);
    for (const score of [0, 7, 7]) worst.add(item(score, 'same'));
    assert.deepEqual(worst.items, [item(7, 'same')]);
  });
});
