import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json, text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { Trace, withinTrace } from '../../server/src/kernel/observability/trace.ts';
import { metricsText, seriesValue } from '../support/metric-lines.ts';
import { ok } from '../support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { addSecret, addVault, secretUrl } from '../support/vaults.ts';

const MARKER = 'MARKER-of-a-secret';
const PARENT = '00f067aa0ba902b7';
const traceId = (n: number) => `4bf92f3577b34da6a3ce929d0e0e${String(n).padStart(4, '0')}`;

interface Sent {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: object }[];
}

/** A collector that takes what it gets, unless it is told to refuse. */
class Collector {
  readonly server: Server;
  status = 200;
  answer = '{}';
  received = '';
  spans: Sent[] = [];

  constructor() {
    this.server = createServer(async (request, response) => {
      if (this.status !== 200 || request.url !== '/otlp/v1/traces') {
        await text(request);
        response.writeHead(request.url === '/otlp/v1/traces' ? this.status : 204).end();
        return;
      }
      const body = (await json(request)) as { resourceSpans: { scopeSpans: { spans: Sent[] }[] }[] };
      this.received += JSON.stringify(body);
      this.spans.push(...body.resourceSpans.flatMap((one) => one.scopeSpans.flatMap(({ spans }) => spans)));
      response.writeHead(200, { 'content-type': 'application/json' }).end(this.answer);
    });
  }

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }
}

onSqliteAtLanding('traces', (database) => {
  const collector = new Collector();
  let service: Service;
  let url: string;
  before(async () => {
    url = await collector.listen();
    const env = { CV_OTLP_URL: `${url}/otlp/`, CV_OUTBOUND_ALLOW: '127.0.0.1' };
    service = await startService(database, { env });
  });
  after(async () => {
    await service.close();
    collector.server.close();
  });

  const traced = (n: number, flags = '01') => ({ traceparent: `00-${traceId(n)}-${PARENT}-${flags}` });
  const spansOf = async (n: number): Promise<Sent[]> => {
    const own = () => collector.spans.filter((span) => span.traceId === traceId(n));
    await until(`trace ${n} arrives`, () => own().length > 0);
    return own();
  };

  test('a write is a span with its steps, below that of the caller, and without what it is about', async () => {
    const vault = await addVault(service);
    const body = { path: `team/${MARKER}`, value: MARKER };
    const answer = await service.call('POST', `/v1/vaults/${vault}/secrets`, { body, headers: traced(1) });
    assert.equal(answer.status, 201, answer.text);
    const spans = await spansOf(1);
    const root = spans.find(({ kind }) => kind === 2);
    assert.deepEqual([root?.name, root?.parentSpanId], ['POST /v1/vaults/{vault}/secrets', PARENT]);
    assert.deepEqual(root?.attributes, [
      { key: 'http.request.method', value: { stringValue: 'POST' } },
      { key: 'http.route', value: { stringValue: '/v1/vaults/{vault}/secrets' } },
      { key: 'http.response.status_code', value: { intValue: '201' } },
      { key: 'coffer.request_id', value: { stringValue: answer.headers.get('x-request-id') } },
    ]);
    const below = spans.filter((span) => span !== root);
    assert.ok(below.every(({ parentSpanId }) => parentSpanId === root?.spanId));
    const names = new Set(below.map(({ name }) => name));
    for (const name of ['authenticate', 'parse', 'authorize', 'handle', 'database']) assert.ok(names.has(name), name);
    for (const { startTimeUnixNano, endTimeUnixNano } of spans) {
      assert.match(startTimeUnixNano, /^\d{19}$/);
      assert.ok(BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano));
    }
  });

  test('a read has a span of its audit entry', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'a', { value: MARKER });
    await ok(service.call('GET', secretUrl(vault, 'a'), { headers: traced(2) }));
    assert.ok((await spansOf(2)).some(({ name }) => name === 'audit'));
  });

  test('a request without a parent has a trace of its own, and one that the caller does not want has none', async () => {
    await ok(service.call('GET', '/auth/me', { headers: traced(3, '00') }));
    await ok(service.call('GET', '/auth/me', { headers: { traceparent: `junk ${MARKER}` } }));
    await ok(service.call('GET', '/auth/me', { headers: traced(4) }));
    await spansOf(4);
    assert.ok(!collector.spans.some((span) => span.traceId === traceId(3)));
    const roots = collector.spans.filter(
      ({ name, parentSpanId }) => name === 'GET /auth/me' && parentSpanId === undefined,
    );
    assert.equal(roots.length, 1);
  });

  test('an outgoing call of a request is a span', async () => {
    const trace = Trace.begin(traced(5).traceparent);
    assert.ok(trace !== null);
    const request = { owner: 'x', url: `${url}/hook`, method: 'POST', bodyBytesMax: 100, body: MARKER } as const;
    await withinTrace(trace, () => service.app.kernel.http.send(request));
    assert.deepEqual(
      trace.end('x', {}, false).map(({ name }) => name),
      ['x', 'outgoing'],
    );
  });

  test('a collector that is away or refuses costs spans and nothing else', async () => {
    collector.status = 503;
    await ok(service.call('GET', '/auth/me', { headers: traced(6) }));
    await until('the failure is logged', () => service.logs.some((line) => line.includes('traces cannot be exported')));
    assert.match(service.logs.find((line) => line.includes('traces cannot')) ?? '', /"what_to_do":"Check CV_OTLP_URL/);
    collector.status = 200;
    await spansOf(6);
    collector.answer = JSON.stringify({ partialSuccess: { rejectedSpans: '2' } });
    await ok(service.call('GET', '/auth/me', { headers: traced(7) }));
    await spansOf(7);
    await until(
      'the rejected ones are counted',
      async () => Number(seriesValue(await metricsText(service), 'cv_trace_spans_total{outcome="rejected"}')) >= 2,
    );
    assert.ok(Number(seriesValue(await metricsText(service), 'cv_trace_spans_total{outcome="exported"}')) > 0);
  });

  test('nothing that was sent has a secret, a token or a name of one', () => {
    assert.ok(collector.received.length > 0);
    for (const word of [MARKER, service.adminToken]) assert.ok(!collector.received.includes(word));
  });
});

describe('without a collector', () => {
  test('nothing is traced', async () => {
    const service = await startService('sqlite');
    assert.equal(service.app.kernel.traces, null);
    await service.close();
  });
});
