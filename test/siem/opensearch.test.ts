import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ok } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { OpenSearchNode } from './opensearch-node.ts';

/** Exporters to a real OpenSearch: it gets every entry, once, also when it is killed, refuses, or is sent everything again. */

const EXPORTERS = '/v1/audit/exporters';
const FORMATS = ['native', 'ecs', 'ocsf'] as const;
const HOSTILE = 'a"b\'c\\d]e|f=g 漢𝔘é {"create":{}} forged';
const SENT_TIMEOUT_MS = 60_000;

const node = await OpenSearchNode.start();
const skip = typeof node === 'string' ? node : false;
const opensearch = node as OpenSearchNode;
after(async () => {
  if (typeof node !== 'string') await node.close();
});

async function record(service: Service, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await ok(service.call('GET', '/v1/groups', { headers: { 'user-agent': `${encodeURIComponent(HOSTILE)} ${i}` } }));
  }
}

/** Waits until the exporter has handled the newest entry, and returns it as shown. */
// biome-ignore lint/suspicious/noExplicitAny: as answered
async function untilSent(service: Service, id: string): Promise<any> {
  const { entries } = await ok(service.call('GET', '/v1/audit?limit=1'));
  const deadline = performance.now() + SENT_TIMEOUT_MS;
  for (;;) {
    const shown = await ok(service.call('GET', `${EXPORTERS}/${id}`));
    if (shown.cursor >= entries[0].seq) return shown;
    assert.ok(performance.now() < deadline, `it does not arrive: ${JSON.stringify(shown)}`);
    service.clock.advance(10_000);
    await sleep(200);
  }
}

async function stored(index: string): Promise<Map<string, Record<string, unknown>>> {
  await opensearch.call('POST', `/${index}/_refresh`);
  const { hits } = await opensearch.call('GET', `/${index}/_search?size=10000`);
  // biome-ignore lint/suspicious/noExplicitAny: as answered
  return new Map(hits.hits.map((hit: any) => [hit._id, hit._source]));
}

onBothDatabases('OpenSearch', (database) => {
  const withExporter = async (
    index: string,
    // biome-ignore lint/suspicious/noExplicitAny: as answered
    use: (service: Service, exporter: any) => Promise<void>,
    format = 'ecs',
  ) => {
    const service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
    try {
      const endpoint = `${opensearch.url}/${index}`;
      const credentials = { username: 'u', password: 'not checked here' };
      const body = { name: index, type: 'elastic', format, endpoint, credentials };
      await use(service, await ok(service.call('POST', EXPORTERS, { body }), 201));
    } finally {
      await service.close();
    }
  };

  for (const format of FORMATS) {
    test(`stores every entry once, as ${format}, also if everything is sent again`, { skip }, async () => {
      const index = `all-${database}-${format}`;
      const use = async (service: Service, exporter: { id: string; cursor: number }) => {
        await record(service, 30);
        await ok(service.call('POST', '/v1/groups', { body: { name: 'hostile', description: HOSTILE } }), 201);
        const shown = await untilSent(service, exporter.id);
        assert.deepEqual([shown.rejected, shown.skipped], [0, 0], JSON.stringify(shown.losses));
        const before = await stored(index);
        const { entries } = await ok(service.call('GET', '/v1/audit?limit=1000'));
        for (const { id, seq } of entries) {
          if (seq > exporter.cursor && seq <= shown.cursor) assert.ok(before.has(id), `${seq} is missing`);
        }
        await ok(
          service.call('POST', `${EXPORTERS}/${exporter.id}/replay`, { body: { from: '2000-01-01T00:00:00Z' } }),
        );
        await untilSent(service, exporter.id);
        const after = await stored(index);
        for (const [id, document] of before) assert.deepEqual(after.get(id), document);
      };
      await withExporter(index, use, format);
    });
  }

  test('gets what happened while it was down', { skip }, async () => {
    const index = `down-${database}`;
    await withExporter(index, async (service, exporter) => {
      await record(service, 5);
      await untilSent(service, exporter.id);
      await opensearch.kill();
      await record(service, 20);
      service.clock.advance(10_000);
      await sleep(500);
      await opensearch.restart();
      service.clock.advance(10 * 60_000);
      const shown = await untilSent(service, exporter.id);
      assert.deepEqual([shown.rejected, shown.skipped], [0, 0]);
      const documents = await stored(index);
      const { entries } = await ok(service.call('GET', '/v1/audit?limit=1000'));
      const missing = entries.filter(
        ({ id, seq }: { id: string; seq: number }) =>
          seq > exporter.cursor && seq <= shown.cursor && !documents.has(id),
      );
      assert.deepEqual(missing, []);
    });
  });

  test('keeps nothing that does not fit its mapping, and the exporter tells which', { skip }, async () => {
    const index = `strict-${database}`;
    // A number is demanded where ECS has a text.
    const mappings = { properties: { user_agent: { properties: { original: { type: 'integer' } } } } };
    await opensearch.call('PUT', `/${index}`, { mappings });
    await withExporter(index, async (service, exporter) => {
      await record(service, 3);
      const shown = await untilSent(service, exporter.id);
      assert.ok(shown.rejected >= 3, JSON.stringify(shown));
      assert.match(shown.losses[0].reason, /^400 mapper_parsing_exception/);
    });
  });

  test('that may not be written to loses nothing: the exporter waits until it may', { skip }, async () => {
    const index = `blocked-${database}`;
    await opensearch.call('PUT', `/${index}`, { settings: { 'index.blocks.write': true } });
    await withExporter(index, async (service, exporter) => {
      await record(service, 3);
      const deadline = performance.now() + SENT_TIMEOUT_MS;
      let shown = exporter;
      while (shown.last_error === null) {
        assert.ok(performance.now() < deadline, JSON.stringify(shown));
        service.clock.advance(10_000);
        await sleep(200);
        shown = await ok(service.call('GET', `${EXPORTERS}/${exporter.id}`));
      }
      assert.equal(shown.rejected, 0);
      await opensearch.call('PUT', `/${index}/_settings`, { 'index.blocks.write': false });
      service.clock.advance(10 * 60_000);
      shown = await untilSent(service, exporter.id);
      assert.deepEqual([shown.rejected, shown.skipped], [0, 0]);
      assert.ok((await stored(index)).size >= 3);
    });
  });
});
