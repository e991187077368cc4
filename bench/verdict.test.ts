import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Quantity, Sample } from './sampling.ts';
import { judge, shownVerdict } from './verdict.ts';

const STEADY = {
  rssMiB: 200,
  heapMiB: 80,
  handles: 60,
  loopDelayMs: 12,
  p50Ms: 2,
  p99Ms: 10,
  perSecond: 900,
  walMiB: 16,
  journalMiB: null,
  databaseMiB: 50,
};

/** Ten minutes, a sample every five seconds. */
function samples(change: (at: number) => Partial<Record<Quantity, number | null>> = () => ({})): Sample[] {
  return Array.from({ length: 120 }, (_, i) => ({ seconds: 5 * (i + 1), ...STEADY, ...change(5 * (i + 1)) }));
}

function growing(database: 'sqlite' | 'postgres', all: Sample[]): Quantity[] {
  return judge(database, all)
    .filter(({ isGrowing }) => isGrowing)
    .map(({ quantity }) => quantity);
}

test('what does not change is steady, on both databases', () => {
  assert.deepEqual(growing('sqlite', samples()), []);
  assert.deepEqual(growing('postgres', samples()), []);
  assert.equal(judge('sqlite', samples()).length, 4);
});

test('growth in the warm-up, and peaks, are no growth', () => {
  const warm = (at: number) => ({ rssMiB: at < 195 ? at : 200, handles: at < 195 ? at : 60 });
  assert.deepEqual(growing('sqlite', samples(warm)), []);
  const peaks = (at: number) => ({ rssMiB: at % 50 === 0 ? 400 : 200, p99Ms: at > 550 ? 900 : 10 });
  assert.deepEqual(growing('sqlite', samples(peaks)), []);
});

test('a slow leak is found in each quantity that is judged', () => {
  assert.deepEqual(
    growing(
      'sqlite',
      samples((at) => ({ rssMiB: 200 + at * 0.05 })),
    ),
    ['rssMiB'],
  );
  assert.deepEqual(
    growing(
      'sqlite',
      samples((at) => ({ handles: 60 + Math.floor(at / 100) })),
    ),
    ['handles'],
  );
  assert.deepEqual(
    growing(
      'sqlite',
      samples((at) => ({ walMiB: at * 0.1 })),
    ),
    ['walMiB'],
  );
  assert.deepEqual(
    growing(
      'sqlite',
      samples((at) => ({ p99Ms: 5 + at * 0.05 })),
    ),
    ['p99Ms'],
  );
});

test("PostgreSQL's own log is its own affair", () => {
  assert.deepEqual(
    growing(
      'postgres',
      samples((at) => ({ walMiB: at })),
    ),
    [],
  );
});

test('what was not seen is not called steady', () => {
  assert.throws(() => judge('sqlite', samples().slice(0, 2)), /too few samples/);
  assert.throws(
    () =>
      judge(
        'sqlite',
        samples(() => ({ handles: null })),
      ),
    /too few samples of handles/,
  );
  assert.deepEqual(
    growing(
      'sqlite',
      samples(() => ({ rssMiB: Number.NaN })),
    ),
    ['rssMiB'],
  );
});

test('a verdict says what grew, from where, and how much it might', () => {
  const [memory] = judge(
    'sqlite',
    samples((at) => ({ rssMiB: 100 + at })),
  );
  assert.ok(memory);
  assert.match(
    shownVerdict(memory),
    /^GROWS {3}SQLite, resident memory, MiB: 300\.0 → 700\.0, grew by 400\.0 of 25\.0 allowed$/,
  );
});
