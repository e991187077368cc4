import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { pino } from 'pino';
import { until } from '../../../../test/support/until.ts';
import { Metrics } from '../observability/metrics.ts';
import type { Span } from '../observability/trace.ts';
import { TraceExporter } from './trace-exporter.ts';

const WAITING_MAX = 8192;
const BATCH_MAX = 512;

/** A collector that takes requests and says nothing until it is told to. */
async function silentCollector() {
  const held: ServerResponse[] = [];
  const state = { connections: 0, spans: 0, isAnswering: false };
  const answer = (response: ServerResponse) => response.end('{}');
  const server = createServer(async (request, response) => {
    const { resourceSpans } = JSON.parse((await buffer(request)).toString('utf8'));
    state.spans += resourceSpans[0].scopeSpans[0].spans.length;
    if (state.isAnswering) answer(response);
    else held.push(response);
  });
  server.on('connection', () => state.connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    state,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answerAll: () => {
      state.isAnswering = true;
      for (const response of held.splice(0)) answer(response);
    },
  };
}

function newExporter(url: string) {
  const metrics = new Metrics();
  const lines: { msg: string; what_to_do?: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const exporter = new TraceExporter({ url, log, metrics, version: '0', nodeId: 'node' });
  const counted = async (outcome: string) => {
    const text = await metrics.registry.metrics();
    return Number(new RegExp(`^cv_trace_spans_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  };
  return { exporter, lines, counted };
}

function spans(count: number): Span[] {
  return Array.from({ length: count }, (_, i) => ({
    traceId: 'a'.repeat(32),
    spanId: String(i).padStart(16, '0'),
    parentSpanId: '',
    name: 'span',
    kind: 'server',
    startMs: 1,
    endMs: 2,
    attributes: {},
    isError: false,
  }));
}

test('beside a silent collector so many spans wait and no more, on one connection; what comes then is dropped and counted', async () => {
  const collector = await silentCollector();
  const { exporter, counted } = newExporter(collector.url);
  exporter.add(spans(BATCH_MAX));
  await until('a batch is under way', () => collector.state.spans === BATCH_MAX);
  for (let i = 0; i < 400; i++) exporter.add(spans(50));
  assert.equal(await counted('dropped'), 20_000 - WAITING_MAX);
  assert.equal(collector.state.spans, BATCH_MAX, 'nothing more is sent');
  assert.equal(collector.state.connections, 1);

  collector.answerAll();
  await until('what waited is sent', async () => (await counted('exported')) === BATCH_MAX + WAITING_MAX);
  assert.equal(collector.state.spans, BATCH_MAX + WAITING_MAX);
  await exporter.stop();
});

test('a collector that stays silent is given up with one line, and what it did not take is not retried beside newer spans', async () => {
  const collector = await silentCollector();
  const { exporter, counted, lines } = newExporter(collector.url);
  exporter.add(spans(BATCH_MAX));
  await until('a batch is under way', () => collector.state.spans === BATCH_MAX);
  exporter.add(spans(WAITING_MAX));
  await until('it is given up', () => lines.length > 0);
  assert.equal(lines[0]?.msg, 'traces cannot be exported');
  assert.match(String(lines[0]?.what_to_do), /^Check CV_OTLP_URL/);
  assert.equal(await counted('dropped'), BATCH_MAX);
  exporter.add(spans(1));
  assert.equal(await counted('dropped'), BATCH_MAX + 1, 'the queue is full');
  const { spans: sent } = collector.state;
  await exporter.stop();
  assert.equal(collector.state.spans, sent, 'a stop does not try it again');
  assert.equal(lines.length, 1);
});
