import assert from 'node:assert/strict';
import { createCipheriv, createSecretKey, hash, randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { StartError } from '../kernel/base/data-folder.ts';
import { seal } from '../kernel/crypto/sealing.ts';
import { BackupReader, BackupWriter, lineOf } from './backup-format.ts';
import { rangesOf, readIndex, writeIndex } from './backup-index.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-backup-format-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const root = createSecretKey(randomBytes(32));
const header = {
  kind: 'sqlite',
  schema: 1,
  installation_id: '0123456789abcdef0123456789abcdef',
  root_key_id: '0123456789abcdef',
  root_key_salt: 'c2FsdCBvZiAxNiBieXRlcw==',
  made_at: '2026-11-17T00:00:00.000Z',
} as const;

function written(name: string, records: readonly unknown[]): string {
  const file = join(folder, name);
  const fd = openSync(file, 'wx');
  const writer = new BackupWriter(fd, header, root);
  for (const record of records) writer.write(lineOf(record));
  writer.finish();
  closeSync(fd);
  return file;
}

function read(file: string): unknown[] {
  const reader = new BackupReader(file);
  const records = [...reader.records(root)];
  reader.close();
  return records;
}

test('what was written is read, also over many chunks, and takes less room', () => {
  const records = Array.from({ length: 3000 }, (_, i) => ['table', { i, text: 'the same again, '.repeat(60) }]);
  const file = written('many', records);
  assert.deepEqual(read(file), records);
  assert.ok(statSync(file).size < JSON.stringify(records).length / 10);
});

test('what does not compress is written too', () => {
  const records = Array.from({ length: 40 }, () => ['table', { bytes: randomBytes(60_000).toString('latin1') }]);
  assert.deepEqual(read(written('random', records)), records);
});

test('a backup of an earlier release, whose chunks are not compressed, is read', () => {
  const [key, iv] = [randomBytes(32), Buffer.alloc(12)];
  iv[11] = 1;
  const wrapped = seal(root, 0, { tenantId: 'system', table: 'backup', row: 'coffer-backup 1' }, key);
  const line = `${JSON.stringify({ magic: 'coffer-backup 1', ...header, wrapped_key: wrapped.toString('base64') })}\n`;
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: 16 });
  cipher.setAAD(hash('sha256', line, 'buffer'));
  const body = Buffer.concat([cipher.update('["table",{"a":1}]\n'), cipher.final()]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  const file = join(folder, 'earlier');
  writeFileSync(file, Buffer.concat([Buffer.from(line), length, cipher.getAuthTag(), body]));
  assert.deepEqual(read(file), [['table', { a: 1 }]]);
});

test('the index is read without the rows, and only from a file that has all its chunks', () => {
  const file = join(folder, 'indexed');
  const fd = openSync(file, 'wx');
  const writer = new BackupWriter(fd, header, root);
  for (let n = 0; n < 2000; n++) writer.write(lineOf(['table', { n, text: randomBytes(600).toString('base64') }]));
  const index = {
    blocks: Array.from({ length: 2500 }, (_, n) => ({ rows: n, digest: randomBytes(32).toString('base64') })),
    unchanged: rangesOf([1, 2, 3, 7, 9, 10]),
  };
  writeIndex(writer, index, (indexPiece) => ['#end', { index_piece: indexPiece }]);
  closeSync(fd);
  const indexIn = (of: string) => {
    const reader = new BackupReader(of);
    try {
      return readIndex(reader, root);
    } finally {
      reader.close();
    }
  };
  assert.deepEqual(index.unchanged, [
    [1, 3],
    [7, 7],
    [9, 10],
  ]);
  assert.deepEqual(indexIn(file), index);
  const bytes = readFileSync(file);
  for (const cut of [1, 100, 50_000]) {
    writeFileSync(`${file}-cut`, bytes.subarray(0, -cut));
    assert.throws(() => indexIn(`${file}-cut`), StartError);
  }
  const other = written('unindexed', [['#end', { index_piece: 5 }]]);
  assert.throws(() => indexIn(other), StartError, 'a chunk that is not there');
});

test('a version that this release does not know is refused', () => {
  const file = join(folder, 'other');
  writeFileSync(file, `${JSON.stringify({ magic: 'coffer-backup 4', ...header, wrapped_key: '' })}\n`);
  assert.throws(() => new BackupReader(file), StartError);
});

test('a header that has another form is refused, and nothing of it is used or shown', () => {
  const file = written('form', [1]);
  const bytes = readFileSync(file);
  const end = bytes.indexOf('\n');
  const original = JSON.parse(bytes.toString('utf8', 0, end));
  const changes: object[] = [
    { made_at: '\u001b[2J\u001b[31m2026' },
    { root_key_id: '\u001b]0;title\u0007' },
    { root_key_salt: { length: 1_000_000_000 } },
    { root_key_salt: null },
    { wrapped_key: null },
    { wrapped_key: 5 },
    { schema: '1' },
    { base: { made_at: '../../etc/passwd', digest: 'x' } },
  ];
  for (const [no, change] of changes.entries()) {
    const changed = join(folder, `form-${no}`);
    const head = JSON.stringify({ ...original, ...change });
    writeFileSync(changed, Buffer.concat([Buffer.from(head), bytes.subarray(end)]));
    const refused = (error: Error) =>
      error instanceof StartError && /^This file is not a backup made by/.test(error.message);
    assert.throws(() => new BackupReader(changed), refused, head);
  }
});
