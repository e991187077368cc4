import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { newRootKey, type RootKey } from '../../crypto/root-key.ts';
import { createLogger } from '../../observability/log.ts';
import { Metrics } from '../../observability/metrics.ts';
import { ANCHOR_FILE, Anchor } from './anchor.ts';

describe('an anchor file that several workers share', () => {
  let folder: string;
  let root: RootKey;
  let logs: string[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-anchor-'));
    root = newRootKey().root;
    logs = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const open = (key: RootKey = root) =>
    Anchor.open({
      file: join(folder, ANCHOR_FILE),
      root: key,
      isRootCertain: true,
      log: createLogger({ level: 'warn', format: 'json', stream: { write: (line) => void logs.push(line) } }),
      metrics: new Metrics(),
    });
  const head = (seq: number) => ({ seq, hash: randomBytes(32) });

  test('holds what each of them noted, and each learns what the others did', () => {
    const [a, b] = [open(), open()];
    a.note('tenant_a', head(5));
    a.note('both', head(7));
    b.note('tenant_b', head(6));
    b.note('both', head(9));
    a.save();
    b.save();
    const next = open();
    assert.deepEqual([next.seen('tenant_a')?.seq, next.seen('tenant_b')?.seq, next.seen('both')?.seq], [5, 6, 9]);
    a.save();
    assert.deepEqual([a.seen('tenant_b')?.seq, a.seen('both')?.seq], [6, 9]);
    assert.ok(a.isBehind({ tenant_id: 'both', seq: 8 }), 'one worker detects what another one has seen');
  });

  test('is written again by one whose heads another one replaced', () => {
    const [a, b] = [open(), open()];
    b.note('tenant_b', head(1));
    b.save();
    const ofB = readFileSync(join(folder, ANCHOR_FILE));
    a.note('tenant_a', head(1));
    a.save();
    // As if both had read the file before either wrote it.
    writeFileSync(join(folder, ANCHOR_FILE), ofB);
    a.save();
    assert.equal(open().seen('tenant_a')?.seq, 1);
  });

  test('never loses a head, in whatever order they note and save', () => {
    const step = fc.record({
      worker: fc.integer({ min: 0, max: 2 }),
      tenant: fc.constantFrom('x', 'y', 'z'),
      seq: fc.integer({ min: 1, max: 50 }),
      isSaved: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        rmSync(join(folder, ANCHOR_FILE), { force: true });
        const workers = [open(), open(), open()];
        const highest = new Map<string, number>();
        for (const { worker, tenant, seq, isSaved } of steps) {
          workers[worker]?.note(tenant, head(seq));
          highest.set(tenant, Math.max(seq, highest.get(tenant) ?? 0));
          if (isSaved) workers[worker]?.save();
        }
        for (const worker of workers) worker.save();
        const next = open();
        for (const [tenant, seq] of highest) assert.equal(next.seen(tenant)?.seq, seq);
      }),
      { numRuns: 30 },
    );
  });

  test('is not believed without the root key, and is written again', () => {
    const a = open();
    a.note('tenant_a', head(5));
    a.save();
    const forger = open(newRootKey().root);
    forger.note('tenant_a', head(4));
    forger.note('tenant_b', head(9));
    forger.save();
    a.save();
    assert.deepEqual([a.seen('tenant_a')?.seq, a.seen('tenant_b')], [5, undefined]);
    assert.equal(open().seen('tenant_a')?.seq, 5);
    writeFileSync(join(folder, ANCHOR_FILE), '{"heads":[');
    a.save();
    assert.equal(open().seen('tenant_a')?.seq, 5);
    assert.ok(logs.some((line) => line.includes('the audit anchor is ignored')));
  });

  test('leaves no unfinished file behind after a kill', () => {
    writeFileSync(join(folder, `${ANCHOR_FILE}.new`), 'half');
    writeFileSync(join(folder, `${ANCHOR_FILE}.0123456789ab.new`), 'half');
    writeFileSync(join(folder, 'other.new'), 'not ours');
    const a = open();
    a.note('tenant_a', head(5));
    a.save();
    assert.deepEqual(readdirSync(folder).sort(), [ANCHOR_FILE, 'other.new'].sort());
  });
});
