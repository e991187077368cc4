import assert from 'node:assert/strict';
import { after, before, describe, mock, test } from 'node:test';
import { PLAN_QUOTAS } from '../server/src/kernel/limits/plan-quotas.ts';
import { addColleague, addTenant, invalid, ok, refused, type Tenant, uniqueName } from './support/people.ts';
import { onBothDatabases, type Service, startService } from './support/service.ts';
import { Receiver, SyslogReceiver } from './support/siem-receivers.ts';
import { testAuthority } from './support/test-authority.ts';
import { until } from './support/until.ts';
import { auditOf } from './support/vaults.ts';

const EXPORTERS = '/v1/audit/exporters';
const TOKEN = 'exporter-token-marker';

onBothDatabases('exporters', (database, { rule, rules }) => {
  let service: Service;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
    tenant = await addTenant(service);
  });
  after(() => service.close());

  const as = (token: string) => ({ token });
  const create = (body: object, by = tenant) =>
    ok(service.call('POST', EXPORTERS, { ...as(by.owner.token), body: { name: uniqueName('siem'), ...body } }), 201);
  const read = (id: string, by = tenant) => ok(service.call('GET', `${EXPORTERS}/${id}`, as(by.owner.token)));
  const remove = (id: string, by = tenant) => ok(service.call('DELETE', `${EXPORTERS}/${id}`, as(by.owner.token)));

  /** Makes entries that can be told from others. */
  const record = async (count: number, by = tenant) => {
    for (let i = 0; i < count; i++) await ok(service.call('GET', '/v1/groups', as(by.owner.token)));
  };

  /** Resolves when everything recorded before is sent. */
  async function untilSent(id: string, by = tenant): Promise<void> {
    const { entries } = await ok(service.call('GET', '/v1/audit?limit=1', as(by.owner.token)));
    await until('it does not catch up', async () => (await read(id, by)).cursor >= entries[0].seq);
  }

  const linesOf = (receiver: Receiver) =>
    receiver.requests.flatMap(({ body }) =>
      body
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    );
  const seqsOf = (entries: { seq: number | null }[]) => entries.map(({ seq }) => seq).filter((seq) => seq !== null);

  function assertOrdered(seqs: number[]): void {
    assert.deepEqual(
      seqs,
      [...new Set(seqs)].sort((a, b) => a - b),
      'each once, in order',
    );
  }

  test('every entry arrives once, in order, with its hash, and the credential is shown to nobody', async () => {
    const receiver = await Receiver.start();
    const made = await create({ type: 'https_json', endpoint: `${receiver.url}/in`, credentials: { token: TOKEN } });
    assert.doesNotMatch(JSON.stringify(made), new RegExp(TOKEN));
    await record(20);
    await untilSent(made.id);
    const sent = linesOf(receiver);
    const seqs = seqsOf(sent);
    assertOrdered(seqs);
    assert.equal(seqs[0], made.cursor + 1, 'it begins with the entry after its creation was decided');
    assert.equal(seqs.at(-1), Number(seqs[0]) + seqs.length - 1, 'without a gap');
    for (const { tenant_id, hash } of sent) assert.deepEqual([tenant_id, hash.length], [tenant.id, 64]);
    assert.equal(receiver.requests[0]?.headers.authorization, `Bearer ${TOKEN}`);
    const shown = await read(made.id);
    assert.deepEqual([shown.rejected, shown.skipped, shown.last_error], [0, 0, null]);
    assert.equal(shown.delivered, seqs.length);
    const { text } = await service.call('GET', '/metrics');
    for (const outcome of ['rejected', 'skipped']) {
      assert.ok(text.includes(`cv_exporter_entries_total{exporter="${made.id}",outcome="${outcome}"} 0`), outcome);
    }
    const delivered = new RegExp(`cv_exporter_entries_total{exporter="${made.id}",outcome="delivered"} (\\d+)`);
    assert.ok(Number(delivered.exec(text)?.[1]) >= seqs.length);
    assert.match(text, new RegExp(`cv_exporter_lag_entries{exporter="${made.id}"} \\d+`));
    assert.ok(!text.includes(tenant.id));
    assert.doesNotMatch(
      JSON.stringify([shown, await auditOf(service, 'action=exporters:*', tenant.owner.token)]),
      new RegExp(TOKEN),
    );
    assert.doesNotMatch(service.logs.join(''), new RegExp(TOKEN));
    await remove(made.id);
  });

  test('a filter leaves out what does not match, and is passed over', async () => {
    const receiver = await Receiver.start();
    const made = await create({ type: 'https_json', endpoint: receiver.url, filter: { action: 'groups:*' } });
    await record(3);
    await ok(service.call('GET', '/v1/users', as(tenant.owner.token)));
    await untilSent(made.id);
    assert.deepEqual([...new Set(linesOf(receiver).map(({ action }) => action))], ['groups:list']);
    await remove(made.id);
  });

  test('a receiver that is down loses nothing and delays no other', async () => {
    const [down, up] = [await Receiver.start(), await Receiver.start()];
    down.respond = () => null;
    const [slow, quick] = [
      await create({ type: 'https_json', endpoint: down.url }),
      await create({ type: 'https_json', endpoint: up.url }),
    ];
    await record(5);
    await untilSent(quick.id);
    await until('no failure is shown', async () => (await read(slow.id)).last_error !== null);
    const shown = await read(slow.id);
    assert.equal(shown.last_error, 'the connection failed (ECONNRESET)');
    assert.ok(shown.lag_entries >= 5, String(shown.lag_entries));
    assert.equal(shown.cursor, slow.cursor);
    down.requests.length = 0;
    down.respond = () => ({ status: 200 });
    service.clock.advance(5 * 60_000);
    await untilSent(slow.id);
    const seqs = seqsOf(linesOf(down));
    assertOrdered(seqs);
    assert.equal(seqs[0], slow.cursor + 1);
    await remove(slow.id);
    await remove(quick.id);
  });

  test('a batch whose response was lost is sent again, with the same ids', async () => {
    const receiver = await Receiver.start();
    let isLost = true;
    receiver.respond = () => {
      if (!isLost) return { status: 200 };
      isLost = false;
      return null;
    };
    const made = await create({ type: 'https_json', endpoint: receiver.url });
    await record(2);
    service.clock.advance(60_000);
    await untilSent(made.id);
    const [first, second] = receiver.requests.map(({ body }) => body.split('\n')[0]);
    assert.equal(first, second);
    await remove(made.id);
  });

  test('replay sends again from a time on', async () => {
    const receiver = await Receiver.start();
    const made = await create({ type: 'https_json', endpoint: receiver.url, filter: { action: 'groups:list' } });
    await record(3);
    await untilSent(made.id);
    const before = linesOf(receiver);
    const from = before[1].timestamp;
    receiver.requests.length = 0;
    const body = { from };
    await ok(service.call('POST', `${EXPORTERS}/${made.id}/replay`, { ...as(tenant.owner.token), body }));
    await untilSent(made.id);
    const again = linesOf(receiver).map(({ id }) => id);
    for (const { id, timestamp } of before) if (timestamp >= from) assert.ok(again.includes(id), id);
    await remove(made.id);
  });

  test('replay takes a date as the start of that day', async () => {
    const receiver = await Receiver.start();
    const made = await create({ type: 'https_json', endpoint: receiver.url, filter: { action: 'groups:list' } });
    await record(2);
    await untilSent(made.id);
    const sent = linesOf(receiver);
    const replay = (from: string) =>
      service.call('POST', `${EXPORTERS}/${made.id}/replay`, { ...as(tenant.owner.token), body: { from } });
    receiver.requests.length = 0;
    await ok(replay(sent[0].timestamp.slice(0, 10)));
    await untilSent(made.id);
    const again = linesOf(receiver).map(({ id }) => id);
    for (const { id } of sent) assert.ok(again.includes(id), id);
    for (const wrong of ['2026-02-30', '2026-13-01', '2026-11', '10.11.2026'])
      await invalid(replay(wrong), '/body/from');
    await remove(made.id);
  });

  test('checkpoints leave with the entries', async () => {
    const receiver = await Receiver.start();
    const made = await create({ type: 'https_json', endpoint: receiver.url });
    const signed = await ok(
      service.call('POST', '/v1/audit/checkpoints', { ...as(tenant.owner.token), body: {} }),
      201,
    );
    await record(1);
    await untilSent(made.id);
    await until('the checkpoint does not arrive', () =>
      linesOf(receiver).some(({ details }) => details.checkpoint?.seq === signed.seq),
    );
    await remove(made.id);
  });

  rules('receivers', () => {
    test('splunk: a batch counts only when it is indexed, and is sent again when that is never said', async () => {
      const receiver = await Receiver.start();
      let [ackId, polls] = [0, 0];
      receiver.respond = ({ path }) => {
        if (path === '/services/collector/event')
          return { status: 200, body: { text: 'Success', code: 0, ackId: ++ackId } };
        polls++;
        return { status: 200, body: { acks: { [ackId]: polls > 2 } } };
      };
      const made = await create({ type: 'splunk_hec', endpoint: receiver.url, credentials: { token: TOKEN } });
      await record(3);
      await untilSent(made.id);
      const [first] = receiver.requests;
      assert.equal(first?.headers.authorization, `Splunk ${TOKEN}`);
      assert.match(String(first?.headers['x-splunk-request-channel']), /^[0-9a-f-]{36}$/);
      const event = JSON.parse(first?.body.split('\n')[0] ?? '');
      assert.equal(event.time, Date.parse(event.event.timestamp) / 1000);
      assert.ok(polls >= 3);
      await remove(made.id);
    });

    test('elastic: what is there already counts, what does not fit is sent as text or a loss, and a busy server is called again', async () => {
      const receiver = await Receiver.start();
      let isBusy = true;
      const stored = new Map<string, { '@timestamp'?: string; message?: string }>();
      /** The first entry is there already, the second does not fit the mapping, and the third is refused in any form. */
      const order: string[] = [];
      const statusOf = (id: string, document: { message?: string; event?: object }) => {
        if (!order.includes(id)) order.push(id);
        const place = order.indexOf(id);
        if (place === 2 || (place === 1 && document.event !== undefined)) return 400;
        stored.set(id, document);
        return place === 0 ? 409 : 201;
      };
      receiver.respond = ({ body }) => {
        const lines = body.trim().split('\n');
        const items = lines.flatMap((line, i) => {
          if (i % 2 === 1) return [];
          const status = isBusy ? 429 : statusOf(JSON.parse(line).create._id, JSON.parse(lines[i + 1] ?? ''));
          const error = status === 400 ? { type: 'mapper_parsing_exception', reason: 'failed to parse' } : undefined;
          return [{ create: { status, ...(error && { error }) } }];
        });
        isBusy = false;
        return { status: 200, body: { errors: true, items } };
      };
      const made = await create({
        type: 'elastic',
        format: 'ecs',
        endpoint: `${receiver.url}/coffer-audit`,
        credentials: { username: 'u', password: 'p' },
      });
      await record(3);
      service.clock.advance(60_000);
      await untilSent(made.id);
      const shown = await read(made.id);
      assert.equal(receiver.requests[0]?.path, '/coffer-audit/_bulk');
      assert.equal(receiver.requests[0]?.headers.authorization, `Basic ${Buffer.from('u:p').toString('base64')}`);
      assert.equal(shown.rejected, 1);
      const [loss] = shown.losses;
      assert.deepEqual([loss.kind, loss.reason], ['rejected', '400 mapper_parsing_exception: failed to parse']);
      const misfit = order[1] ?? '';
      const text = stored.get(misfit);
      assert.equal(JSON.parse(text?.message ?? '{}').event.id, misfit);
      assert.ok(Date.parse(text?.['@timestamp'] ?? '') > 0);
      const [action, document] = (receiver.requests[0]?.body ?? '').split('\n').map((line) => JSON.parse(line || '{}'));
      assert.equal(action.create._id, document.event.id);
      assert.deepEqual(document.event.kind, 'event');
      await remove(made.id);
    });

    test('elastic: a document of every format has the time that a data stream demands', async () => {
      for (const format of ['native', 'ocsf', 'ecs']) {
        const receiver = await Receiver.start();
        const documents: { '@timestamp'?: string }[] = [];
        receiver.respond = ({ body }) => {
          const lines = body
            .trim()
            .split('\n')
            .filter((_, i) => i % 2 === 1);
          documents.push(...lines.map((line) => JSON.parse(line)));
          return { status: 200, body: { errors: false, items: lines.map(() => ({ create: { status: 201 } })) } };
        };
        const credentials = { api_key: TOKEN };
        const made = await create({ type: 'elastic', format, endpoint: `${receiver.url}/logs`, credentials });
        await record(1);
        await untilSent(made.id);
        assert.ok(documents.length > 0, format);
        for (const document of documents) assert.match(String(document['@timestamp']), /^20\d\d-.*Z$/, format);
        await remove(made.id);
      }
    });

    test('datadog: compressed, and what is too old is skipped and told', async () => {
      const receiver = await Receiver.start();
      receiver.respond = () => ({ status: 202 });
      const made = await create({
        type: 'datadog',
        endpoint: receiver.url,
        credentials: { api_key: TOKEN },
        enabled: false,
      });
      await record(2);
      service.clock.advance(19 * 3_600_000);
      await record(1);
      await ok(
        service.call('PATCH', `${EXPORTERS}/${made.id}`, { ...as(tenant.owner.token), body: { enabled: true } }),
      );
      await untilSent(made.id);
      const shown = await read(made.id);
      assert.ok(shown.skipped >= 2, JSON.stringify(shown));
      assert.equal(shown.losses.at(-1).kind, 'skipped');
      const [first] = receiver.requests;
      assert.equal(first?.headers['dd-api-key'], TOKEN);
      assert.equal(first?.headers['content-encoding'], 'gzip');
      const logs = JSON.parse(first?.body ?? '[]');
      assert.equal(JSON.parse(logs[0].message).tenant_id, tenant.id);
      await remove(made.id);
    });

    test('otlp: what the receiver refuses is counted and never sent again', async () => {
      const receiver = await Receiver.start();
      receiver.respond = () => ({
        status: 200,
        body: { partialSuccess: { rejectedLogRecords: 1, errorMessage: 'no' } },
      });
      // Without a filter each look at the exporter would be sent too.
      const made = await create({ type: 'otlp', endpoint: receiver.url, filter: { action: 'groups:list' } });
      await record(2);
      await untilSent(made.id);
      const { rejected, delivered } = await read(made.id);
      const batches = receiver.requests.filter(({ body }) => body.includes('groups:list'));
      assert.equal(rejected, batches.length, 'one of each batch');
      assert.equal(rejected + delivered, 2);
      assert.equal(batches[0]?.path, '/v1/logs');
      const [{ scopeLogs }] = JSON.parse(batches[0]?.body ?? '{}').resourceLogs;
      const [log] = scopeLogs[0].logRecords;
      assert.equal(log.timeUnixNano, `${Date.parse(JSON.parse(log.body.stringValue).timestamp)}000000`);
      await remove(made.id);
    });

    test('syslog: frames over TLS, and after a broken connection the last ones again', async () => {
      const authority = await testAuthority();
      const leaf = await authority.issue({ names: [{ type: 'ip', value: '127.0.0.1' }], extendedKeyUsage: null });
      const receiver = await SyslogReceiver.start({ key: await leaf.keyPem(), cert: leaf.pem });
      receiver.breaksAfter = 3;
      const endpoint = `tls://127.0.0.1:${receiver.port}`;
      const made = await create({ type: 'syslog', format: 'cef', endpoint, ca_pem: authority.pem });
      await record(5);
      await until('nothing breaks', async () => {
        service.clock.advance(10_000);
        return receiver.messages.length >= 3;
      });
      receiver.breaksAfter = Number.POSITIVE_INFINITY;
      const { entries } = await ok(service.call('GET', '/v1/audit?limit=1', as(tenant.owner.token)));
      await until('the last entry does not arrive', async () => {
        service.clock.advance(10_000);
        return receiver.messages.some((message) => message.includes(`cn1=${entries[0].seq} `));
      });
      assert.equal(receiver.problem, null);
      const seqs = new Set(receiver.messages.map((message) => Number(/cn1=(\d+)/.exec(message)?.[1])));
      for (let seq = made.cursor + 1; seq <= entries[0].seq; seq++) assert.ok(seqs.has(seq), `entry ${seq} is missing`);
      await remove(made.id);
    });
  });

  rules('test', () => {
    const tried = async (id: string) => ok(service.call('POST', `${EXPORTERS}/${id}/test`, as(tenant.owner.token)));

    test('sends one marked entry and says what the receiver said', async () => {
      const receiver = await Receiver.start();
      const made = await create({ type: 'https_json', endpoint: receiver.url, enabled: false });
      assert.deepEqual(await tried(made.id).then(({ delivered, message }) => [delivered, message]), [
        true,
        'The receiver took the test entry.',
      ]);
      assert.equal(JSON.parse(receiver.requests[0]?.body ?? '{}').test, true);
      receiver.respond = () => ({ status: 401 });
      const { delivered, message } = await tried(made.id);
      assert.deepEqual([delivered, message], [false, 'Not delivered: the receiver responded with status 401.']);
      await remove(made.id);
    });

    test('reaches no host that the operator has not allowed', async () => {
      const hosts = [
        'http://169.254.169.254/latest',
        'https://10.0.0.1/',
        'http://127.0.0.2:1/',
        'https://[::ffff:a00:1]/',
      ];
      const made = await create({ type: 'https_json', endpoint: 'https://siem.example.com/x', enabled: false });
      // The setting may have been narrower when a stored endpoint was configured.
      const { outbound } = service.app.kernel;
      const narrowed = mock.method(outbound, 'refusalOf', () => null);
      for (const endpoint of hosts) {
        await ok(service.call('PATCH', `${EXPORTERS}/${made.id}`, { ...as(tenant.owner.token), body: { endpoint } }));
        const { delivered, message } = await tried(made.id);
        assert.equal(delivered, false);
        assert.match(message, /not public|plain http is only/, endpoint);
      }
      narrowed.mock.restore();
      await remove(made.id);
    });
  });

  describe('refused', () => {
    const attempt = (body: object) =>
      service.call('POST', EXPORTERS, { ...as(tenant.owner.token), body: { name: uniqueName('siem'), ...body } });

    rule('an endpoint or credentials that the type does not take', async () => {
      const cases: [object, string][] = [
        [{ type: 'https_json', endpoint: 'ftp://x.example' }, '/body/endpoint'],
        [{ type: 'https_json', endpoint: 'https://user:pass@x.example' }, '/body/endpoint'],
        [{ type: 'syslog', endpoint: 'https://x.example' }, '/body/endpoint'],
        [{ type: 'syslog', endpoint: 'tls://x.example:70000' }, '/body/endpoint'],
        [{ type: 'splunk_hec', endpoint: 'https://x.example' }, '/body/credentials'],
        [{ type: 'elastic', endpoint: 'https://x.example', credentials: { username: 'u' } }, '/body/credentials'],
        [{ type: 'datadog', endpoint: 'https://x.example', credentials: { token: 't' } }, '/body/credentials'],
        [{ type: 'https_json', endpoint: 'https://x.example', ca_pem: 'no certificate' }, '/body/ca_pem'],
      ];
      for (const [body, pointer] of cases) {
        const { details } = await refused(attempt(body), 422, 'VALIDATION_FAILED');
        assert.equal(details.fields[0].pointer, pointer, JSON.stringify(body));
      }
    });

    rule('a new endpoint without the credentials, which would be sent elsewhere', async () => {
      const made = await create({
        type: 'https_json',
        endpoint: 'https://x.example',
        credentials: { token: TOKEN },
        enabled: false,
      });
      const body = { endpoint: 'https://y.example' };
      const changed = service.call('PATCH', `${EXPORTERS}/${made.id}`, { ...as(tenant.owner.token), body });
      await refused(changed, 422, 'VALIDATION_FAILED');
      await remove(made.id);
    });

    test('a name that is in use, and more than the plan allows', async () => {
      const other = await addTenant(service, { plan: 'professional' });
      const body = { type: 'syslog', endpoint: 'tls://x.example:6514', enabled: false };
      const first = await create(body, other);
      const same = { ...as(other.owner.token), body: { ...body, name: first.name } };
      await refused(service.call('POST', EXPORTERS, same), 409, 'ALREADY_EXISTS');
      for (let no = 1; no < PLAN_QUOTAS.professional.exporters; no++) await create(body, other);
      const further = { ...as(other.owner.token), body: { ...body, name: 'further' } };
      await refused(service.call('POST', EXPORTERS, further), 403, 'QUOTA_EXCEEDED');
      // A smaller plan removes nothing, and refuses only what is new or changes.
      await ok(service.call('PATCH', `/v1/tenants/${other.id}`, { body: { plan: 'starter' } }));
      await refused(service.call('POST', EXPORTERS, further), 403, 'TIER_REQUIRED');
      await ok(service.call('GET', `${EXPORTERS}/${first.id}`, as(other.owner.token)));
    });

    test('another tenant, for which it does not exist', async () => {
      const made = await create({ type: 'syslog', endpoint: 'tls://x.example:6514', enabled: false });
      const other = await addTenant(service);
      for (const [method, path] of [
        ['GET', ''],
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/test'],
      ] as const) {
        const body = method === 'PATCH' ? { body: { enabled: true } } : {};
        const call = service.call(method, `${EXPORTERS}/${made.id}${path}`, { ...as(other.owner.token), ...body });
        await refused(call, 404, 'NOT_FOUND');
      }
      await remove(made.id);
    });
  });

  test('where there is a second admin, one alone changes nothing', async () => {
    const other = await addTenant(service);
    const colleague = await addColleague(service, other.id, 'admin');
    const body = { name: 'two', type: 'https_json', endpoint: 'https://x.example', credentials: { token: TOKEN } };
    const requested = await service.call('POST', EXPORTERS, { ...as(other.owner.token), body });
    assert.equal(requested.status, 202, requested.text);
    assert.deepEqual((await ok(service.call('GET', EXPORTERS, as(other.owner.token)))).exporters, []);
    const { approvals } = await ok(service.call('GET', '/v1/approvals', as(colleague.token)));
    const shown = await service.call('GET', `/v1/approvals/${approvals[0].id}`, as(colleague.token));
    assert.match(shown.text, /https:\/\/x\.example/);
    assert.doesNotMatch(shown.text, new RegExp(TOKEN), 'whoever approves sees where entries go, and no credential');
  });
});
