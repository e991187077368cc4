import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerReader } from './answer.ts';

const SIZED =
  'HTTP/1.1 200 OK\r\nX-Length: 99\r\ncontent-type: text/plain\r\ncontent-length: 12\r\n\r\nlength: 3\r\n\n';
const CHUNKED = 'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab0\r\n\r\n0\r\n\r\n';
const EMPTY = 'HTTP/1.1 204 No Content\r\nVary: Origin\r\n\r\n';

/** Where a reader says that an answer is whole, given it in pieces of some size. */
function endOf(text: string, size: number, reader = new AnswerReader()): number {
  for (let at = 0; at < text.length; at += size) {
    if (reader.push(Buffer.from(text.slice(at, at + size)))) return Math.min(text.length, at + size);
  }
  return -1;
}

test('an answer is whole with its last byte, in however many pieces it comes', () => {
  for (const text of [SIZED, CHUNKED, EMPTY]) {
    for (let size = 1; size <= text.length; size++) assert.equal(endOf(text, size), text.length, `${size} at a time`);
  }
});

test('one reader takes answer after answer, and knows the status of each', () => {
  const reader = new AnswerReader();
  const statuses = [CHUNKED, SIZED, EMPTY, CHUNKED].map((text) => {
    assert.equal(endOf(text, 7, reader), text.length);
    return reader.status;
  });
  assert.deepEqual(statuses, [201, 200, 204, 201]);
});

test('a header may come in a buffer that is used again', () => {
  const reader = new AnswerReader();
  const buffer = Buffer.from(SIZED.slice(0, 30));
  assert.equal(reader.push(buffer), false);
  buffer.fill(0);
  assert.equal(reader.push(Buffer.from(SIZED.slice(30))), true);
});

test('an answer of unknown length is an error, not a hang', () => {
  assert.throws(() => new AnswerReader().push(Buffer.from('HTTP/1.1 200 OK\r\nServer: x\r\n\r\n')), /how long/);
  assert.throws(() => new AnswerReader().push(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n')), /number/);
});
