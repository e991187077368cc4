import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MINUTE_MS } from '../../server/src/kernel/base/clock.ts';
import { ownerOf, SAME_ORIGIN, withSession } from '../support/console-requests.ts';
import { addPerson, addTenant, addToken, invalid, logIn, ok, type Person, refused } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { poll, startDevice } from '../support/sign-on.ts';
import { type AuthenticatorApp, addTotp } from '../support/totp.ts';

/** Somebody has the session of a person for a while. What they make with it must not outlive that. */

onBothDatabases('a stolen session', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: { CV_CONSOLE: 'on' } });
  });
  after(() => service.close());

  const send = (token: string, method: string, path: string, body?: object) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const mint = (token: string, more: object = {}) =>
    send(token, 'POST', '/auth/tokens', { name: 'persistent', ttl_days: 365, ...more });
  const approve = (token: string, user_code: string) => send(token, 'POST', '/auth/device/approve', { user_code });
  const newPerson = async () => addPerson(service, { tenant: await addTenant(service) });
  const idOf = async (token: string): Promise<string> => (await ok(send(token, 'GET', '/auth/me'))).credential.id;
  const works = async (token: string) => (await send(token, 'GET', '/auth/me')).status === 200;
  /** A command line that the person confirmed. */
  const deviceSession = async (person: Person, more: object = {}) => {
    const device = await startDevice(service);
    const approver = await logIn(service, person, more);
    await ok(approve(approver, device.user_code));
    return { approver, token: String((await ok(poll(service, device))).token) };
  };
  /** A code works once. */
  const nextCode = (app: AuthenticatorApp) => {
    service.clock.advance(MINUTE_MS);
    return app.code();
  };
  const stepUp = async (token: string, app: AuthenticatorApp): Promise<string> =>
    (await ok(send(token, 'POST', '/auth/step-up', { otp: nextCode(app) }))).token;

  describe('mints no token', () => {
    test('once the sign-in is 15 minutes old', async () => {
      const person = await newPerson();
      const session = await logIn(service, person);
      await ok(mint(session), 201);
      service.clock.advance(16 * MINUTE_MS);
      const { details } = await refused(mint(session), 403, 'MFA_REQUIRED');
      assert.deepEqual(details, { sign_in: true });
      await ok(mint(await logIn(service, person)), 201);
    });

    test('of somebody with a second factor, unless it was just shown', async () => {
      const person = await newPerson();
      const before = await logIn(service, person);
      const app = await addTotp(service, person.id);
      await refused(mint(before), 403, 'MFA_REQUIRED');
      const session = await logIn(service, person, { otp: nextCode(app) });
      service.clock.advance(16 * MINUTE_MS);
      await refused(mint(session), 403, 'MFA_REQUIRED');
      await ok(mint(await stepUp(session, app)), 201);
    });

    test('that a device code opened, unless a second factor is shown in it', async () => {
      const person = await newPerson();
      await refused(mint((await deviceSession(person)).token), 403, 'MFA_REQUIRED');
      const app = await addTotp(service, person.id);
      const { token } = await deviceSession(person, { otp: nextCode(app) });
      await refused(mint(token), 403, 'MFA_REQUIRED');
      await ok(mint(await stepUp(token, app)), 201);
    });
  });

  describe('leaves no token behind', () => {
    const minted = async (session: string, more: object = {}) => {
      const { token } = await ok(mint(session, more), 201);
      const child = await addToken(service, token);
      assert.equal(child.ends_with_sessions, more === undefined ? true : !('ends_with_sessions' in more));
      return { token: String(token), child: String(child.token) };
    };
    const ends = async ({ token, child }: { token: string; child: string }, expected: boolean) =>
      assert.deepEqual([await works(token), await works(child)], [!expected, !expected]);
    const endings: [string, (person: Person, other: string, session: string) => Promise<unknown>][] = [
      [
        'when the session is ended',
        async (_, other, session) => ok(send(other, 'DELETE', `/auth/sessions/${await idOf(session)}`)),
      ],
      ['when all sessions are ended', (_, other) => ok(send(other, 'DELETE', '/auth/sessions'))],
      [
        'when all sessions are ended after the thief logged out',
        async (_, other, session) => {
          await ok(send(session, 'POST', '/auth/logout'), 204);
          await ok(send(other, 'DELETE', '/auth/sessions'));
        },
      ],
      [
        'when the password changes, also in the session that was stolen',
        ({ password }, _, session) =>
          ok(
            send(session, 'POST', '/auth/password', {
              current_password: password,
              new_password: 'another password by now',
            }),
            204,
          ),
      ],
      [
        'when the session is revoked like a token',
        async (_, other, session) => ok(send(other, 'DELETE', `/auth/tokens/${await idOf(session)}`)),
      ],
    ];
    for (const [how, end] of endings) {
      test(how, async () => {
        const person = await newPerson();
        const [session, other] = [await logIn(service, person), await logIn(service, person)];
        const made = await minted(session);
        const independent = await minted(session, { ends_with_sessions: false });
        await ends(made, false);
        await end(person, other, session);
        await ends(made, true);
        await ends(independent, false);
        const { tokens } = await ok(send(independent.token, 'GET', '/auth/tokens'));
        const shown = tokens.filter(
          ({ kind, status }: { kind: string; status: string }) => kind === 'pat' && status === 'active',
        );
        assert.equal(shown.length, 3, 'the person’s own, the independent one and its child');
      });
    }

    test('when the session went on under another id, because a factor was shown', async () => {
      const person = await newPerson();
      const app = await addTotp(service, person.id);
      const session = await logIn(service, person, { otp: nextCode(app) });
      const made = await minted(session);
      const other = await stepUp(await logIn(service, person, { otp: nextCode(app) }), app);
      const goesOn = await stepUp(session, app);
      await ends(made, false);
      await ok(send(other, 'DELETE', `/auth/sessions/${await idOf(goesOn)}`));
      await ends(made, true);
    });

    test('that was begun while the sessions were being ended', async () => {
      const person = await newPerson();
      for (let round = 0; round < 5; round++) {
        const [session, other] = [await logIn(service, person), await logIn(service, person)];
        const [, ...made] = await Promise.all([
          ok(send(other, 'DELETE', '/auth/sessions')),
          ...Array.from({ length: 4 }, () => mint(session)),
        ]);
        for (const { status, body } of made) {
          if (status === 201) assert.equal(await works(body.token), false, `round ${round}`);
        }
      }
    });

    test('unless the person keeps the tokens', async () => {
      const person = await newPerson();
      const [session, other] = [await logIn(service, person), await logIn(service, person)];
      const made = await minted(session);
      await ok(send(other, 'DELETE', `/auth/sessions/${await idOf(session)}?keep_tokens=true`));
      await ends(made, false);
      assert.deepEqual(await ok(send(other, 'DELETE', '/auth/sessions?keep_tokens=true')), {
        sessions_ended: 1,
        tokens_ended: 0,
      });
      await ends(made, false);
      const body = { current_password: person.password, new_password: 'another password by now' };
      await invalid(
        send(other, 'POST', '/auth/password', { ...body, keep_tokens: true, revoke_tokens: true }),
        '/body/keep_tokens',
      );
      await ok(send(other, 'POST', '/auth/password', { ...body, keep_tokens: true }), 204);
      await ends(made, false);
      assert.deepEqual(await ok(send(other, 'DELETE', '/auth/sessions')), { sessions_ended: 0, tokens_ended: 2 });
      await ends(made, true);
    });
  });

  describe('confirms no command line', () => {
    test('however fresh it is, because the proof must be newer than the code', async () => {
      const person = await newPerson();
      const session = await logIn(service, person);
      service.clock.advance(1);
      const device = await startDevice(service);
      await refused(approve(session, device.user_code), 403, 'MFA_REQUIRED');
      assert.equal((await ok(poll(service, device))).status, 'pending');
      await ok(approve(await logIn(service, person), device.user_code));
      service.clock.advance(MINUTE_MS);
      assert.equal((await ok(poll(service, device))).status, 'approved');
    });

    test('of somebody with a second factor who only gave the password again', async () => {
      const person = await newPerson();
      const app = await addTotp(service, person.id);
      const session = await logIn(service, person, { otp: nextCode(app) });
      service.clock.advance(1);
      const device = await startDevice(service);
      await refused(approve(session, device.user_code), 403, 'MFA_REQUIRED');
      await ok(approve(await stepUp(session, app), device.user_code));
      assert.equal((await ok(poll(service, device))).status, 'approved');
    });

    test('whose session outlives it, once the person ends it', async () => {
      const person = await newPerson();
      const { approver, token } = await deviceSession(person);
      const other = await logIn(service, person);
      const listed = (await ok(send(other, 'GET', `/auth/tokens/${await idOf(token)}`))).parent_id;
      assert.equal(listed, await idOf(approver));
      await ok(send(other, 'DELETE', `/auth/sessions/${await idOf(approver)}?keep_tokens=true`));
      assert.equal(await works(token), false);
    });
  });

  test('a token in its cookie opens nothing', async () => {
    const person = await newPerson();
    const session = await logIn(service, person);
    const read = (cookie: string) =>
      fetch(`${service.url}/console/api/auth/me`, { headers: withSession(cookie, ownerOf(`x=${session}`)) });
    const COOKIE = '__Host-coffer-session=';
    assert.equal((await read(`${COOKIE}${session}`)).status, 200);
    // Once while the principal is not cached, and once while it is.
    for (let time = 0; time < 2; time++) {
      assert.equal((await read(`${COOKIE}${person.token}`)).status, 401);
      assert.equal(await works(person.token), true);
    }
    assert.equal((await fetch(`${service.url}/console/api/auth/me`, { headers: SAME_ORIGIN })).status, 401);
  });

  test('a token made with a token shows what it may do, not what was requested', async () => {
    const person = await newPerson();
    const scope = { vaults: ['ci-*'], actions: ['secrets:*', 'tokens:create'] };
    const parent = await addToken(service, person.token, { scope, ip_allowlist: ['127.0.0.0/8'] });
    const wide = { scope: { vaults: ['*'], actions: ['*:read'] }, ip_allowlist: ['0.0.0.0/0'] };
    for (const more of [wide, { scope: { actions: ['secrets:read'] } }]) {
      const child = await addToken(service, parent.token, more);
      const shown = { scope: { vaults: ['ci-*'], actions: ['secrets:read'] }, ip_allowlist: ['127.0.0.0/8'] };
      for (const { scope, ip_allowlist, parent_id } of [
        child,
        await ok(send(person.token, 'GET', `/auth/tokens/${child.id}`)),
      ]) {
        assert.deepEqual({ scope, ip_allowlist, parent_id }, { ...shown, parent_id: parent.id });
      }
    }
    const grandchild = await addToken(service, (await addToken(service, parent.token)).token);
    assert.deepEqual(grandchild.scope, scope);
    const body = { name: 'unclear', scope: { vaults: ['*-prod'] } };
    await invalid(send(parent.token, 'POST', '/auth/tokens', body), '/body/scope/vaults');
    const elsewhere = { name: 'elsewhere', ip_allowlist: ['192.0.2.0/24'] };
    await invalid(send(parent.token, 'POST', '/auth/tokens', elsewhere), '/body/ip_allowlist');
    const independent = { name: 'independent', ends_with_sessions: false };
    await invalid(send(parent.token, 'POST', '/auth/tokens', independent), '/body/ends_with_sessions');
  });
});
