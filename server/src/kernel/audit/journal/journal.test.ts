import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { StartError } from '../../base/data-folder.ts';
import { macKeyOf } from '../../crypto/mac-key.ts';
import { JOURNAL_BYTES, JournalFile } from './journal-file.ts';
import { FRAME_BYTES_MAX, frameAt, PAGE_BYTES, PAYLOAD_BYTES_MAX, pagesOf, writeFrame } from './journal-frame.ts';
import { leftBehind, readJournal } from './journal-recovery.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-journal-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${++files}.journal`);

const key = macKeyOf(createSecretKey(randomBytes(32)), 3);
const keys = { isGenuine: async (frame: { covered: Buffer; mac: Buffer }) => key.mac(frame.covered).equals(frame.mac) };

const append = (journal: JournalFile, payload: string) =>
  new Promise<number>((resolve, reject) => {
    journal.append(payload, key, (error, seq) => (error === null ? resolve(seq) : reject(error)));
  });

/** A journal with these batches, none of which has been moved. */
async function journalOf(payloads: readonly string[], bytes = 64 * PAGE_BYTES) {
  const file = newFile();
  const journal = JournalFile.create(file, key, bytes);
  for (const payload of payloads) await append(journal, payload);
  const state = { id: journal.id, moved: 0, isOpen: true };
  const read = () => readJournal({ file, size: bytes }, state, keys);
  const waiting = async () => {
    const left = await read();
    assert.equal(left.kind, 'waiting');
    return left.kind === 'waiting' ? left.batches.map(({ payload }) => payload) : [];
  };
  return { file, journal, state, read, waiting };
}

const isRefusal = (expected: RegExp) => (error: unknown) => error instanceof StartError && expected.test(error.message);
const long = (text: string) => text.repeat(PAGE_BYTES + 17);

describe('a frame', () => {
  test('gives back what was written, and covers all of it by its MAC', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 6000 }), fc.nat(2 ** 40), (raw, seq) => {
        const payload = raw.toWellFormed();
        const bytes = Buffer.alloc(pagesOf(Buffer.byteLength(payload)) * PAGE_BYTES, 0xff);
        const id = randomBytes(16);
        assert.equal(writeFrame(bytes, { id, seq, payload }, key) * PAGE_BYTES, bytes.length);
        const frame = frameAt(bytes, 0);
        assert.ok(frame !== null);
        assert.deepEqual([frame.seq, frame.keyVersion, frame.payload.toString()], [seq, key.version, payload]);
        assert.ok(frame.id.equals(id) && key.mac(frame.covered).equals(frame.mac));
      }),
    );
  });

  test('changed in any byte is no longer genuine', async () => {
    const bytes = Buffer.alloc(PAGE_BYTES);
    writeFrame(bytes, { id: randomBytes(16), seq: 7, payload: 'payload' }, key);
    for (let at = 0; at < 68 + 'payload'.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 0x40;
      const frame = frameAt(changed, 0);
      assert.ok(frame === null || !(await keys.isGenuine(frame)), `byte ${at}`);
    }
  });

  test('that claims to be longer than the file, or longer than a frame may be, is none', () => {
    const bytes = Buffer.alloc(PAGE_BYTES);
    writeFrame(bytes, { id: randomBytes(16), seq: 7, payload: 'payload' }, key);
    bytes.writeUInt32BE(0xffff_ffff, 36);
    assert.equal(frameAt(bytes, 0), null);
    assert.equal(frameAt(bytes.subarray(0, 60), 0), null);
    assert.equal(pagesOf(PAYLOAD_BYTES_MAX) * PAGE_BYTES, FRAME_BYTES_MAX);
  });
});

describe('a journal', () => {
  test('only its owner can use it, and it takes no room before it is used', async () => {
    const { file, journal } = await journalOf([], JOURNAL_BYTES);
    const { mode, size, blocks } = statSync(file);
    assert.deepEqual([mode & 0o777, size], [0o600, JOURNAL_BYTES]);
    assert.ok(blocks * 512 <= 64 * 1024, `${blocks} blocks`);
    journal.remove();
    assert.equal(existsSync(file), false);
  });

  test('gives back its batches in order, but for those that are moved', async () => {
    const payloads = ['one', long('two'), '', 'four'];
    const { state, waiting } = await journalOf(payloads);
    for (let moved = 0; moved <= payloads.length; moved++) {
      state.moved = moved;
      assert.deepEqual(await waiting(), payloads.slice(moved));
    }
  });

  test('torn in its last batch, at any byte, gives back those before it', async () => {
    const { file, state } = await journalOf(['one', long('2'), long('3')], 6 * PAGE_BYTES);
    const whole = readFileSync(file);
    const first = 4 * PAGE_BYTES;
    assert.equal(frameAt(whole, 4)?.seq, 3);
    // The last byte differs from the one that was there before, so that the frame is torn up to its very end.
    const before = randomBytes(whole.length).fill(0xff, 5 * PAGE_BYTES);
    for (let at = first; at < first + 68 + long('3').length; at++) {
      for (const rest of [before.subarray(at), Buffer.alloc(whole.length - at), Buffer.alloc(0)]) {
        const torn = Buffer.concat([whole.subarray(0, at), rest]);
        const left = await leftBehind({ file, size: torn.length }, torn, state, keys);
        assert.ok(left.kind === 'waiting');
        assert.deepEqual(
          left.batches.map(({ seq }) => seq),
          [1, 2],
          `torn at ${at}`,
        );
      }
    }
  });

  test('with a batch changed or blotted out before a later one is refused, whichever byte it was', async () => {
    const { file, read } = await journalOf(['one', long('2'), 'three']);
    const whole = readFileSync(file);
    const start = 2 * PAGE_BYTES;
    await fc.assert(
      fc.asyncProperty(fc.nat(68 + long('2').length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const bytes = Buffer.from(whole);
        bytes[start + at] = (bytes[start + at] as number) ^ change;
        writeFileSync(file, bytes);
        await assert.rejects(read(), isRefusal(/lacks batch 2/));
      }),
      { numRuns: 60 },
    );
    writeFileSync(file, whole);
    writeFileSync(
      file,
      Buffer.concat([whole.subarray(0, start), Buffer.alloc(PAGE_BYTES), whole.subarray(start + PAGE_BYTES)]),
    );
    await assert.rejects(read(), isRefusal(/lacks batch 2/));
  });

  test('of another id, or with a first page that is not genuine, is refused', async () => {
    const { file, state, read } = await journalOf(['one']);
    const other = await journalOf(['one']);
    const whole = readFileSync(file);
    writeFileSync(file, readFileSync(other.file));
    await assert.rejects(read(), isRefusal(/does not match this database/));
    // A genuine batch of another journal does not fit into this one.
    writeFileSync(
      file,
      Buffer.concat([whole.subarray(0, 2 * PAGE_BYTES), readFileSync(other.file).subarray(PAGE_BYTES)]),
    );
    const left = await read();
    assert.deepEqual(left.kind === 'waiting' && left.batches.map(({ seq }) => seq), [1]);
    writeFileSync(file, Buffer.concat([Buffer.alloc(PAGE_BYTES), whole.subarray(PAGE_BYTES)]));
    await assert.rejects(read(), isRefusal(/does not match this database/));
    await assert.rejects(readJournal({ file, size: 0 }, null, keys), isRefusal(/does not match/));
    await assert.rejects(
      readJournal({ file, size: 0 }, { ...state, isOpen: false }, keys),
      isRefusal(/does not match/),
    );
    for (const bytes of [100, JOURNAL_BYTES + 1]) {
      truncateSync(file, bytes);
      await assert.rejects(read(), isRefusal(/does not match this database/));
    }
  });

  test('that was cut off is refused: nobody knows what it held', async () => {
    const { file, read, waiting } = await journalOf(['one', 'two']);
    const whole = readFileSync(file);
    for (const bytes of [PAGE_BYTES, 2 * PAGE_BYTES, whole.length - 1]) {
      truncateSync(file, bytes);
      await assert.rejects(read(), isRefusal(/was truncated.*move the file out of the folder/));
    }
    writeFileSync(file, whole);
    assert.deepEqual(await waiting(), ['one', 'two']);
  });

  test('that a process left while it made it, or after it was done with it, is nothing', async () => {
    const { file, state } = await journalOf([]);
    assert.deepEqual(await readJournal({ file, size: 0 }, null, keys), { kind: 'nothing' });
    assert.deepEqual(await readJournal({ file, size: 0 }, { ...state, id: randomBytes(16), isOpen: false }, keys), {
      kind: 'nothing',
    });
    truncateSync(file, 100);
    assert.deepEqual(await readJournal({ file, size: 0 }, null, keys), { kind: 'nothing' });
    const done = await journalOf(['moved']);
    assert.deepEqual(await readJournal({ file: done.file, size: 0 }, { ...done.state, isOpen: false }, keys), {
      kind: 'nothing',
    });
    rmSync(done.file);
    assert.deepEqual(await readJournal({ file: done.file, size: 0 }, { ...done.state, isOpen: false }, keys), {
      kind: 'nothing',
    });
    assert.deepEqual(await done.read(), { kind: 'missing' });
  });

  test('never overwrites what is not moved, however batches come and go', async () => {
    const step = fc.oneof(
      fc.record({ pages: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ move: fc.integer({ min: 1, max: 6 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        const { file, journal, state, waiting } = await journalOf([], 24 * PAGE_BYTES);
        const expected: string[] = [];
        for (const [i, todo] of steps.entries()) {
          if ('move' in todo) {
            const count = Math.min(todo.move, expected.length);
            expected.splice(0, count);
            state.moved += count;
            journal.release(state.moved);
          } else {
            const payload = `${i}:`.padEnd((todo.pages - 1) * PAGE_BYTES + 100, String(i));
            if (journal.hasRoom(payload.length)) {
              await append(journal, payload);
              expected.push(payload);
            } else assert.ok(expected.length > 0, 'an empty journal has room');
          }
          assert.deepEqual(await waiting(), expected);
        }
        rmSync(file);
      }),
      { numRuns: 25 },
    );
  });
});
