import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DAY_MS } from '../../../kernel/base/clock.ts';
import { DirectoryDigest } from './digest.ts';
import { AHEAD_MAX_MS, COUNTER_MAX, compareStamps, isTooFarAhead, nextStamp, stampAfter } from './hybrid-clock.ts';
import { cellId, compareOperations, epochOf, isConflict, isElement, winner } from './merge.ts';
import {
  type CellKind,
  type CellValues,
  isExcessive,
  isSetKind,
  malformation,
  type Operation,
  removalText,
  stampOf,
  tagOf,
  type UnsignedOperation,
  valueText,
} from './operation.ts';
import { deltaOf, isKnown } from './vector.ts';

const REGIONS = ['ap', 'eu', 'us'] as const;
const NOW = 1_800_000_000_000;
const HASH = 'ab'.repeat(32);
const PAGE = 3;

/** A region in memory, with the merge rules of the service and a clock that may be wrong. */
class Region {
  readonly cells = new Map<string, UnsignedOperation>();
  vector = new Map<string, number>();
  #latest = { ms: 0, counter: 0 };
  #seq = 0;
  readonly name: string;
  readonly #wrongBy: number;

  constructor(name: string, wrongBy: number) {
    this.name = name;
    this.#wrongBy = wrongBy;
  }

  write<K extends CellKind>(kind: K, key: string, value: CellValues[K], at: number): void {
    const seq = ++this.#seq;
    const tag = isSetKind(kind) ? tagOf({ origin: this.name, seq }) : '';
    this.#add({ kind, key, tag, isRemoved: false, value: valueText(kind, value) }, seq, at);
  }

  removeAll(key: string, at: number): void {
    const isOwn = ({ tag }: UnsignedOperation) => tag.startsWith(`${this.name}:`);
    const seen = [...this.cells.values()].filter((cell) => cell.key === key && isElement(cell) && isOwn(cell));
    for (const { kind, tag } of seen)
      this.#add({ kind, key, tag, isRemoved: true, value: removalText(NOW) }, ++this.#seq, at);
  }

  #add(what: Pick<UnsignedOperation, 'kind' | 'key' | 'tag' | 'isRemoved' | 'value'>, seq: number, at: number): void {
    const now = at + this.#wrongBy;
    const own = nextStamp(this.#latest, now, this.name);
    this.#latest = own;
    const held = this.cells.get(cellId({ ...what, origin: this.name }));
    const { ms, counter } = held === undefined ? own : stampAfter(own, held, now);
    const operation = { ...what, origin: this.name, seq, ms, counter };
    assert.equal(malformation({ ...operation, signature: 'x' }), null);
    this.vector.set(this.name, seq);
    this.#merge(operation);
  }

  #merge(operation: UnsignedOperation): void {
    const id = cellId(operation);
    this.cells.set(id, winner(this.cells.get(id), operation));
  }

  /** Pulls one page; false if the link lost it. */
  pull(from: Region, isLost: boolean, isTwice: boolean): boolean {
    const delta = deltaOf([...from.cells.values()], from.vector, this.vector, PAGE);
    if (isLost) return false;
    for (let n = 0; n < (isTwice ? 2 : 1); n++) for (const operation of delta.operations) this.#merge(operation);
    this.vector = new Map(delta.vector);
    return delta.isComplete;
  }

  get digest(): string {
    const digest = new DirectoryDigest(0);
    for (const cell of this.cells.values()) digest.add(cell);
    return digest.toString();
  }

  get state(): [string, UnsignedOperation][] {
    return [...this.cells].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

const key = fc.constantFrom('k1', 'k2', 'k3');
const step = fc.oneof(
  fc.record({ do: fc.constant('tenant' as const), at: fc.nat(50), region: fc.nat(2), key, n: fc.nat(9) }),
  fc.record({ do: fc.constant('primary' as const), at: fc.nat(50), region: fc.nat(2), key, n: fc.nat(3) }),
  fc.record({ do: fc.constant('head' as const), at: fc.nat(50), region: fc.nat(2), key, n: fc.nat(9) }),
  fc.record({ do: fc.constant('public_key' as const), at: fc.nat(50), region: fc.nat(2), key, n: fc.nat(9) }),
  fc.record({ do: fc.constant('revoked_token' as const), at: fc.nat(50), region: fc.nat(2), key, n: fc.nat(9) }),
  fc.record({ do: fc.constant('remove' as const), at: fc.nat(50), region: fc.nat(2), key, n: fc.nat(9) }),
  fc.record({
    do: fc.constant('pull' as const),
    region: fc.nat(2),
    from: fc.nat(2),
    isLost: fc.boolean(),
    isTwice: fc.boolean(),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function play(steps: readonly Step[], wrongBy: readonly number[]): Region[] {
  const regions = REGIONS.map((name, i) => new Region(name, wrongBy[i] ?? 0));
  for (const taken of steps) {
    const region = regions[taken.region] as Region;
    if (taken.do === 'pull') {
      region.pull(regions[taken.from] as Region, taken.isLost, taken.isTwice);
      continue;
    }
    const at = NOW + taken.at;
    const { n } = taken;
    if (taken.do === 'remove') region.removeAll(taken.key, at);
    if (taken.do === 'tenant') region.write('tenant', taken.key, { name: `name-${n}` }, at);
    if (taken.do === 'primary') region.write('primary', taken.key, { epoch: n + 1, previous: null }, at);
    if (taken.do === 'head') region.write('head', taken.key, { seq: n, hash: HASH, at }, at);
    if (taken.do === 'public_key')
      region.write('public_key', taken.key, { issuer: 'urn:x', jwk: `{"n":${n}}`, verifies_until: at }, at);
    if (taken.do === 'revoked_token')
      region.write('revoked_token', taken.key, { tenant_id: 'tenant_x', expires_at: NOW + n }, at);
  }
  return regions;
}

function resync(regions: readonly Region[]): void {
  for (let round = 0; round < regions.length; round++) {
    for (const region of regions) for (const from of regions) while (!region.pull(from, false, false));
  }
}

test('random histories with losses and duplicates end in equal states, vectors and digests', () => {
  const skew = fc.array(fc.integer({ min: -300_000, max: 300_000 }), { minLength: 3, maxLength: 3 });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), skew, (steps, wrongBy) => {
      const regions = play(steps, wrongBy);
      resync(regions);
      const [first, ...others] = regions as [Region, ...Region[]];
      for (const other of others) {
        assert.deepEqual(other.state, first.state);
        assert.deepEqual([...other.vector].sort(), [...first.vector].sort());
        assert.equal(other.digest, first.digest);
      }
    }),
  );
});

test('the state is the maximum of each cell, so the order of operations and repetitions do not matter', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.infiniteStream(fc.nat()), (steps, random) => {
      const all = play(
        steps.filter((taken) => taken.do !== 'pull'),
        [0, 0, 0],
      ).flatMap((region) => [...region.cells.values()]);
      const merged = (operations: readonly UnsignedOperation[]) => {
        const cells = new Map<string, UnsignedOperation>();
        for (const one of operations) cells.set(cellId(one), winner(cells.get(cellId(one)), one));
        return [...cells].sort(([a], [b]) => (a < b ? -1 : 1));
      };
      const shuffled = [...all, ...all].map((one) => [random.next().value, one] as const).sort(([a], [b]) => a - b);
      assert.deepEqual(merged(shuffled.map(([, one]) => one)), merged(all));
    }),
  );
});

test('the order of two operations is total: only equal ones are equal, and it is transitive', () => {
  const operation = fc.record({
    origin: fc.constantFrom(...REGIONS),
    seq: fc.integer({ min: 1, max: 3 }),
    ms: fc.nat(3),
    counter: fc.nat(2),
    kind: fc.constant('primary' as const),
    key: fc.constant('k'),
    tag: fc.constant(''),
    isRemoved: fc.constant(false),
    value: fc.nat(3).map((epoch) => valueText('primary', { epoch: epoch + 1, previous: null })),
  });
  fc.assert(
    fc.property(operation, operation, operation, (a, b, c) => {
      assert.equal(Math.sign(compareOperations(a, b)), -Math.sign(compareOperations(b, a)) || 0);
      if (compareOperations(a, b) <= 0 && compareOperations(b, c) <= 0) assert.ok(compareOperations(a, c) <= 0);
      if (epochOf(a) > epochOf(b))
        assert.ok(compareOperations(a, b) > 0, 'a higher epoch wins, whatever the clock says');
      assert.equal(isConflict(a, b), epochOf(a) === epochOf(b) && a.origin !== b.origin);
      // What decides is a function of the winner: two regions are never both primary after a merge.
      assert.equal(winner(a, b).origin, winner(b, a).origin);
    }),
  );
});

test('an addition that a removal has not seen stays', () => {
  const [ap, eu] = [new Region('ap', 0), new Region('eu', 0)];
  const value = { issuer: 'urn:x', jwk: '{}', verifies_until: NOW };
  ap.write('public_key', 'k1', value, NOW);
  ap.removeAll('k1', NOW + 1);
  ap.write('public_key', 'k1', value, NOW);
  eu.write('public_key', 'k1', value, NOW);
  resync([ap, eu]);
  const elements = [...ap.cells.values()].filter(isElement);
  assert.deepEqual(elements.map(({ tag }) => tag).sort(), ['ap:3', 'eu:1']);
});

test('stamps of a region only grow, whatever its clock does, and equal times are decided by the region', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 2 }), (moves) => {
      let latest = { ms: NOW, counter: 0, region: 'eu' };
      for (const move of moves) {
        const next = nextStamp(latest, NOW + move, 'eu');
        assert.ok(compareStamps(next, latest) > 0);
        latest = next;
      }
    }),
  );
  assert.ok(compareStamps({ ms: 1, counter: 0, region: 'us' }, { ms: 1, counter: 0, region: 'eu' }) > 0);
  assert.deepEqual(nextStamp({ ms: NOW, counter: COUNTER_MAX }, NOW, 'eu'), { ms: NOW + 1, counter: 0, region: 'eu' });
  assert.equal(isTooFarAhead({ ms: NOW + AHEAD_MAX_MS }, NOW), false);
  assert.equal(isTooFarAhead({ ms: NOW + AHEAD_MAX_MS + 1 }, NOW), true);
});

test('a write replaces what its region has seen, and the clocks of others do not move that of a region', () => {
  const [ap, eu] = [new Region('ap', 50_000), new Region('eu', 0)];
  const primaryOf = (region: Region) => region.cells.get(cellId({ kind: 'primary', key: 'k1', tag: '', origin: '' }));
  ap.write('primary', 'k1', { epoch: 1, previous: null }, NOW);
  eu.pull(ap, false, false);
  eu.write('primary', 'k1', { epoch: 2, previous: 'ap' }, NOW);
  eu.write('tenant', 'k2', { name: 'other' }, NOW);
  const [first, fast] = [primaryOf(eu), primaryOf(ap)];
  assert.deepEqual([first?.origin, first?.value], ['eu', valueText('primary', { epoch: 2, previous: 'ap' })]);
  assert.ok(first !== undefined && fast !== undefined && compareStamps(stampOf(first), stampOf(fast)) > 0);
  const second = eu.cells.get(cellId({ kind: 'tenant', key: 'k2', tag: '', origin: 'eu' }));
  assert.equal(second?.ms, NOW, 'what is not about that cell keeps the time of its region');
});

test('no region replaces what another one says', () => {
  const [ap, eu] = [new Region('ap', 0), new Region('eu', 0)];
  eu.write('tenant', 'k1', { name: 'own' }, NOW);
  eu.write('revoked_token', 't1', { tenant_id: 'k1', expires_at: NOW + 1 }, NOW);
  ap.pull(eu, false, false);
  ap.write('tenant', 'k1', { name: 'other' }, NOW + 2);
  ap.write('revoked_token', 't1', { tenant_id: 'k2', expires_at: NOW + 3 }, NOW + 2);
  resync([ap, eu]);
  const said = [...ap.cells.values()].map(({ origin, value }) => `${origin} ${value}`);
  for (const name of ['own', 'other'])
    assert.ok(said.includes(`${name === 'own' ? 'eu' : 'ap'} ${valueText('tenant', { name })}`), name);
  assert.equal(said.length, 4);
});

test('an operation with a time that no region would name is found', () => {
  const told: [CellKind, object, boolean][] = [
    ['head', { seq: 1, hash: HASH, at: NOW }, false],
    ['head', { seq: 1, hash: HASH, at: Number.MAX_SAFE_INTEGER }, true],
    ['published', { at: NOW + 2 * AHEAD_MAX_MS }, true],
    ['revoked_token', { tenant_id: 'k1', expires_at: NOW + 366 * DAY_MS }, false],
    ['revoked_token', { tenant_id: 'k1', expires_at: Number.MAX_SAFE_INTEGER }, true],
    ['public_key', { issuer: 'urn:x', jwk: '{}', verifies_until: NOW + 400 * DAY_MS }, false],
    ['public_key', { issuer: 'urn:x', jwk: '{}', verifies_until: Number.MAX_SAFE_INTEGER }, true],
    ['primary', { epoch: 7, previous: null }, false],
    ['tenant', { name: 'at' }, false],
  ];
  const plain = { origin: 'eu', seq: 1, ms: NOW, counter: 0, key: 'eu', tag: '', isRemoved: false };
  for (const [kind, value, expected] of told)
    assert.equal(isExcessive({ ...plain, kind, value: valueText(kind, value as never) }), expected, kind);
  const removal = { ...plain, kind: 'public_key' as const, isRemoved: true };
  assert.equal(isExcessive({ ...removal, value: removalText(Number.MAX_SAFE_INTEGER) }), true);
  assert.equal(isExcessive({ ...removal, value: removalText(NOW) }), false);
});

test('a digest leaves out what regions delete at different times, and heads', () => {
  const [ap, eu] = [new Region('ap', 0), new Region('eu', 0)];
  ap.write('revoked_token', 'k1', { tenant_id: 'tenant_x', expires_at: NOW }, NOW);
  ap.write('head', 'k1', { seq: 1, hash: HASH, at: NOW }, NOW);
  const digestOf = (region: Region, asOf: number) => {
    const digest = new DirectoryDigest(asOf);
    for (const cell of region.cells.values()) digest.add(cell);
    return digest.toString();
  };
  assert.equal(digestOf(ap, NOW), digestOf(eu, NOW));
  assert.notEqual(digestOf(ap, NOW - 1), digestOf(eu, NOW - 1));
});

test('a delta of any size includes everything up to its vector', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.nat(5), (steps, limit) => {
      const [source] = play(steps, [0, 0, 0]) as [Region];
      const { operations, vector, isComplete } = deltaOf(
        [...source.cells.values()],
        source.vector,
        new Map(),
        limit + 1,
      );
      const included = new Set(operations.map(cellId));
      for (const cell of source.cells.values()) assert.equal(included.has(cellId(cell)), isKnown(vector, cell));
      if (isComplete) assert.deepEqual([...vector].sort(), [...source.vector].sort());
    }),
  );
});

test('a malformed operation is named', () => {
  const good: Operation = {
    origin: 'eu',
    seq: 1,
    ms: NOW,
    counter: 0,
    kind: 'tenant',
    key: 'tenant_1',
    tag: '',
    isRemoved: false,
    value: '{"name":"acme"}',
    signature: 'AA==',
  };
  assert.equal(malformation(good), null);
  assert.equal(stampOf(good).region, 'eu');
  const wrong: [Partial<Operation>, RegExp][] = [
    [{ origin: 'EU' }, /origin/],
    [{ seq: 0 }, /number/],
    [{ ms: -1 }, /number/],
    [{ counter: COUNTER_MAX + 1 }, /number/],
    [{ seq: 1.5 }, /number/],
    [{ kind: 'toString' as CellKind }, /kind/],
    [{ key: 'a b' }, /key/],
    [{ tag: 'eu:1' }, /tag/],
    [{ isRemoved: true }, /set/],
    [{ kind: 'public_key', tag: 'us:1', isRemoved: true, value: '{"expires_at":1}' }, /the region that added it/],
    [{ kind: 'public_key', tag: 'eu:1', isRemoved: true, value: '' }, /value/],
    [{ kind: 'public_key', tag: 'eu:1', isRemoved: true, value: '{"expires_at":01}' }, /value/],
    [{ kind: 'public_key', tag: 'eu:1', isRemoved: true, value: '{"expires_at":99999999999999999}' }, /value/],
    [{ value: '{"name": "acme"}' }, /value/],
    [{ value: '{"name":"acme","more":1}' }, /value/],
    [{ value: '{"name":""}' }, /value/],
    [{ value: 'null' }, /value/],
    [{ value: `{"name":"${'x'.repeat(4000)}"}` }, /value/],
    [{ kind: 'public_key', tag: 'us:1', value: '{"issuer":"a","jwk":"b","verifies_until":1}' }, /tag/],
    [{ kind: 'primary', value: '{"epoch":0,"previous":null}' }, /value/],
    [{ kind: 'primary', value: '{"epoch":1,"previous":"../x"}' }, /value/],
    [{ kind: 'primary', value: `{"epoch":${NOW / 1000 + 1},"previous":null}` }, /epoch/],
    [{ kind: 'primary', value: `{"epoch":${Number.MAX_SAFE_INTEGER},"previous":null}` }, /epoch/],
    [{ kind: 'head', value: '{"seq":1,"hash":"zz","at":1}' }, /value/],
    [{ kind: 'published', key: 'us', value: '{"at":1}' }, /its own heads/],
  ];
  for (const [change, problem] of wrong) assert.match(malformation({ ...good, ...change }) ?? '', problem);
});
