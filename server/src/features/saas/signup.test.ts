import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type MailServer, startMailServer, textPart } from '../../../../test/support/mail-server.ts';
import { addPerson, invalid, ok, refused } from '../../../../test/support/people.ts';
import { statementsDuring } from '../../../../test/support/queries.ts';
import { CHEAP_PASSWORDS, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import {
  mailTo,
  newApplicant,
  newNetwork,
  post,
  SIGNUP_ENV,
  signedUp,
  tokenIn,
} from '../../../../test/support/signups.ts';
import { until } from '../../../../test/support/until.ts';
import { auditOf, runJobs } from '../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { COST_DEFAULT } from '../../kernel/crypto/argon2-cost.ts';
import { setPasswordCost } from '../../kernel/crypto/passwords.ts';
import { STRANGER_MAILS_PER_DAY_MAX as MAILS_PER_DAY_MAX, mailboxOf } from '../mail/index.ts';

test('addresses of one mailbox are told apart from others', () => {
  for (const [address, mailbox] of [
    ['ann@example.com', 'ann@example.com'],
    ['ann+news+more@example.com', 'ann@example.com'],
    ['a.nn@example.com', 'a.nn@example.com'],
    ['a.n.n+x@gmail.com', 'ann@gmail.com'],
    ['ann@googlemail.com', 'ann@gmail.com'],
  ] as const)
    assert.equal(mailboxOf(address), mailbox);
});

onSqliteAtLanding('sign-up', (database) => {
  let server: MailServer;
  let service: Service;
  before(async () => {
    server = await startMailServer();
    service = await startService(database, { env: { ...SIGNUP_ENV, CV_SMTP_URL: server.url } });
  });
  after(() => service.close());

  const signUp = (applicant: object, network?: string) => post(service, '/saas/signup', applicant, network);
  const verify = (token: string, password: string, more: object = {}) =>
    post(service, '/saas/verify', { token, password, ...more });
  const resend = (email: string, network?: string) => post(service, '/saas/resend', { email }, network);
  const read = () => service.app.kernel.database.read;

  const waiting = () => read().selectFrom('outgoing_mail').select('mail_id').execute();

  test('a verified sign-up is a tenant of its own on the starter plan', async () => {
    const applicant = newApplicant({ organization: 'Żółta Łódź & Sons' });
    const answer = await ok(signUp(applicant), 201);
    assert.deepEqual(Object.keys(answer).sort(), ['status', 'tenant_id']);
    assert.equal(answer.status, 'pending_verification');
    const token = await tokenIn(server, applicant.email);
    assert.ok(
      mailTo(server, applicant.email)[0]?.source.includes(token),
      'it can be copied from the mail as it was sent',
    );
    const verified = await ok(verify(token, applicant.password));
    assert.deepEqual(verified, { tenant_id: answer.tenant_id, tenant: verified.tenant, status: 'active' });
    assert.match(verified.tenant, /^zo-ta-odz-sons/);
    const { email, password } = applicant;
    const session = await ok(post(service, '/auth/login', { email, password, tenant: verified.tenant }));
    const me = await ok(service.call('GET', '/auth/me', { token: session.token }));
    assert.deepEqual([me.user.role, me.tenant.plan, me.tenant.id], ['owner', 'starter', answer.tenant_id]);
    const actions = (await auditOf(service, '', session.token)).map(({ action }: { action: string }) => action);
    assert.ok(actions.includes('saas:verify'));
  });

  test('before the address is verified there is no tenant, and nobody can log in', async () => {
    const applicant = newApplicant();
    const { tenant_id } = await ok(signUp(applicant), 201);
    await tokenIn(server, applicant.email);
    await refused(service.call('GET', `/v1/tenants/${tenant_id}`), 404, 'NOT_FOUND');
    const { email, password } = applicant;
    await refused(post(service, '/auth/login', { email, password, tenant: 'firm' }), 401, 'LOGIN_DENIED');
  });

  test('a token works once, for one of ten who send it at the same time', async () => {
    const applicant = newApplicant();
    await ok(signUp(applicant), 201);
    const token = await tokenIn(server, applicant.email);
    const answers = await Promise.all(Array.from({ length: 10 }, () => verify(token, applicant.password)));
    const statuses = answers.map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 1);
    assert.ok(statuses.every((status) => [200, 401, 429].includes(status)));
    await refused(verify(token, applicant.password), 401, 'LOGIN_DENIED');
  });

  test('only the newest token works, and only for a day', async () => {
    const applicant = newApplicant();
    await ok(signUp(applicant), 201);
    const first = await tokenIn(server, applicant.email);
    await ok(resend(applicant.email));
    const second = await tokenIn(server, applicant.email, 2);
    await ok(signUp({ ...applicant, password: 'tulips of another day' }), 201);
    const third = await tokenIn(server, applicant.email, 3);
    assert.equal(new Set([first, second, third]).size, 3);
    const password = 'tulips of another day';
    for (const old of [first, second]) await refused(verify(old, password), 401, 'LOGIN_DENIED');
    service.clock.advance(DAY_MS);
    await refused(verify(third, password), 401, 'LOGIN_DENIED');
    await ok(resend(applicant.email));
    const { tenant } = await ok(verify(await tokenIn(server, applicant.email, 4), password));
    const login = { email: applicant.email, password, tenant };
    await ok(post(service, '/auth/login', login));
  });

  test('anyone who signs up with the address of somebody else gets no password into their account', async () => {
    const owner = newApplicant();
    const foreign = { ...newApplicant(), email: owner.email };
    await ok(signUp(owner), 201);
    await ok(signUp(foreign), 201);
    const token = await tokenIn(server, owner.email, 2);
    await invalid(post(service, '/saas/verify', { token }), '/body/password');
    const error = await refused(verify(token, owner.password), 401, 'LOGIN_DENIED');
    assert.match(error.message, /still valid.*replace_password/);
    await invalid(verify(token, 'password1234', { replace_password: true }), '/body/password');
    const { tenant } = await ok(verify(token, owner.password, { replace_password: true }));
    const login = (password: string) => post(service, '/auth/login', { email: owner.email, password, tenant });
    await refused(login(foreign.password), 401, 'LOGIN_DENIED');
    await ok(login(owner.password));
  });

  test('the owner of a mailbox cannot guess the password of somebody who signed up with their address', async () => {
    const applicant = newApplicant();
    await ok(signUp(applicant), 201);
    const token = await tokenIn(server, applicant.email);
    service.clock.hold();
    for (let no = 0; no < 5; no++) await refused(verify(token, `tulips of guess ${no}`), 401, 'LOGIN_DENIED');
    const error = await refused(verify(token, applicant.password), 429, 'RATE_LIMIT_EXCEEDED');
    assert.match(error.message, /Too many attempts to verify/);
    service.clock.release(HOUR_MS);
    await ok(verify(token, applicant.password));
  });

  test('tokens are neither stored nor logged, and other text is refused alike', async () => {
    const applicant = newApplicant();
    await ok(signUp(applicant), 201);
    const token = await tokenIn(server, applicant.email);
    const rows = await read().selectFrom('signups').selectAll().execute();
    const stored = rows.map((row) =>
      Object.values(row)
        .map((value) => Buffer.from(String(value)).toString())
        .join(),
    );
    assert.ok(!stored.join().includes(token) && !stored.join().includes(applicant.email));
    assert.ok(!service.logs.join('').includes(token) && !service.logs.join('').includes(applicant.password));
    const other = token.endsWith('0') ? '1' : '0';
    const wrong = ['x', `${token.slice(0, -1)}${other}`, token.toLowerCase(), `cv_verify_${'A'.repeat(49)}`];
    const { password } = applicant;
    for (const text of wrong) await refused(verify(text, password), 401, 'LOGIN_DENIED');
    await invalid(verify('', password), '/body/token');
    await invalid(verify('x'.repeat(129), password), '/body/token');
    await ok(verify(token, password));
  });

  test('an address with an account gets the same answer, and signs up all the same', async () => {
    const person = await addPerson(service);
    const known = await signUp(newApplicant({ email: person.email.toUpperCase() }));
    const unknown = await signUp(newApplicant());
    assert.equal(known.status, 201);
    assert.equal(known.body.status, unknown.body.status);
    assert.deepEqual(Object.keys(known.body), Object.keys(unknown.body));
    assert.equal(known.body.tenant_id.length, unknown.body.tenant_id.length);
    const volatile = ['x-request-id', 'date', 'x-ratelimit-reset'];
    const headers = ({ headers: all }: typeof known) => [...all].filter(([name]) => !volatile.includes(name));
    assert.deepEqual(headers(known), headers(unknown));
    await until('a notice', () => mailTo(server, person.email).length > 0);
    const text = textPart(mailTo(server, person.email)[0]?.source ?? '');
    assert.match(text, /already\s+has\s+an\s+account/);
    assert.match(text, /cv_verify_/);
    const again = await resend(person.email);
    const nobody = await resend('nobody-ever@example.com');
    assert.deepEqual([again.status, again.body], [nobody.status, nobody.body]);
    await refused(service.call('GET', `/v1/tenants/${known.body.tenant_id}`), 404, 'NOT_FOUND');
    await until('an empty outbox', async () => (await waiting()).length === 0);
    assert.equal(mailTo(server, 'nobody-ever@example.com').length, 0);
    assert.equal(mailTo(server, person.email).length, 2);
  });

  test('a sign-up takes the same processor time for known and unknown addresses', async () => {
    const person = await addPerson(service);
    setPasswordCost(COST_DEFAULT);
    try {
      const timed = async (email: string) => {
        const start = process.cpuUsage();
        await ok(signUp(newApplicant({ email })), 201);
        const { user, system } = process.cpuUsage(start);
        return user + system;
      };
      const known: number[] = [];
      const unknown: number[] = [];
      for (let round = 0; round < 4; round++) {
        known.push(await timed(person.email));
        unknown.push(await timed(newApplicant().email));
      }
      // The least of each, since background work can only add. The hash takes nearly all of it, or none.
      const [a, b] = [Math.min(...known), Math.min(...unknown)];
      assert.ok(a > b / 2 && a < b * 2, `${a} ${b}`);
    } finally {
      setPasswordCost(CHEAP_PASSWORDS);
    }
  });

  test('a resend does the same work for an address with and without a sign-up, and makes nothing of the latter', async () => {
    const applicant = newApplicant();
    await ok(signUp(applicant), 201);
    await tokenIn(server, applicant.email);
    const person = await addPerson(service);
    const decoy = newApplicant({ email: person.email });
    await ok(signUp(decoy), 201);
    const writes = async (email: string) => {
      await until('an empty outbox', async () => (await waiting()).length === 0);
      const statements = await statementsDuring(() => ok(resend(email)));
      // Background work also reads and writes, but none of these tables is its own before the mail is sent.
      return statements
        .map(({ sql }) => sql)
        .filter((sql) => /"signups"|into "outgoing_mail"|"login_failures"/.test(sql))
        .sort();
    };
    const unknown = newApplicant();
    const pending = await writes(applicant.email);
    assert.ok(
      pending.some((sql) => /into "signups"/.test(sql)) && pending.some((sql) => /into "outgoing_mail"/.test(sql)),
    );
    for (const email of [unknown.email, unknown.email, decoy.email]) assert.deepEqual(await writes(email), pending);
    await tokenIn(server, applicant.email, 2);
    await until('an empty outbox', async () => (await waiting()).length === 0);
    assert.equal(mailTo(server, unknown.email).length, 0);
    const { tenant } = await signedUp(service, server, unknown);
    assert.ok(tenant !== '', 'whoever was asked about can still sign up');
  });

  test('sign-ups are slowed down by address of the person and by network, and logins are not', async () => {
    const applicant = newApplicant();
    service.clock.hold();
    for (let no = 0; no < 5; no++) await ok(signUp(applicant), 201);
    const error = await refused(signUp(applicant), 429, 'RATE_LIMIT_EXCEEDED');
    assert.match(error.message, /Too many sign-ups/);
    await refused(resend(applicant.email.toUpperCase()), 429, 'RATE_LIMIT_EXCEEDED');
    const network = newNetwork();
    for (let no = 0; no < 20; no++) await ok(signUp(newApplicant(), network), 201);
    await refused(signUp(newApplicant(), network), 429, 'RATE_LIMIT_EXCEEDED');
    const person = await addPerson(service);
    await ok(post(service, '/auth/login', { email: person.email, password: person.password }, network));
    service.clock.release(2 * HOUR_MS);
    await ok(signUp(applicant), 201);
  });

  test('nobody can fill somebody’s mailbox', async () => {
    const applicant = newApplicant();
    for (let no = 0; no < MAILS_PER_DAY_MAX + 3; no++) {
      await ok(no % 2 === 0 ? signUp(applicant) : resend(applicant.email), no % 2 === 0 ? 201 : 200);
      // A lease that ends while a mail is sent lets it be sent twice.
      await until('an empty outbox', async () => (await waiting()).length === 0);
      service.clock.advance(20 * 60_000);
    }
    await tokenIn(server, applicant.email, MAILS_PER_DAY_MAX);
    const other = newApplicant();
    await ok(signUp(other), 201);
    await tokenIn(server, other.email);
    assert.equal(mailTo(server, applicant.email).length, MAILS_PER_DAY_MAX);
    await ok(verify(await tokenIn(server, applicant.email, MAILS_PER_DAY_MAX), applicant.password));
  });

  test('nor with tags in the address, from many addresses of one network, or by flooding a domain or everybody', async () => {
    const tagged = newApplicant();
    const [local, domain] = tagged.email.split('@');
    for (let no = 0; no < MAILS_PER_DAY_MAX + 3; no++) {
      await ok(signUp({ ...tagged, email: `${local}+${no}@${domain}` }), 201);
      service.clock.advance(20 * 60_000);
    }
    await tokenIn(server, `${local}+${MAILS_PER_DAY_MAX - 1}@${domain}`);
    await until('an empty outbox', async () => (await waiting()).length === 0);
    assert.equal(mailTo(server, `${local}+${MAILS_PER_DAY_MAX}@${domain}`).length, 0);

    service.clock.hold();
    const statuses: number[] = [];
    // Each from a /64 of its own, all of one /48.
    for (let no = 0; no < 110; no++)
      statuses.push((await signUp(newApplicant(), `2001:db8:7:${no.toString(16)}::1`)).status);
    assert.deepEqual([...new Set(statuses)], [201, 429]);
    assert.ok(statuses.indexOf(429) >= 99);
    await ok(signUp(newApplicant(), '2001:db8:8::1'), 201);
    service.clock.release(HOUR_MS);

    const few = await startService(database, {
      env: { ...SIGNUP_ENV, CV_SMTP_URL: server.url, CV_SIGNUP_MAILS_PER_HOUR: '10' },
    });
    const to = (where: string) =>
      post(few, '/saas/signup', { ...newApplicant(), email: newApplicant().email.replace('example.com', where) });
    for (let no = 0; no < 2; no++) await ok(to('one.example'), 201);
    const full = await refused(to('one.example'), 429, 'RATE_LIMIT_EXCEEDED');
    assert.match(full.message, /addresses of this domain/);
    await refused(post(few, '/saas/resend', { email: 'nobody@one.example' }), 429, 'RATE_LIMIT_EXCEEDED');
    for (const where of ['two', 'three', 'four']) for (let no = 0; no < 2; no++) await ok(to(`${where}.example`), 201);
    const all = await refused(to('five.example'), 429, 'RATE_LIMIT_EXCEEDED');
    assert.match(all.message, /at this installation.*try again/);
    few.clock.advance(HOUR_MS);
    await ok(to('one.example'), 201);
    await few.close();
  });

  test('passwords that everybody guesses are refused, and bad input is pointed at', async () => {
    const good = newApplicant();
    for (const password of ['password1234', 'Passw0rd2026!', '123456789012', good.email, 'short']) {
      await invalid(signUp({ ...good, password }), '/body/password');
    }
    await invalid(signUp({ ...good, email: 'ann@example.com\r\nBcc: eve@example.com' }), '/body/email');
    await invalid(signUp({ ...good, email: 'ann@example.com,eve@example.com' }), '/body/email');
    await invalid(signUp({ ...good, organization: 'a\nb' }), '/body/organization');
    await invalid(signUp({ ...good, organization: 'x'.repeat(101) }), '/body/organization');
    await invalid(signUp({ ...good, plan: 'enterprise' }), '/body/plan');
    assert.equal(mailTo(server, good.email).length, 0);
  });

  test('two organizations of the same name get tenants of different names, as do reserved names', async () => {
    const organization = `Twin ${newApplicant().email}`;
    const one = await signedUp(service, server, newApplicant({ organization }));
    const two = await signedUp(service, server, newApplicant({ organization }));
    assert.notEqual(one.tenant, two.tenant);
    assert.ok(two.tenant.startsWith(one.tenant));
    const reserved = await signedUp(service, server, newApplicant({ organization: 'Default' }));
    assert.match(reserved.tenant, /^default-[0-9a-f]{8}$/);
    for (const path of ['/v1/tenants', '/metrics']) {
      await refused(service.call('GET', path, { token: one.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    }
  });

  test('a row that was moved or changed in the database verifies nothing', async () => {
    const [ann, eve] = [newApplicant(), newApplicant()];
    await ok(signUp(ann), 201);
    await ok(signUp(eve), 201);
    const token = await tokenIn(server, eve.email);
    const { database } = service.app.kernel;
    const rows = await database.read.selectFrom('signups').selectAll().orderBy('created_at', 'desc').limit(2).execute();
    const [eves, anns] = rows;
    assert.ok(eves !== undefined && anns !== undefined);
    service.expectErrorLogs(/cannot be decrypted/);
    // Eve's token finds the row of Ann.
    await database.transaction(async (tx) => {
      await tx.deleteFrom('signups').where('address_hash', '=', eves.address_hash).execute();
      const change = { token_hash: eves.token_hash };
      await tx.updateTable('signups').set(change).where('address_hash', '=', anns.address_hash).execute();
    });
    await refused(verify(token, eve.password), 401, 'LOGIN_DENIED');
    await database.transaction(async (tx) => {
      const change = { sealed_signup: eves.sealed_signup };
      await tx.updateTable('signups').set(change).where('address_hash', '=', anns.address_hash).execute();
    });
    await refused(verify(token, eve.password), 500, 'INTERNAL_ERROR');
  });

  test('a sign-up that nobody verified is removed after a week', async () => {
    const applicant = newApplicant();
    await ok(signUp(applicant), 201);
    const count = async () => (await read().selectFrom('signups').select('created_at').execute()).length;
    assert.ok((await count()) > 0);
    service.clock.advance(6 * DAY_MS);
    await runJobs(service);
    assert.ok((await count()) > 0);
    service.clock.advance(2 * DAY_MS);
    await runJobs(service);
    service.clock.advance(2 * HOUR_MS);
    await runJobs(service);
    await until('no sign-ups', async () => (await count()) === 0);
  });

  test('without CV_SIGNUP there is no sign-up', async () => {
    const other = await startService(database);
    for (const [path, body] of [
      ['/saas/signup', newApplicant()],
      ['/saas/verify', { token: 'x', password: 'tulips over Zagreb' }],
      ['/saas/resend', { email: 'ann@example.com' }],
    ] as const) {
      await refused(other.call('POST', path, { token: null, body }), 404, 'NOT_FOUND');
    }
    await other.close();
  });
});
