import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { addPerson, addTenant, invalid, logIn, ok, refused } from './support/people.ts';
import { jsonBodies, type RawAnswer, sendRaw } from './support/raw-http.ts';
import { onBothDatabases, type Service, startService } from './support/service.ts';

/** In everything hostile that is sent, and in nothing the service may write to its log. */
const MARKER = 'zq7-hostile-marker';
/** The service allows 10 s for the headers of a request; a little more passes until it looks. */
const SLOW_MAX_MS = 12_500;
const RSS_GROWTH_MAX_BYTES = 200 * 1024 * 1024;

onBothDatabases('hostile input', (database) => {
  let service: Service;
  let rssBefore: number;
  let slow: Promise<RawAnswer>;

  before(async () => {
    service = await startService(database);
    rssBefore = process.memoryUsage().rss;
    // Begun first and checked last: it takes its time while everything else goes on.
    const bytes = requestHead('GET', '/auth/me', [`X-Slow: ${MARKER.repeat(50)}`]);
    slow = sendRaw(service.url, bytes, { byteIntervalMs: 200, waitMs: SLOW_MAX_MS });
  });
  after(() => service.close());

  const post = (body: string, headers: Record<string, string> = {}) =>
    service.call('POST', '/v1/users', { body, headers });
  const get = (path: string) => service.call('GET', path);
  const auth = () => `Authorization: Bearer ${service.adminToken}`;

  describe('in bodies', () => {
    const MALFORMED: Record<string, string> = {
      'cut off': `{"email": "${MARKER}@example.com"`,
      'not JSON': MARKER,
      'a trailing comma': `{"email": "${MARKER}@example.com",}`,
      'two values': `{"email": "a@example.com"} {"name": "${MARKER}"}`,
      'a comment': `{"email": "a@example.com" /* ${MARKER} */}`,
      'single quotes': `{'email': '${MARKER}'}`,
      'a duplicate key': `{"email": "a@example.com", "email": "${MARKER}@example.com"}`,
      'a duplicate key, once escaped': `{"email": "a@example.com", "\\u0065mail": "${MARKER}@example.com"}`,
      'the key __proto__': `{"email": "a@example.com", "__proto__": {"role": "owner"}}`,
      'a nested __proto__': `{"email": "a@example.com", "name": {"__proto__": {"${MARKER}": 1}}}`,
      'a number beyond range': `{"email": "a@example.com", "name": 1e999}`,
      'half a surrogate pair': `{"email": "a@example.com", "name": "${MARKER}\\ud800"}`,
      'a raw control character': `{"email": "a@example.com", "name": "${MARKER}\u0001"}`,
      'a bad escape': `{"email": "a@example.com", "name": "${MARKER}\\x41"}`,
      'arrays 10,000 deep': '['.repeat(10_000) + ']'.repeat(10_000),
      'objects 5,000 deep': `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
      'more members than allowed': JSON.stringify(Array(25_000).fill(1)),
      'a byte order mark': `\ufeff{"email": "a@example.com"}`,
    };
    for (const [name, body] of Object.entries(MALFORMED)) {
      test(`${name} answers 400`, async () => {
        await refused(post(body), 400, 'INVALID_REQUEST');
      });
    }

    test('bytes that are not UTF-8 answer 400', async () => {
      const bytes = Buffer.concat([Buffer.from('{"email": "a@b.c", "name": "'), Buffer.from([0xc3, 0x28, 0x22, 0x7d])]);
      const head = requestHead('POST', '/v1/users', [
        auth(),
        'Content-Type: application/json',
        `Content-Length: ${bytes.length}`,
      ]);
      const answer = await sendRaw(service.url, Buffer.concat([Buffer.from(head), bytes]));
      assert.equal(answer.status, 400, answer.text);
    });

    const WRONG_SHAPE: Record<string, string> = {
      'an array': '[]',
      'a text': `"${MARKER}"`,
      'a number': '1',
      null: 'null',
      'the key constructor': '{"email": "a@example.com", "constructor": {"prototype": {"role": "owner"}}}',
      'the key toString': '{"email": "a@example.com", "toString": 1}',
      'a number as e-mail address': '{"email": 1}',
      'a list as e-mail address': '{"email": ["a@example.com"]}',
      'an e-mail address of 10,000 characters': `{"email": "${'a'.repeat(10_000)}@example.com"}`,
      'an e-mail address with a look-alike letter': '{"email": "аdmin@localhost"}',
      'an unknown role': '{"email": "a@example.com", "role": "root"}',
      'a role in another case': '{"email": "a@example.com", "role": "Owner"}',
    };
    for (const [name, body] of Object.entries(WRONG_SHAPE)) {
      test(`${name} answers 422`, async () => {
        await refused(post(body), 422, 'VALIDATION_FAILED');
      });
    }

    test('NUL in any text answers 422 and never fails in the database', async () => {
      const text = `${MARKER}\u0000`;
      const { id } = await ok(service.call('POST', '/v1/groups', { body: { name: `nul-${database}` } }), 201);
      const tries: [string, string, unknown, string][] = [
        ['POST', '/v1/users', { email: 'nul@example.com', name: text }, '/body/name'],
        ['POST', '/v1/groups', { name: 'nul', description: text }, '/body/description'],
        ['PATCH', `/v1/groups/${id}`, { description: text }, '/body/description'],
        ['POST', '/auth/tokens', { name: text }, '/body/name'],
        ['POST', '/v1/groups', { name: text }, '/body/name'],
        ['POST', '/auth/login', { email: text, password: 'x' }, '/body/email'],
      ];
      for (const [method, path, body, pointer] of tries) await invalid(service.call(method, path, { body }), pointer);
    });

    test('a wrong content type answers 400', async () => {
      const types = [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/json; charset=iso-8859-1',
        'application/jsonp',
        'text/json',
        `application/${MARKER}`,
        '*/*',
        ';;;',
      ];
      for (const type of types) {
        await refused(post('{"email":"a@example.com"}', { 'content-type': type }), 400, 'INVALID_REQUEST');
      }
    });

    test('a body without a content type answers 400', async () => {
      const head = requestHead('POST', '/v1/users', [auth(), 'Content-Length: 2']);
      assert.equal((await sendRaw(service.url, `${head}{}`)).status, 400);
    });

    test('a body that is too large answers 413, with and without a length', async () => {
      const large = JSON.stringify({ email: 'a@example.com', name: MARKER.repeat(5000) });
      await refused(post(large), 413, 'PAYLOAD_TOO_LARGE');
      const head = requestHead('POST', '/v1/users', [
        auth(),
        'Content-Type: application/json',
        'Transfer-Encoding: chunked',
      ]);
      const chunked = `${head}${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`;
      assert.equal((await sendRaw(service.url, chunked)).status, 413);
    });

    test('a body where none belongs answers 422, or 413 if it is large', async () => {
      await invalid(service.call('POST', '/auth/mfa/totp', { body: { a: 1 } }), '/body');
      await invalid(service.call('DELETE', '/v1/users/user_x', { body: { a: 1 } }), '/body');
      const large = JSON.stringify({ a: MARKER.repeat(5000) });
      await refused(service.call('POST', '/auth/mfa/totp', { body: large }), 413, 'PAYLOAD_TOO_LARGE');
    });

    test('many unknown fields do not hide each other, nor a field that is wrong', async () => {
      for (const count of [8, 9, 100]) {
        const many = Object.fromEntries(Array.from({ length: count }, (_, i) => [`u${i}`, 1]));
        for (const wrong of [{}, { email: { x: 1 } }, { role: 'root' }]) {
          const body = { ...many, email: 'a@example.com', ...wrong };
          await refused(service.call('POST', '/v1/users', { body }), 422, 'VALIDATION_FAILED');
        }
        const query = Object.keys(many).map((name) => `${name}=1`);
        if (count < 50) await refused(get(`/v1/users?${query.join('&')}`), 422, 'VALIDATION_FAILED');
      }
    });

    test('unknown fields are pointed at, but only told back if they are plain names', async () => {
      await invalid(
        service.call('POST', '/v1/users', { body: { email: 'a@example.com', is_admin: true } }),
        '/body/is_admin',
      );
      const odd = { email: 'a@example.com', [`${MARKER} with spaces`]: 1 };
      const error = await refused(service.call('POST', '/v1/users', { body: odd }), 422, 'VALIDATION_FAILED');
      assert.ok(!JSON.stringify(error).includes(MARKER));
    });
  });

  describe('in paths and queries', () => {
    test('bad percent-encoding in a path answers 400', async () => {
      for (const path of ['/v1/users/%', '/v1/users/%zz', '/v1/users/%c3%28', '/%ff', '/v1/%']) {
        const answer = await sendRaw(service.url, requestHead('GET', path, []));
        assert.ok([400, 404].includes(answer.status), `${path}: ${answer.text}`);
        assert.equal(jsonBodies(answer.text).length, 1);
      }
    });

    test('ids with NUL, separators or dots answer 4xx and find nothing', async () => {
      for (const id of [
        '%00',
        'a%00b',
        '..',
        '%2e%2e',
        '%2e%2e%2faudit',
        'a%2fb',
        'a%5cb',
        '%0d%0aX-A:b',
        '*',
        "'or'1",
        'é',
        ' ',
      ]) {
        const answer = await sendRaw(service.url, requestHead('GET', `/v1/users/${id}`, [auth()]));
        assert.ok(answer.status >= 400 && answer.status < 500, `${id}: ${answer.text}`);
        assert.equal(jsonBodies(answer.text).length, 1, answer.text);
      }
    });

    test('an id of 5,000 characters answers 4xx', async () => {
      const { status } = await get(`/v1/users/${'a'.repeat(5000)}`);
      assert.ok([400, 404, 422].includes(status), String(status));
    });

    test('doubled slashes, trailing slashes and other cases are other paths', async () => {
      for (const path of ['//v1/users', '/v1//users', '/v1/users/', '/V1/users', '/v1/Users', '/v1/users;a=b']) {
        const answer = await sendRaw(service.url, requestHead('GET', path, [auth()]));
        // An id that is empty is an id that is not valid; everything else is no route at all.
        assert.equal(answer.status, path.endsWith('/') ? 422 : 404, path);
      }
    });

    test('a limit of 0, below, broken or huge answers 422', async () => {
      for (const limit of ['0', '-1', '1.5', '1e3', '1001', '99999999999999999999', '0x10', '+5', '%205', 'NaN', '١']) {
        for (const list of ['/v1/users', '/v1/groups', '/v1/tenants', '/auth/tokens', '/v1/audit']) {
          await invalid(get(`${list}?limit=${encodeURI(decodeURI(limit))}`), '/query/limit');
        }
      }
    });

    test('duplicate and unknown parameters answer 422', async () => {
      await invalid(get('/v1/users?limit=1&limit=2'), '/query/limit');
      await invalid(get('/v1/users?limit=1&%6cimit=2'), '/query/limit');
      await invalid(get('/v1/audit?actor=a&actor=b'), '/query/actor');
      await invalid(get(`/v1/users?${MARKER}=1`), `/query/${MARKER}`);
      await invalid(get('/auth/me?a=1'), '/query/a');
      await invalid(get('/v1/users?__proto__=1'), '/query/__proto__');
      await invalid(get('/v1/users?limit%5B%5D=1'), '/query');
    });

    test('an empty parameter counts as absent', async () => {
      await ok(get('/v1/users?limit=&cursor='));
      const [whole, empty] = [await ok(get('/auth/tokens')), await ok(get('/auth/tokens?user_id='))];
      assert.deepEqual(empty, whole);
    });

    test('a query that cannot be read answers 400', async () => {
      for (const query of ['limit=%', 'limit=%zz', 'actor=a%00b', 'actor=%c3%28', 'a=1&'.repeat(100)]) {
        await refused(get(`/v1/audit?${query}`), 400, 'INVALID_REQUEST');
      }
    });

    const cursor = (key: unknown) => Buffer.from(JSON.stringify(key)).toString('base64url');

    test('a cursor that is garbage answers 422', async () => {
      const garbage = [
        MARKER,
        'x'.repeat(512),
        cursor([]),
        cursor(['a', 'b']),
        cursor([1]),
        cursor([null]),
        cursor({}),
        `${cursor(['user_1'])}=`,
        cursor(['user_\u0000']),
        cursor(["' or 1=1 --"]),
      ];
      for (const list of ['/v1/users', '/v1/groups', '/v1/tenants', '/auth/tokens', '/v1/audit']) {
        for (const value of garbage) await invalid(get(`${list}?cursor=${encodeURIComponent(value)}`), '/query/cursor');
      }
    });

    test('a cursor of another list answers 422', async () => {
      const user = await ok(service.call('POST', '/v1/users', { body: { email: 'page@example.com' } }), 201);
      const { next_cursor } = await ok(get('/v1/users?limit=1'));
      assert.equal(typeof next_cursor, 'string', `${user.id} makes a second page`);
      for (const list of ['/v1/groups', '/v1/tenants', '/auth/tokens', '/v1/audit']) {
        await invalid(get(`${list}?cursor=${next_cursor}`), '/query/cursor');
      }
    });

    test('times that are none answer 422', async () => {
      for (const time of [
        'yesterday',
        '2026-13-01T00:00:00Z',
        '2026-02-30',
        '2026-11',
        '2026-02-30T00:00:00Z',
        '1',
        '9'.repeat(39),
      ]) {
        await invalid(get(`/v1/audit?from=${time}`), '/query/from');
        await invalid(get(`/v1/audit?to=${time}`), '/query/to');
      }
      for (const time of ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z']) {
        await ok(get(`/v1/audit?from=${time}&to=${time}`));
      }
    });
  });

  describe('in tokens', () => {
    const me = (token: string) => service.call('GET', '/auth/me', { token });
    let session: string;
    let other: Service;

    before(async () => {
      session = await logIn(service, await addPerson(service));
      other = await startService(database);
    });
    after(() => other.close());

    test('the session that the forgeries are made from works', async () => {
      await ok(me(session));
    });

    test('another algorithm, key or header never makes a token', async () => {
      const { keys } = await ok(service.call('GET', '/.well-known/jwks.json', { token: null }));
      const [header, payload] = session.split('.').map((part) => Buffer.from(part, 'base64url'));
      assert.ok(header !== undefined && payload !== undefined);
      const { kid } = JSON.parse(header.toString());
      const publicKey = Buffer.from(keys[0].x, 'base64url');
      const stranger = generateKeyPairSync('ed25519');
      const strangerJwk = stranger.publicKey.export({ format: 'jwk' });
      const byStranger = (text: Buffer) => sign(null, text, stranger.privateKey);
      const byPublicKey = (text: Buffer) => createHmac('sha256', publicKey).update(text).digest();
      const byNobody = () => Buffer.alloc(0);
      const forge = (head: object, signed: (text: Buffer) => Buffer, claims: Buffer = payload) => {
        const text = `${b64(JSON.stringify(head))}.${b64(claims)}`;
        return `${text}.${b64(signed(Buffer.from(text)))}`;
      };
      const [, , signature] = session.split('.');
      const owner = { ...JSON.parse(payload.toString()), sub: (await ok(service.call('GET', '/auth/me'))).user.id };

      const forgeries: Record<string, string> = {
        'alg none': forge({ alg: 'none', typ: 'JWT', kid }, byNobody),
        'alg None': forge({ alg: 'None', typ: 'JWT', kid }, byNobody),
        'alg missing': forge({ typ: 'JWT', kid }, byNobody),
        'alg HS256 with the public key': forge({ alg: 'HS256', typ: 'JWT', kid }, byPublicKey),
        'our kid, another EdDSA key': forge({ alg: 'EdDSA', typ: 'JWT', kid }, byStranger),
        'kid missing': forge({ alg: 'EdDSA', typ: 'JWT' }, byStranger),
        'kid a path': forge({ alg: 'EdDSA', typ: 'JWT', kid: '../../../dev/null' }, byStranger),
        'kid SQL': forge({ alg: 'EdDSA', typ: 'JWT', kid: `' or '1'='1` }, byStranger),
        'kid an object': forge({ alg: 'EdDSA', typ: 'JWT', kid: { $ne: null } }, byStranger),
        'kid a prototype': forge({ alg: 'EdDSA', typ: 'JWT', kid: '__proto__' }, byStranger),
        'a key in the header': forge({ alg: 'EdDSA', typ: 'JWT', kid, jwk: strangerJwk }, byStranger),
        'a jku': forge({ alg: 'EdDSA', typ: 'JWT', kid, jku: `${other.url}/.well-known/jwks.json` }, byStranger),
        'an x5u': forge({ alg: 'EdDSA', typ: 'JWT', kid, x5u: 'https://example.com' }, byStranger),
        'an unknown crit': forge({ alg: 'EdDSA', typ: 'JWT', kid, crit: ['exp'], exp: 1 }, byStranger),
        'b64 false': forge({ alg: 'EdDSA', typ: 'JWT', kid, crit: ['b64'], b64: false }, byStranger),
        'changed claims': `${b64(header)}.${b64(JSON.stringify(owner))}.${signature}`,
        'claims that are no object': forge({ alg: 'EdDSA', typ: 'JWT', kid }, byStranger, Buffer.from('[]')),
        'a header that is no object': `${b64('null')}.${b64(payload)}.${signature}`,
        'no signature': `${b64(header)}.${b64(payload)}.`,
        'a signature of zeros': `${b64(header)}.${b64(payload)}.${b64(Buffer.alloc(64))}`,
        'an encrypted token': `${b64('{"alg":"dir","enc":"A256GCM"}')}..AAAA.AAAA.AAAA`,
        'a second spelling of the signature': respelled(session),
      };
      for (const [name, token] of Object.entries(forgeries)) {
        for (const text of [token, `cv_pat_${token}`]) {
          const answer = await me(text);
          assert.equal(answer.status, 401, `${name}: ${answer.text}`);
          assert.equal(answer.body.error.code, 'INVALID_TOKEN');
        }
      }
    });

    test('a token of another installation is refused', async () => {
      await refused(me(other.adminToken), 401, 'INVALID_TOKEN');
    });

    test('a session is no personal access token, and the reverse', async () => {
      await refused(me(`cv_pat_${session}`), 401, 'INVALID_TOKEN');
      await refused(me(service.adminToken.slice('cv_pat_'.length)), 401, 'INVALID_TOKEN');
      await refused(me(`cv_pat_${service.adminToken}`), 401, 'INVALID_TOKEN');
    });

    test('other schemes and odd spellings of the header are refused', async () => {
      const token = service.adminToken;
      const headers = [
        `Basic ${Buffer.from(`admin:${token}`).toString('base64')}`,
        token,
        'Bearer',
        'Bearer ',
        `Bearer  ${token}`,
        `Bearer ${token} ${token}`,
        `Bearer ${token},`,
        `Bearer "${token}"`,
        `Bearer ${'a'.repeat(5000)}`,
        `Bearer ${token}${'A'.repeat(5000)}`,
      ];
      for (const authorization of headers) {
        const answer = await service.call('GET', '/auth/me', { token: null, headers: { authorization } });
        assert.equal(answer.status, 401, `${authorization.slice(0, 12)}…: ${answer.text}`);
      }
    });

    test('a token in the query or the body is no credential', async () => {
      const answer = await service.call('GET', `/auth/me?access_token=${service.adminToken}`, { token: null });
      assert.equal(answer.status, 401);
    });

    test('two Authorization headers are refused, whichever comes first', async () => {
      const [good, bad] = [`Authorization: Bearer ${service.adminToken}`, `Authorization: Bearer ${MARKER}`];
      for (const lines of [
        [good, bad],
        [bad, good],
        [good, good],
      ]) {
        const answer = await sendRaw(service.url, requestHead('GET', '/auth/me', lines));
        assert.ok([400, 401].includes(answer.status), answer.text);
      }
    });
  });

  describe('in HTTP itself', () => {
    test('headers that are too large answer 431', async () => {
      const answer = await service.call('GET', '/auth/me', { headers: { 'x-large': MARKER.repeat(2000) } });
      assert.equal(answer.status, 431);
      const { info } = await ok(service.call('GET', '/openapi.json'));
      assert.match(info.description, /431/);
    });

    test('what is no HTTP is refused with the headers of every other answer', async () => {
      const { text } = await sendRaw(service.url, `${MARKER}\r\n\r\n`);
      const ordinary = await service.call('GET', '/nothing');
      for (const name of ['cache-control', 'content-security-policy', 'referrer-policy', 'x-content-type-options']) {
        assert.ok(text.toLowerCase().includes(`\n${name}: ${ordinary.headers.get(name)}\r\n`), name);
      }
    });

    test('no body answers HEAD, not even to what cannot be read', async () => {
      const { text, status } = await sendRaw(service.url, 'HEAD /auth/me?\u00e9 HTTP/1.1\r\nHost: localhost\r\n\r\n');
      assert.equal(status, 400);
      assert.match(text, /\r\n\r\n$/);
    });

    const NOT_HTTP: Record<string, string> = {
      'a line that is no request': `${MARKER}\r\n\r\n`,
      'an unknown method': `${'FETCH'} /auth/me HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      'an unknown version': 'GET /auth/me HTTP/9.9\r\nHost: localhost\r\n\r\n',
      'a space in the target': `GET /auth me HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      'a header without a colon': `GET /auth/me HTTP/1.1\r\nHost: localhost\r\n${MARKER}\r\n\r\n`,
      'a header with a space in its name': `GET /auth/me HTTP/1.1\r\nHost: localhost\r\nX Y: ${MARKER}\r\n\r\n`,
      'a NUL in a header': `GET /auth/me HTTP/1.1\r\nHost: localhost\r\nX-A: a\0b\r\n\r\n`,
      'a folded header': `GET /auth/me HTTP/1.1\r\nHost: localhost\r\nX-A: a\r\n b\r\n\r\n`,
      'two lengths': 'POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
      'a length and chunks': `POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
      'a negative length': 'POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n',
      'a chunk size that is none':
        'POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      'an unknown transfer coding': 'POST /auth/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: rot13\r\n\r\n',
      'TLS on a plain port': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'no Host header': 'GET /health HTTP/1.1\r\n\r\n',
      'no Host header, and no such route': 'GET /nothing HTTP/1.1\r\n\r\n',
      'two Host headers': 'GET /health HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n',
      'the same Host header twice': 'GET /health HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n',
      'two empty Host headers': 'GET /health HTTP/1.1\r\nHost:\r\nHost:\r\n\r\n',
      'two Host headers in HTTP/1.0': 'GET /health HTTP/1.0\r\nHost: a.example\r\nHost: b.example\r\n\r\n',
      'two Host headers, and no such route': 'GET /nothing HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
      'a Host header that is no host': 'GET /health HTTP/1.1\r\nHost: a.example/path\r\n\r\n',
      'an expectation that is not known': 'GET /health HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\n\r\n',
    };
    for (const [name, bytes] of Object.entries(NOT_HTTP)) {
      test(`${name} answers 4xx with the error body`, async () => {
        const answer = await sendRaw(service.url, bytes);
        assert.ok(answer.status >= 400 && answer.status < 500, answer.text);
        assertErrorEnvelope(answer.text);
      });
    }

    test('a target in another form does not reach another route', async () => {
      for (const target of [
        `http://example.com/auth/me`,
        '*',
        'auth/me',
        'example.com:443',
        '/auth/me#x',
        '\\auth\\me',
      ]) {
        const answer = await sendRaw(service.url, requestHead('GET', target, []));
        assert.ok(answer.status >= 400 && answer.status < 500, `${target}: ${answer.text}`);
      }
    });

    test('garbage behind a good request is refused by itself', async () => {
      const good = requestHead('GET', '/auth/me', [auth(), KEEP_ALIVE]);
      const answer = await sendRaw(service.url, `${good}${good}${MARKER} ${MARKER}\r\n\r\n`);
      const statuses = [...answer.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => match[1]);
      // What was not answered yet when the garbage was read may go unanswered, but nothing else may be answered.
      assert.equal(statuses.pop(), '400', answer.text);
      for (const status of statuses) assert.equal(status, '200');
      assert.ok(answer.isClosed);
    });

    test('a hundred requests in one go are answered in order', async () => {
      const requests = Array.from({ length: 100 }, (_, i) => requestHead('GET', `/nothing/${i}`, [KEEP_ALIVE])).join(
        '',
      );
      const answer = await sendRaw(service.url, requests, { waitMs: 1500 });
      assert.equal([...answer.text.matchAll(/HTTP\/1\.1 404 /g)].length, 100);
    });

    test('an answer never carries a request id of the caller’s choice', async () => {
      const answer = await service.call('GET', '/auth/me', { headers: { 'x-request-id': MARKER } });
      assert.ok(!answer.headers.get('x-request-id')?.includes(MARKER));
    });

    test('a client that sends its headers byte by byte is cut off', async () => {
      const answer = await slow;
      const isInTime = answer.isClosed && answer.elapsedMs < SLOW_MAX_MS;
      assert.ok(isInTime, `the connection was still open after ${SLOW_MAX_MS} ms`);
    });
  });

  describe('after all of it', () => {
    test('the service still answers', async () => {
      await ok(service.call('GET', '/auth/me'));
      await ok(service.call('GET', '/health/ready'));
      const tenant = await addTenant(service);
      await ok(service.call('GET', '/v1/users', { token: tenant.owner.token }));
      assert.equal((await ok(service.call('GET', '/v1/audit/verify'))).valid, true);
    });

    test('nothing that was sent is in the log', () => {
      assert.deepEqual(
        service.logs.filter((line) => line.includes(MARKER)),
        [],
      );
    });

    test('memory is back to about what it was', () => {
      const grown = process.memoryUsage().rss - rssBefore;
      assert.ok(grown < RSS_GROWTH_MAX_BYTES, `grew by ${Math.round(grown / 1024 / 1024)} MB`);
    });
  });
});

const KEEP_ALIVE = 'Connection: keep-alive';

function requestHead(method: string, target: string, headers: string[]): string {
  const connection = headers.includes(KEEP_ALIVE) ? [] : ['Connection: close'];
  return [`${method} ${target} HTTP/1.1`, 'Host: localhost', ...connection, ...headers, '', ''].join('\r\n');
}

function assertErrorEnvelope(text: string): void {
  const id = /^x-request-id: (req_[0-9a-z]{26})\r?$/im.exec(text)?.[1];
  assert.ok(id !== undefined, `no request id in ${text}`);
  const [body] = jsonBodies(text) as [{ error?: { code?: string; message?: string; request_id?: string } }?];
  assert.equal(body?.error?.request_id, id);
  assert.equal(typeof body?.error?.code, 'string');
  assert.ok(!String(body?.error?.message).includes(MARKER));
}

function b64(text: string | Buffer): string {
  return Buffer.from(text).toString('base64url');
}

/** The same signature with other unused bits in its last character: the same bytes, another text. */
function respelled(jwt: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(jwt.at(-1) ?? '');
  return jwt.slice(0, -1) + alphabet[last ^ 1];
}
