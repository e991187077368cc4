import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import Type from 'typebox';
import { type EndpointDeclaration, endpoint, NONE } from '../../server/src/kernel/endpoint/declaration.ts';
import { HttpServer } from '../../server/src/kernel/http/server.ts';
import { Metrics } from '../../server/src/kernel/observability/metrics.ts';
import { bind } from '../../server/src/kernel/request/binding.ts';
import type { Pipeline } from '../../server/src/kernel/request/pipeline.ts';
import { makeReady } from '../../server/src/kernel/request/ready-endpoint.ts';
import { object } from '../../server/src/kernel/wire/wire.ts';
import { sendRaw } from '../support/raw-http.ts';
import { type Service, startService } from '../support/service.ts';

/** A wildcard path with verbs behind it, as secrets have; the answer tells what the rules behind the router would see. */
function declare(method: EndpointDeclaration['method'], suffix: string): EndpointDeclaration {
  return endpoint({
    name: `${method}${suffix}`,
    method,
    path: `/v1/boxes/{box}/items/{path*}${suffix}`,
    summary: 'test',
    noun: 'boxes',
    credentials: 'public',
    tenant: NONE,
    permission: NONE,
    resource: NONE,
    rate: 'none',
    tier: NONE,
    region: 'local',
    approval: NONE,
    plaintext: false,
    audit: NONE,
    effect: 'read',
    params: object({ box: Type.String({ pattern: '^[a-z]+$' }), path: Type.String() }),
    query: NONE,
    body: NONE,
    bodyBytesMax: 100,
    status: 200,
    output: object({ verb: Type.String(), path: Type.String() }),
    raw: NONE,
    errors: [],
  });
}

describe('routes with a wildcard', () => {
  let service: Service;
  let server: HttpServer;
  let port = 0;
  before(async () => {
    service = await startService('sqlite');
    const declarations = [
      declare('GET', ''),
      declare('PUT', ''),
      declare('GET', '/versions'),
      declare('POST', '/rotate'),
    ];
    const endpoints = declarations.map((d) =>
      makeReady(
        bind(d, async () => undefined as never),
        JSON.stringify,
      ),
    );
    const echo = {
      async answer(ready, call) {
        try {
          ready.validate(call, null);
        } catch {
          return { status: 422, headers: {}, body: '{}' };
        }
        return { status: 200, headers: {}, body: JSON.stringify([ready.declaration.name, call.params['path']]) };
      },
    } as Pick<Pipeline, 'answer'> as Pipeline;
    const kernel = { ...service.app.kernel, metrics: new Metrics() };
    server = new HttpServer(kernel, endpoints, echo, null);
    ({ port } = await server.listen());
  });
  after(async () => {
    await server.close();
    await service.close();
  });

  /** Over a bare socket: ordinary clients tidy up dots and encodings before they send them. */
  const ask = async (method: string, path: string) => {
    const request = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const { status, text } = await sendRaw(`http://127.0.0.1:${port}`, request, { waitMs: 5000 });
    return [status, status === 200 ? JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) : null];
  };

  test('the last segment names the verb, and is not part of the path', async () => {
    assert.deepEqual(await ask('GET', '/v1/boxes/a/items/db/password'), [200, ['GET', 'db/password']]);
    assert.deepEqual(await ask('GET', '/boxes/a/items/db/password'), [200, ['GET', 'db/password']]);
    assert.deepEqual(await ask('GET', '/v1/boxes/a/items/db%2Fpassword'), [200, ['GET', 'db/password']]);
    assert.deepEqual(await ask('GET', '/v1/boxes/a/items/db/password/versions'), [
      200,
      ['GET/versions', 'db/password'],
    ]);
    assert.deepEqual(await ask('POST', '/v1/boxes/a/items/db/rotate'), [200, ['POST/rotate', 'db']]);
    assert.deepEqual(await ask('PUT', '/v1/boxes/a/items/x'), [200, ['PUT', 'x']]);
  });

  test('a verb without its path, or with the wrong method, reaches nothing', async () => {
    for (const [method, path, status] of [
      ['POST', '/v1/boxes/a/items/db', 405],
      ['DELETE', '/v1/boxes/a/items/db', 405],
      ['GET', '/v1/boxes/a/items/db/rotate', 405],
      ['PUT', '/v1/boxes/a/items/db/versions', 405],
      ['GET', '/v1/boxes/a/items/db/move', 404],
      ['GET', '/v1/boxes/a/items/rotate', 422],
      ['GET', '/v1/boxes/a/items/', 422],
    ] as const) {
      assert.deepEqual([path, (await ask(method, path))[0]], [path, status]);
    }
  });

  test('a path has one spelling', async () => {
    const others = [
      'db//x',
      'db/./x',
      'db/../x',
      'db/%2e%2e/x',
      '%2e/x',
      'db/x/',
      '/db',
      'db%252Fx',
      'db%00',
      'db%5Cx',
      'db%20x',
    ];
    others.push('d%C3%A9', 'db;x', 'db/%2E%2E%2Fx', 'ｄb'.replace('ｄ', '%EF%BD%84'), 'db:x', 'db*', 'a/'.repeat(40));
    for (const path of others) assert.equal((await ask('GET', `/v1/boxes/a/items/${path}`))[0], 422, path);
    for (const path of ['db%ZZ', 'db%', 'db%C3%28']) {
      assert.equal((await ask('GET', `/v1/boxes/a/items/${path}`))[0], 400, path);
    }
    for (const box of ['A', 'a%2Fb', '..', '%2e%2e']) {
      const [status] = await ask('GET', `/v1/boxes/${box}/items/x`);
      assert.ok(status === 422 || status === 404, `${box}: ${status}`);
    }
  });

  test('whatever is requested, the response is a path of the allowed form, spelled once', async () => {
    const piece = fc.constantFrom(
      'a',
      'B',
      '.',
      '..',
      '/',
      '%2F',
      '%2f',
      '%252F',
      '%2e',
      '-',
      '_',
      '@',
      '%00',
      '%41',
      '+',
      '=',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 12 }), async (pieces) => {
        const encoded = pieces.join('');
        const [status, answer] = await ask('GET', `/v1/boxes/a/items/${encoded}`);
        if (status !== 200) return;
        const [, path] = answer as [string, string];
        assert.equal(path, decodeURIComponent(encoded));
        assert.match(path, /^[A-Za-z0-9._@+=-]+(\/[A-Za-z0-9._@+=-]+)*$/);
        assert.ok(!path.split('/').some((segment) => segment === '.' || segment === '..'));
      }),
      { numRuns: 150 },
    );
  });
});
