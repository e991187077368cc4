import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { nounPages } from '../../server/src/features/reference/nouns.ts';
import { invalid } from '../../server/src/kernel/base/errors.ts';
import { PENDING_STATUS } from '../../server/src/kernel/endpoint/approval.ts';
import { type EndpointDeclaration, NONE } from '../../server/src/kernel/endpoint/declaration.ts';
import { bothSpellings } from '../../server/src/kernel/http/routes.ts';
import { coerceQuery, parseQuery } from '../../server/src/kernel/request/query.ts';
import { problemsIn } from '../../server/src/kernel/request/validation.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { INPUTS, type Input, nameOf, pathOf, type World } from '../support/endpoint-inputs.ts';
import { MACHINE_CALLERS_ENV } from '../support/machine-callers.ts';
import { ModelProvider } from '../support/model-provider.ts';
import { addPerson, addTenant, approved, ok } from '../support/people.ts';
import { sendRaw } from '../support/raw-http.ts';
import { ExampleSender, shownRequest } from '../support/reference-examples.ts';
import { onSqliteAtLanding, type Service, startService } from '../support/service.ts';

/** Every endpoint that is served is declared, and every declared endpoint is served. */

const ROOT = join(import.meta.dirname, '../..');

test('every endpoint that a contract declares is bound, once, under a name and a path of its own', async () => {
  const declared: EndpointDeclaration[] = [];
  for (const file of globSync('server/src/features/*/contract.ts', { cwd: ROOT })) {
    const contract = (await import(join(ROOT, file))) as Record<string, unknown>;
    for (const value of Object.values(contract)) if (isDeclaration(value)) declared.push(value);
  }
  assert.deepEqual(names(declared), names(DECLARATIONS));
  assert.equal(new Set(DECLARATIONS.map(({ name }) => name)).size, DECLARATIONS.length);
  assert.equal(new Set(DECLARATIONS.map(({ method, path }) => `${method} ${path}`)).size, DECLARATIONS.length);
});

function isDeclaration(value: unknown): value is EndpointDeclaration {
  return typeof value === 'object' && value !== null && 'credentials' in value && 'path' in value;
}

function names(declarations: readonly EndpointDeclaration[]): string[] {
  return declarations.map(({ name }) => name).sort();
}

test('an empty query parameter counts as absent, whatever it is declared to be', () => {
  let count = 0;
  for (const { name, query } of DECLARATIONS) {
    if (query === NONE) continue;
    const parameters = Object.keys(query.properties);
    for (const text of [parameters.map((one) => `${one}=`).join('&'), parameters.join('&')]) {
      assert.deepEqual(coerceQuery(query, parseQuery(`/x?${text}`)), { value: {}, problems: [] }, name);
      count++;
    }
  }
  assert.ok(count > 20);
});

test('every refusal of a choice names the choices, within bounds, and ends in one full stop', () => {
  let count = 0;
  for (const declaration of DECLARATIONS) {
    for (const part of ['query', 'body'] as const) {
      const schema = declaration[part];
      if (schema === NONE) continue;
      for (const [field, { enum: choices }] of Object.entries(
        schema.properties as Record<string, { enum?: string[] }>,
      )) {
        const problem = problemsIn(schema, { [field]: '\u0001nowhere' }, `/${part}`).find(
          ({ pointer }) => pointer === `/${part}/${field}`,
        );
        if (problem === undefined) continue;
        const { message } = invalid([problem]);
        assert.doesNotMatch(message, /\.\.$/, declaration.name);
        assert.match(message, /[^.][.?!]$/, declaration.name);
        assert.ok(message.length < REASON_CHARS_MAX, message);
        assert.doesNotMatch(message, /not an allowed value|nowhere/, declaration.name);
        if (choices === undefined) continue;
        for (const choice of choices) assert.ok(message.includes(choice), `${declaration.name} ${field}: ${message}`);
        count++;
      }
    }
  }
  assert.ok(count > 10);
});
const REASON_CHARS_MAX = 1000;

/** Endpoints that need a challenge or a second factor, with what they answer without; their own tests have both. */
const NEEDS_FACTOR: Record<string, string> = {
  enrolPasskey: 'LOGIN_DENIED',
  passkeyLogin: 'LOGIN_DENIED',
  stepUp: 'MFA_REQUIRED',
  makeRecoveryCodes: 'NOT_FOUND',
  askMfaTrust: 'NOT_FOUND',
  deleteSsoLink: 'NOT_FOUND',
  rotateScimToken: 'MFA_REQUIRED',
};

const PAIRS_MAX = 5;

onSqliteAtLanding('a service that runs', (database) => {
  let service: Service;
  let world: World;
  let model: ModelProvider;
  before(async () => {
    model = await ModelProvider.start();
    service = await startService(database, { env: { ...MACHINE_CALLERS_ENV, ...model.settings('ollama') } });
    world = { service, tenant: await addTenant(service), owner: await addPerson(service, { role: 'owner' }) };
  });
  after(async () => {
    await service.close();
    model.close();
  });

  test('describes exactly what it serves', async () => {
    const { paths } = (await service.call('GET', '/openapi.json', { token: null })).body;
    const described = Object.values(paths as Record<string, Record<string, { operationId: string }>>)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => operationId);
    assert.deepEqual(described.sort(), names(DECLARATIONS));
  });

  const inputOf = async (declaration: EndpointDeclaration): Promise<Input> =>
    (await INPUTS[nameOf(declaration)]?.(world, { isKnown: true, person: world.owner })) ?? {};
  /** As it is written: other clients refuse some methods, and read no body where none may be. */
  const send = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const lines = Object.entries({ host: 'localhost', connection: 'close', ...headers }).map((pair) => pair.join(': '));
    const { text, status } = await sendRaw(service.url, `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`, {
      waitMs: 10_000,
    });
    const end = text.indexOf('\r\n\r\n');
    const told = text.slice(0, end).split('\r\n').slice(1);
    const named = new Map(told.map((line) => [line.split(':')[0]?.toLowerCase(), line.slice(line.indexOf(':') + 2)]));
    return { status, headers: named, body: text.slice(end + 4) };
  };
  type Sent = Awaited<ReturnType<typeof send>>;
  const methodsOf = (path: string) => DECLARATIONS.filter((one) => one.path === path).map(({ method }) => method);
  const anyPath = (path: string) => path.replace(/\{[a-z_]+\*?\}/g, 'x');

  test('every path tells its methods to every caller, and knows no other', async () => {
    for (const path of new Set(DECLARATIONS.map((one) => one.path))) {
      const methods = methodsOf(path);
      const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
      for (const spelling of bothSpellings(anyPath(path))) {
        const told = await send('OPTIONS', spelling);
        assert.deepEqual([told.status, told.body], [204, ''], spelling);
        assert.deepEqual(told.headers.get('allow')?.split(', ').sort(), allow.sort(), spelling);
        assert.match(told.headers.get('x-request-id') ?? '', /^req_/);
        assert.equal(told.headers.get('access-control-allow-origin'), undefined);
      }
      for (const method of ['TRACE', 'PROPFIND', 'LINK', 'QUERY']) {
        const refused = await send(method, anyPath(path));
        assert.equal(refused.status, 405, `${method} ${path}`);
        assert.deepEqual(refused.headers.get('allow')?.split(', ').sort(), allow.sort());
      }
    }
    for (const method of ['OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'HEAD'])
      assert.equal((await send(method, '/nowhere')).status, 404);
  });

  /** Between two requests the window of the limit may go on, and give back as many; a few pairs in a row cannot all be divided like that. */
  const isCounted = async (path: string, headers: Record<string, string>, sent: readonly Sent[]) => {
    const left = (one: Sent | undefined) => Number(one?.headers.get('x-ratelimit-remaining'));
    for (let i = 0, pair = sent; i < PAIRS_MAX; i++) {
      if (left(pair[1]) < left(pair[0])) return true;
      pair = [await send('HEAD', path, headers), await send('GET', path, headers)];
    }
    return false;
  };

  test('HEAD is what GET is, without the body: authorized, limited and recorded', async () => {
    const audited = new Map<string, string>();
    for (const declaration of DECLARATIONS.filter(({ method }) => method === 'GET')) {
      const path = pathOf(declaration, await inputOf(declaration));
      const name = nameOf(declaration);
      for (const headers of [{}, { authorization: `Bearer ${service.adminToken}` }]) {
        const [head, get] = [await send('HEAD', path, headers), await send('GET', path, headers)];
        assert.deepEqual([head.status, head.body], [get.status, ''], name);
        const names = (one: typeof head) =>
          [...one.headers.keys()].filter((header) => header !== 'transfer-encoding').sort();
        assert.deepEqual(names(head), names(get), name);
        assert.equal(head.headers.get('content-type'), get.headers.get('content-type'), name);
        const isPublic = declaration.credentials === 'public';
        if (isPublic || !('authorization' in headers)) continue;
        if (declaration.rate !== 'none') assert.ok(await isCounted(path, headers, [head, get]), `${name}: counted`);
        audited.set(head.headers.get('x-request-id') ?? '', declaration.audit);
      }
    }
    const { entries } = await ok(service.call('GET', '/v1/audit?limit=1000'));
    const recorded = new Map(
      entries.map((entry: { request_id: string; action: string }) => [entry.request_id, entry.action]),
    );
    for (const [requestId, action] of audited) assert.equal(recorded.get(requestId), action);
  });

  test('an endpoint without a body takes {} as well as nothing', async () => {
    for (const declaration of DECLARATIONS.filter(({ method, body }) => method !== 'GET' && body === NONE)) {
      const path = pathOf(declaration, await inputOf(declaration));
      const empty = await service.call(declaration.method, path, { body: ' {} ' });
      assert.ok(![400, 413, 422].includes(empty.status), `${nameOf(declaration)}: ${empty.text}`);
      const more = await service.call(declaration.method, path, { body: { more: 1 } });
      assert.ok(more.status >= 400, nameOf(declaration));
    }
    await ok(service.call('POST', '/v1/audit/checkpoints', { body: {} }), 201);
  });

  test('every request that the reference shows is accepted as it stands', async (t) => {
    const sender = await ExampleSender.start(world);
    t.after(() => sender.close());
    const refused: string[] = [];
    for (const { page, endpoints } of nounPages(DECLARATIONS)) {
      const { text } = await service.call('GET', `/docs/${page}`, { token: null });
      for (const declaration of endpoints) {
        const { method, path, options } = await sender.prepare(declaration, shownRequest(text, declaration));
        const answer = await service.call(method, path, options);
        // What waits is accepted too, and done once another admin agrees.
        // This service is alone: its examples are valid, and answered so. test/regions.test.ts calls them between regions.
        if (declaration.noun === 'regions') {
          const code = declaration.credentials === 'public' ? 'CERTIFICATE_REQUIRED' : 'NOT_FOUND';
          assert.equal(answer.body.error?.code, code, declaration.name);
        } else if (['saas', 'billing', 'console'].includes(declaration.noun) && declaration.credentials === 'public') {
          // They are off unless a test is about them.
          assert.equal(answer.body.error?.code, 'NOT_FOUND', declaration.name);
        } else if (
          declaration.noun === 'sign-on' &&
          declaration.errors.includes('LOGIN_DENIED') &&
          declaration.name !== 'pollDeviceLogin'
        ) {
          // They need a browser and a provider; their own tests have both.
          assert.equal(answer.body.error?.code, 'LOGIN_DENIED', declaration.name);
        } else if (declaration.name === 'backchannelLogout') {
          assert.equal(answer.body.error?.code, 'INVALID_REQUEST', 'only a provider can sign its token');
        } else if (declaration.name in NEEDS_FACTOR) {
          assert.equal(answer.body.error?.code, NEEDS_FACTOR[declaration.name], declaration.name);
        } else if (answer.status === PENDING_STATUS)
          await approved(service, Promise.resolve(answer), service.adminToken);
        else if (answer.status !== declaration.status) refused.push(`${declaration.name}: ${answer.text}`);
      }
    }
    assert.deepEqual(refused, []);
  });
});
