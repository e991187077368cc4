import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseTraceparent, Trace } from './trace.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

test('the example of the standard is read', () => {
  const parent = { traceId: TRACE, parentSpanId: PARENT };
  assert.deepEqual(parseTraceparent(`00-${TRACE}-${PARENT}-01`), { ...parent, isSampled: true });
  assert.deepEqual(parseTraceparent(`00-${TRACE}-${PARENT}-00`), { ...parent, isSampled: false });
  assert.deepEqual(parseTraceparent(`cc-${TRACE}-${PARENT}-01-what-comes`), { ...parent, isSampled: true });
});

test('what is not one of the standard starts a new trace', () => {
  const wrong = [
    undefined,
    '',
    `00-${TRACE}-${PARENT}`,
    `00-${TRACE}-${PARENT}-01-more`,
    `ff-${TRACE}-${PARENT}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
  ];
  for (const header of wrong) {
    assert.equal(parseTraceparent(header), null, String(header));
    assert.ok(Trace.begin(header) !== null);
  }
  fc.assert(
    fc.property(fc.string(), (header) => {
      const parsed = parseTraceparent(header);
      assert.ok(parsed === null || header.includes(parsed.traceId));
    }),
  );
});

test('a trace that the caller does not want is not made', () => {
  assert.equal(Trace.begin(`00-${TRACE}-${PARENT}-00`), null);
});

test('steps follow each other below the span of the request, which is below that of the caller', () => {
  const trace = Trace.begin(`00-${TRACE}-${PARENT}-01`);
  trace?.step('authenticate');
  trace?.step('handle');
  const end = trace?.child('database');
  end?.(true);
  end?.();
  const spans = trace?.end('GET /x', { a: 1 }, false) ?? [];
  const [root] = spans;
  assert.deepEqual(
    spans.map(({ name, isError }) => [name, isError]),
    [
      ['GET /x', false],
      ['authenticate', false],
      ['database', true],
      ['handle', false],
    ],
  );
  assert.deepEqual([root?.traceId, root?.parentSpanId], [TRACE, PARENT]);
  for (const { traceId, parentSpanId, startMs, endMs } of spans.slice(1)) {
    assert.deepEqual([traceId, parentSpanId], [TRACE, root?.spanId]);
    assert.ok(startMs <= endMs);
  }
  assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
});

test('a request with very many statements has a bounded number of spans', () => {
  const trace = Trace.begin(undefined);
  for (let i = 0; i < 10_000; i++) trace?.child('database')();
  assert.equal(trace?.end('GET /x', {}, false).length, 65);
});
