import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { encodeCursor } from '../server/src/kernel/wire/cursor.ts';
import { DECLARATIONS } from '../server/src/tools/declarations.ts';
import {
  addPerson,
  addTenant,
  allPages,
  hashInFull,
  holdClock,
  invalid,
  ok,
  openSession,
  type Person,
  refused,
  tryLogIn,
} from './support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from './support/service.ts';
import { beginTotp, codeOf } from './support/totp.ts';

/** One test for each fault that was found in a product of this kind and that Coffer could share. */
onBothDatabases('faults of other products', (database) => {
  let service: Service;
  let admin: Person;
  let member: Person;

  before(async () => {
    service = await startService(database, { env: { CV_TRUSTED_PROXIES: '127.0.0.1' } });
    admin = await addPerson(service, { role: 'admin' });
    member = await addPerson(service);
  });
  after(() => service.close());

  let lastHost = 0;
  const attempt = (person: Pick<Person, 'email' | 'password' | 'tenant'>, more: object = {}) => {
    lastHost++;
    return tryLogIn(service, person, more, { 'x-forwarded-for': `198.19.0.${lastHost}` });
  };

  test('reserved names cannot be used by tenants and groups, in any case', async () => {
    const reserved = ['root', 'default', 'collisions', 'system', 'operator', 'admin', 'owner', 'self', 'all', 'none'];
    for (const name of reserved.flatMap((word) => [
      word,
      word.toUpperCase(),
      `${word[0]?.toUpperCase()}${word.slice(1)}`,
    ])) {
      await invalid(service.call('POST', '/v1/groups', { body: { name } }), '/body/name');
      const body = { name, owner_email: 'o@example.com' };
      await invalid(service.call('POST', '/v1/tenants', { body }), '/body/name');
    }
    const tenants = await allPages(service, '/v1/tenants', 'tenants');
    assert.deepEqual(
      tenants.map((tenant) => tenant.name.toLowerCase()).filter((name) => reserved.includes(name)),
      ['default'],
    );
  });

  test('every id and cursor is looked up inside the caller’s tenant', async () => {
    const [one, two] = [await addTenant(service), await addTenant(service)];
    const theirs = { token: two.owner.token };
    const group = await ok(service.call('POST', '/v1/groups', { ...theirs, body: { name: 'team' } }), 201);
    const { credential } = await ok(service.call('GET', '/auth/me', theirs));
    const mine = { token: one.owner.token };
    for (const path of [`/v1/users/${two.owner.id}`, `/v1/groups/${group.id}`, `/auth/tokens/${credential.id}`]) {
      await refused(service.call('GET', path, mine), 404, 'NOT_FOUND');
    }
    await refused(service.call('DELETE', `/auth/tokens/${credential.id}`, mine), 404, 'NOT_FOUND');
    await ok(service.call('GET', '/auth/me', theirs));
    // A cursor that points into the other tenant's rows, theirs or made by hand, is none.
    const page = await ok(service.call('GET', '/v1/audit?limit=1', theirs));
    for (const [path, cursor] of [
      ['/v1/audit', page.next_cursor],
      ['/v1/audit', encodeCursor([page.entries[0].id, '0'])],
      ['/v1/users', encodeCursor([two.owner.id])],
      ['/v1/groups', encodeCursor([group.id])],
      ['/auth/tokens', encodeCursor([credential.id])],
    ] as const) {
      await invalid(service.call('GET', `${path}?cursor=${cursor}`, mine), '/query/cursor');
    }
  });

  test('a name that grants rights has one spelling', async () => {
    for (const role of ['Owner', 'OWNER', ' owner', 'owner\u0000', 'ᴏwner']) {
      await invalid(service.call('POST', '/v1/users', { body: { email: 'a@example.com', role } }), '/body/role');
    }
    const body = { email: member.email.toUpperCase() };
    await refused(service.call('POST', '/v1/users', { body }), 409, 'ALREADY_EXISTS');
    const scope = { actions: ['Users:List'] };
    const made = service.call('POST', '/auth/tokens', { token: admin.token, body: { name: 'x', scope } });
    await invalid(made, '/body/scope/actions/0');
    const tenant = await addTenant(service);
    const inside = await addPerson(service, { tenant });
    await refused(attempt({ ...inside, tenant: tenant.name.toUpperCase() }), 401, 'LOGIN_DENIED');
  });

  test('text of an identity never becomes a pattern', async () => {
    for (const [i, email] of [
      '*@example.com',
      'self/**@example.com',
      "{user}+%_'@example.com",
      '?@example.com',
    ].entries()) {
      const person = await addPerson(service, { email });
      await ok(service.call('PATCH', `/v1/users/${person.id}`, { body: { name: ['*', '**', 'self/*', '%'][i] } }));
      for (const path of ['/v1/users', '/v1/groups', '/v1/audit', `/v1/users/${admin.id}`]) {
        await refused(service.call('GET', path, { token: person.token }), 403, 'INSUFFICIENT_PRIVILEGE');
      }
      const found = await allPages(service, `/v1/audit?actor=${encodeURIComponent(email)}`, 'entries');
      assert.ok(found.length > 0 && found.every((entry) => entry.actor.name === email));
    }
  });

  test('bodies, headers and values never reach the log or the audit log', async () => {
    const marker = 'never-logged-marker';
    const headers = { 'x-custom': marker, cookie: marker, 'idempotency-key': marker };
    const bodies = [
      `{"email": "${marker}`,
      `${marker}`,
      JSON.stringify({ email: marker, password: marker, [marker]: marker }),
      JSON.stringify({ email: [marker], role: { [marker]: 1 } }),
      JSON.stringify({ name: marker.repeat(5000) }),
    ];
    for (const body of bodies) {
      for (const token of [service.adminToken, null, marker]) {
        await service.call('POST', '/v1/users', { body, headers, token });
        await service.call('POST', '/auth/login', { body, headers, token });
      }
    }
    await service.call('GET', `/v1/users?q=${marker}`, { headers });
    await service.call('GET', `/v1/users?q=${marker}`, { headers, token: null });
    assert.deepEqual(
      service.logs.filter((line) => line.includes(marker)),
      [],
    );
    await service.app.kernel.audit.settle();
    const rows = await service.app.kernel.database.read.selectFrom('audit_segments').selectAll().execute();
    const unmarked = rows.map((row) => row.entries).filter((entries) => entries.includes(marker));
    assert.deepEqual(unmarked, []);
  });

  test('back-off cannot be dodged by case, spaces or the name of the tenant', async () => {
    const person = await addPerson(service);
    const [name = '', domain] = person.email.split('@');
    const spellings: object[] = [
      {},
      { email: person.email.toUpperCase() },
      { email: `${name.toUpperCase()}@${domain}` },
      { tenant: 'default' },
      { email: `${name}@${domain?.toUpperCase()}`, tenant: 'default' },
    ];
    for (const more of spellings) {
      const tried = attempt({ ...person, password: 'a wrong guess' }, more);
      await holdClock(service, refused(tried, 401, 'LOGIN_DENIED'));
    }
    const blocked = spellings.map((more) => refused(attempt(person, more), 429, 'RATE_LIMIT_EXCEEDED'));
    await holdClock(service, Promise.all(blocked));
    for (const email of [` ${person.email}`, `${person.email} `, `${person.email}\t`, `${name}\u00a0@${domain}`]) {
      await invalid(attempt(person, { email }), '/body/email');
    }
  });

  test('a login takes the same time whether or not the account exists', async () => {
    const withPassword = await addPerson(service);
    await hashInFull(service, withPassword);
    const body = { email: 'no-password@example.com' };
    await ok(service.call('POST', '/v1/users', { body }), 201);
    // Processor time, of the service in this process: what else the machine does has no part in it.
    const timed = async (email: string, tenant?: string) => {
      const before = process.cpuUsage();
      await refused(attempt({ email, password: 'a wrong guess', tenant }), 401, 'LOGIN_DENIED');
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const times: Record<string, number[]> = { known: [], unknown: [], passwordless: [], 'unknown tenant': [] };
    for (let round = 0; round < 4; round++) {
      times['known']?.push(await timed(withPassword.email));
      times['unknown']?.push(await timed(`unknown-${round}@example.com`));
      times['passwordless']?.push(await timed(body.email));
      times['unknown tenant']?.push(await timed(withPassword.email, `unknown-${round}`));
    }
    // The least of each, since background jobs can only add. The hash takes nearly all of it, or none.
    const least = Object.entries(times).map(([kind, values]) => [kind, Math.min(...values)] as const);
    const [, known] = least[0] ?? ['', 0];
    for (const [kind, time] of least) assert.ok(time > known / 3 && time < known * 3, `${kind}: ${least}`);
  });

  test('depth, size, number of keys and length of texts and tokens are bounded before work is done', async () => {
    const deep = '['.repeat(30_000) + ']'.repeat(30_000);
    const many = `{${Array.from({ length: 5000 }, (_, i) => `"k${i}":1`).join()}}`;
    const long = JSON.stringify({ email: 'a@example.com', name: 'x'.repeat(60_000) });
    const large = JSON.stringify({ email: 'a@example.com', name: 'x'.repeat(70_000) });
    const tries: [string, number][] = [
      [deep, 400],
      [many, 422],
      [long, 422],
      [large, 413],
    ];
    for (const [body, status] of tries) {
      for (const [path, token] of [
        ['/v1/users', service.adminToken],
        ['/auth/login', null],
      ] as const) {
        const before = process.cpuUsage();
        const answer = await service.call('POST', path, { body, token });
        assert.equal(answer.status, status, answer.text);
        assert.ok(answer.text.length < 10_000, 'a refusal is short, however long the request');
        const { user, system } = process.cpuUsage(before);
        assert.ok(user + system < 2_000_000, `${user + system} µs of the processor`);
      }
    }
    const token = `cv_pat_${'a'.repeat(8000)}.b.c`;
    await refused(service.call('GET', '/auth/me', { token }), 401, 'INVALID_TOKEN');
  });

  test('an unauthenticated call can only log in, accept an invitation, open a link or sign up', async () => {
    const open = DECLARATIONS.filter(
      (e) => e.credentials === 'public' && (e.effect === 'change' || e.method !== 'GET'),
    );
    assert.deepEqual(
      open.map((e) => e.name),
      [
        // They ask for a sign-in at the provider of a tenant, or for a code that somebody confirms who is logged in.
        'beginSsoSignIn',
        'beginBrowserSignIn',
        'finishBrowserSignIn',
        'finishSsoSignIn',
        // It asks for a token that the provider signed.
        'backchannelLogout',
        'startDeviceLogin',
        'pollDeviceLogin',
        'login',
        'passkeyLoginOptions',
        'passkeyLogin',
        'readInvite',
        'acceptInvite',
        // Only somebody with the link can read what it returns.
        'openShare',
        'exchangeFederatedToken',
        'workloadLogin',
        // It asks for the certificate of another region.
        'pushDirectory',
        // Off unless the operator turns it on.
        'signUp',
        'verifySignup',
        'resendVerification',
        // It asks for a signature of the payment processor.
        'billingWebhook',
      ],
    );
    const { read } = service.app.kernel.database;
    const state = async () => ({
      keys: await read.selectFrom('signing_keys').select(['kid', 'verifies_until']).execute(),
      tenantKeys: (await read.selectFrom('keys').selectAll().execute()).length,
      users: (await read.selectFrom('users').selectAll().execute()).length,
      tokens: (await read.selectFrom('tokens').selectAll().execute()).length,
      epochs: await read.selectFrom('tenants').select(['tenant_id', 'epoch']).execute(),
    });
    const before = await state();
    for (const { method, path } of DECLARATIONS.filter((e) => e.name !== 'login')) {
      const url = path.replace(/\{[a-z_]+\}/g, admin.id);
      await service.call(method, url, { token: null, ...(method !== 'GET' && { body: {} }) });
    }
    assert.deepEqual(await state(), before);
  });

  test('an error after authentication yields no token', async () => {
    const person = await addPerson(service);
    const otp = codeOf(service, await beginTotp(service, person.id));
    const confirm = { token: await openSession(service, person.id), body: { otp } };
    await ok(service.call('POST', '/auth/mfa/totp/confirm', confirm));
    const sessions = async () => (await ok(service.call('GET', `/auth/tokens?user_id=${person.id}`))).tokens.length;
    const before = await sessions();
    const refusals = [await attempt(person), await attempt(person, { otp }), await attempt(person, { otp: 'abcdef' })];
    assert.deepEqual(
      refusals.map((answer: Answer) => [answer.status, answer.body.token]),
      [
        [403, undefined],
        [401, undefined],
        [401, undefined],
      ],
    );
    assert.equal(await sessions(), before);
  });

  test('no limit lifts the cap of a page', async () => {
    const { owner } = await addTenant(service);
    const made = Array.from({ length: 105 }, (_, i) =>
      service.call('POST', '/v1/groups', { token: owner.token, body: { name: `g${i}` } }),
    );
    for (const answer of made) await ok(answer, 201);
    const list = (query: string) => service.call('GET', `/v1/groups${query}`, { token: owner.token });
    assert.equal((await ok(list(''))).groups.length, 100, 'the default');
    assert.equal((await ok(list('?limit='))).groups.length, 100);
    assert.equal((await ok(list('?limit=1000'))).groups.length, 105);
    for (const limit of [
      '0',
      '-1',
      '-1000',
      '1001',
      '1.5',
      '1e9',
      '00',
      '18446744073709551616',
      'all',
      '5,6',
      '5%00',
    ]) {
      const answer = await list(`?limit=${limit}`);
      assert.ok([400, 422].includes(answer.status), `${limit}: ${answer.status}`);
    }
  });

  test('an address from a header counts only behind a trusted proxy, and none is trusted by default', async () => {
    const distrustful = await startService(database);
    const headers = {
      'x-forwarded-for': '203.0.113.5',
      'x-real-ip': '203.0.113.5',
      forwarded: 'for=203.0.113.5',
      'cf-connecting-ip': '203.0.113.5',
      'true-client-ip': '203.0.113.5',
    };
    const ipOf = async (target: Service, more: Record<string, string>) => {
      const answer = await target.call('GET', '/auth/me', { headers: more });
      const { entries } = await ok(target.call('GET', '/v1/audit?action=auth:me&limit=20'));
      return entries.find((e: Answer['body']) => e.request_id === answer.headers.get('x-request-id')).ip;
    };
    assert.equal(await ipOf(distrustful, headers), '127.0.0.1');
    const { 'x-forwarded-for': _, ...others } = headers;
    assert.equal(await ipOf(service, headers), '203.0.113.5');
    assert.equal(await ipOf(service, others), '127.0.0.1', 'no other header is read');
    assert.equal(await ipOf(service, { 'x-forwarded-for': '10.0.0.1, 203.0.113.5' }), '203.0.113.5');
    assert.equal(await ipOf(service, { 'x-forwarded-for': '203.0.113.5, 127.0.0.1' }), '203.0.113.5');
    await distrustful.close();
  });
});
