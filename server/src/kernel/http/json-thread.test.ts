import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CofferError } from '../base/errors.ts';
import { JsonError, parseJson } from '../wire/json.ts';
import { JsonThread, PARSED_IN_PLACE_BYTES_MAX } from './json-thread.ts';

const thread = new JsonThread();
/** The thread does not keep its process running. In the service that is the server. */
const listening = setInterval(() => {}, 1000);
after(async () => {
  clearInterval(listening);
  await thread.close();
});

/** Bytes in a buffer of their own, because the buffer is transferred to the worker. */
function bytesOf(text: string): Buffer<ArrayBuffer> {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

const filler = 'x'.repeat(PARSED_IN_PLACE_BYTES_MAX);

test('a large body means the same as it would in place', async () => {
  const texts = [
    `{"a":"${filler}","b":[1,-0,2.5e3,true,null,{"c":"é \\ud83d\\ude00"}],"constructor":{},"toString":1}`,
    `[${'"é",'.repeat(15_000)}{}]`,
    `"${'\\"'.repeat(PARSED_IN_PLACE_BYTES_MAX)}"`,
  ];
  for (const text of texts) assert.deepEqual(await thread.parse(bytesOf(text)), parseJson(Buffer.from(text)));
});

test('a large list, which the thread sends in parts, is whole and in order', async () => {
  const row = (no: number) => ({
    no,
    keys: Array.from({ length: no % 7 }, (_, i) => ({ i, text: `k${i}` })),
    none: null,
  });
  const value = {
    name: 'before',
    rows: Array.from({ length: 20_000 }, (_, no) => row(no)),
    one: [Array.from({ length: 30_000 }, (_, no) => no)],
    few: [1, 2, 3],
    empty: [],
    constructor: { nested: Array.from({ length: 20_000 }, (_, no) => String(no)) },
  };
  const parsed = await thread.parse(bytesOf(JSON.stringify(value)), 1_000_000);
  assert.deepEqual(parsed, value);
  assert.deepEqual(Object.keys(parsed as object), Object.keys(value));
});

test('what is refused in place is refused with the same text', async () => {
  const texts = [
    `{"a":"${filler}","a":1}`,
    `{"a":"${filler}","__proto__":{}}`,
    `{"a":"${filler}"`,
    `${'['.repeat(33)}"${filler}"${']'.repeat(33)}`,
    `[${'1,'.repeat(40_000)}1]`,
    `{"a":"${filler}\\ud800"}`,
    `{"a":"${filler}\u0001"}`,
  ];
  for (const text of texts) {
    let expected = '';
    assert.throws(
      () => parseJson(Buffer.from(text)),
      (error: Error) => {
        expected = error.message;
        return true;
      },
    );
    await assert.rejects(
      async () => thread.parse(bytesOf(text)),
      (error) => error instanceof JsonError && error.message === expected,
    );
  }
  const notUtf8 = bytesOf(`{"a":"${filler}"}`);
  notUtf8[100] = 0xff;
  await assert.rejects(async () => thread.parse(notUtf8), JsonError);
});

test('a small body is parsed at once, without a thread', () => {
  assert.deepEqual(thread.parse(bytesOf('{"a":1}')), { a: 1 });
  assert.throws(() => thread.parse(bytesOf('{"a":1')), JsonError);
});

test('many at once each get their own, refused ones among them', async () => {
  const results = await Promise.allSettled(
    Array.from({ length: 30 }, async (_, i) => thread.parse(bytesOf(`["${filler}",${i}${i % 3 === 0 ? '' : ']'}`))),
  );
  for (const [i, result] of results.entries()) {
    if (i % 3 === 0) assert.equal(result.status, 'rejected');
    else assert.equal((result as PromiseFulfilledResult<unknown[]>).value[1], i);
  }
});

test('other work goes on while a large body is parsed', async () => {
  const text = `"${'\\"'.repeat(6 * 1024 * 1024)}"`;
  const turnsMeanwhile = async () => {
    const body = bytesOf(text);
    let isParsing = true;
    let turns = 0;
    const turn = () => {
      turns++;
      if (isParsing) setTimeout(turn, 1);
    };
    setTimeout(turn, 1);
    await thread.parse(body);
    isParsing = false;
    return turns;
  };
  // The most of some: what else the machine does can only take turns away.
  let most = 0;
  for (let round = 0; round < 5 && most <= 5; round++) most = Math.max(most, await turnsMeanwhile());
  assert.ok(most > 5, `${most} turns`);
});

test('a thread that ends fails what it has, and the next body starts another', async () => {
  const other = new JsonThread();
  const pending = other.parse(bytesOf(`["${filler}"]`)) as Promise<unknown>;
  const failed = assert.rejects(pending, (error) => error instanceof CofferError && error.code === 'UNAVAILABLE');
  await other.close();
  await failed;
  assert.deepEqual(await other.parse(bytesOf(`["${filler}"]`)), [filler]);
  await other.close();
});
