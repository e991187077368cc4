import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { inBackground } from './background-share.ts';

function compute(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

let isBusy = false;
/** Like requests that arrive without a pause. */
function fillTheLoop(): void {
  isBusy = true;
  const turn = () => {
    compute(2);
    if (isBusy) setImmediate(turn);
  };
  turn();
}
function restore(): void {
  isBusy = false;
}

const PIECE_MS = 4;
const PIECES = 8;

async function timeOfPieces(): Promise<number> {
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: PIECES }, () => inBackground('t', async () => compute(PIECE_MS))));
  return performance.now() - startedAt;
}

describe('background work', () => {
  afterEach(restore);

  test('gets a twentieth of a busy event loop, and what it wants of an idle one', async () => {
    const idle = await timeOfPieces();
    fillTheLoop();
    const busy = await timeOfPieces();
    assert.ok(busy > 10 * PIECE_MS * PIECES, `${busy} ms for ${PIECES} pieces of ${PIECE_MS} ms`);
    assert.ok(busy > 2 * idle, `${busy} and ${idle} ms`);
  });

  test('is done one piece after another, and tenants take turns', async () => {
    const order: string[] = [];
    const piece = (tenant: string, no: number) =>
      inBackground(tenant, async () => {
        order.push(`${tenant}${no} begins`);
        await new Promise((resolve) => setImmediate(resolve));
        order.push(`${tenant}${no} ends`);
      });
    const allWait = Promise.withResolvers<void>();
    const first = inBackground('c', () => allWait.promise);
    const pieces = [piece('a', 1), piece('a', 2), piece('a', 3), piece('b', 1)];
    allWait.resolve();
    await Promise.all([first, ...pieces]);
    assert.deepEqual(
      order,
      ['a1', 'b1', 'a2', 'a3'].flatMap((name) => [`${name} begins`, `${name} ends`]),
    );
  });

  test('a piece that fails fails for its caller alone', async () => {
    const failing = inBackground('a', async () => {
      throw new Error('failed');
    });
    const next = inBackground('a', async () => 'done');
    await assert.rejects(failing, /failed/);
    assert.equal(await next, 'done');
  });
});
