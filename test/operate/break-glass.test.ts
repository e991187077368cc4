import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as OTPAuth from 'otpauth';
import { newPostgresDatabase } from '../support/postgres.ts';
import { type ProcessOptions, runCoffer, type Started, spawnService, stopService } from '../support/process.ts';
import { type Answer, call, onBothDatabases } from '../support/service.ts';

const PASSWORD = 'correct horse battery';

onBothDatabases('coffer server break-glass', (database) => {
  let where: ProcessOptions;
  let service: Started & { url: string; dataDir: string; adminToken(): string };
  let token: string;
  before(async () => {
    const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
    service = await spawnService(databaseUrl === undefined ? {} : { databaseUrl });
    where = { dataDir: service.dataDir, ...(databaseUrl !== undefined && { databaseUrl }) };
    token = service.adminToken();
  });
  after(() => stopService(service));

  const as = async (who: string, method: string, path: string, body?: object): Promise<Answer> =>
    call(service.url, method, path, { token: who, ...(body !== undefined && { body }) });
  const expect = async (answer: Promise<Answer>, status: number): Promise<Answer['body']> => {
    const { status: actual, text, body } = await answer;
    assert.equal(actual, status, text);
    return body;
  };
  /** As an operator runs it: on SQLite nothing else has the data folder open. */
  const breakGlass = async (...args: string[]) => {
    if (database === 'sqlite') await stopService(service);
    const exit = await runCoffer(['server', 'break-glass', ...args], where);
    if (database === 'sqlite') service = await spawnService(where);
    return exit;
  };
  const logIn = async (email: string, more: object = {}) =>
    as('', 'POST', '/auth/login', { email, password: PASSWORD, ...more });
  const warnings = async (who: string): Promise<{ code: string; message: string; at: string | null }[]> =>
    (await expect(as(who, 'GET', '/auth/me'), 200)).warnings;

  test('what only two people could do is done on the machine, recorded, and told to every admin', async () => {
    assert.deepEqual(await warnings(token), []);
    const admin = await expect(
      as(token, 'POST', '/v1/users', { email: 'bob@example.com', role: 'admin', password: PASSWORD }),
      201,
    );
    assert.deepEqual(
      (await warnings(token)).map(({ code }) => code),
      ['two_admins'],
    );
    const session = (await expect(logIn('bob@example.com'), 200)).token;
    const member = await expect(as(token, 'POST', '/v1/users', { email: 'eve@example.com', password: PASSWORD }), 201);
    assert.deepEqual(await warnings((await expect(logIn('eve@example.com'), 200)).token), []);

    const ask = async (email: string) =>
      (await expect(as(token, 'POST', '/v1/users', { email, role: 'auditor' }), 202)).approval_id as string;
    const [stuck, unwanted] = [await ask('stuck@example.com'), await ask('unwanted@example.com')];
    const approved = await breakGlass('approve', stuck);
    assert.equal(approved.code, 0, approved.stderr);
    assert.match(approved.stdout, /approved and carried out.*audit log/);
    const done = await expect(as(session, 'GET', `/approvals/${stuck}`), 200);
    assert.deepEqual(
      [done.status, done.levels[0].decided_by.id, done.levels[0].reason],
      ['completed', 'operator', 'break-glass'],
    );
    const cancelled = await breakGlass('cancel', unwanted);
    assert.equal(cancelled.code, 0, cancelled.stderr);
    const gone = await expect(as(session, 'GET', `/approvals/${unwanted}`), 200);
    assert.deepEqual([gone.status, gone.cancelled_because], ['cancelled', 'operator']);
    const { users } = await expect(as(token, 'GET', '/v1/users'), 200);
    const emails = users.map((user: { email: string }) => user.email);
    assert.ok(emails.includes('stuck@example.com') && !emails.includes('unwanted@example.com'));

    const { secret } = await expect(as(session, 'POST', '/auth/mfa/totp'), 201);
    const otp = new OTPAuth.TOTP({ secret }).generate();
    await expect(as(session, 'POST', '/auth/mfa/totp/confirm', { otp }), 200);
    await expect(logIn('bob@example.com'), 403);
    const reset = await breakGlass('reset-mfa', admin.id);
    assert.equal(reset.code, 0, reset.stderr);
    await expect(logIn('bob@example.com'), 200);
    const owner = await breakGlass('make-owner', member.id);
    assert.equal(owner.code, 0, owner.stderr);
    assert.equal((await expect(as(token, 'GET', `/v1/users/${member.id}`), 200)).role, 'owner');

    const told = (await warnings(session)).filter(({ code }) => code === 'break_glass');
    assert.deepEqual(
      told.map(({ message }) => /break-glass (\w+) on/.exec(message)?.[1]),
      ['make_owner', 'reset_mfa', 'cancel', 'approve'],
    );
    assert.ok(told.every(({ at }) => at !== null && Date.parse(at) > 0));
    const { entries: all } = await expect(as(token, 'GET', '/v1/audit?limit=1000'), 200);
    const entries = all.filter(({ action }: Answer['body']) => action.startsWith('break_glass:'));
    assert.deepEqual(
      entries.map((entry: Answer['body']) => [entry.action, entry.actor.id]),
      ['make_owner', 'reset_mfa', 'cancel', 'approve'].map((action) => [`break_glass:${action}`, 'operator']),
    );
    assert.match((await as(token, 'GET', '/metrics')).text, /^cv_break_glass_uses 4$/m);
    assert.equal((await expect(as(token, 'GET', '/v1/audit/verify'), 200)).valid, true);

    for (const args of [
      ['approve', stuck],
      ['cancel', unwanted],
      ['approve', 'approval_none'],
      ['make-owner', 'user_none'],
    ]) {
      const { code, stdout, stderr } = await breakGlass(...args);
      assert.deepEqual([code, stdout], [1, ''], args.join(' '));
      assert.match(stderr, /^[A-Z].*\.\n$/);
    }
    assert.match((await as(token, 'GET', '/metrics')).text, /^cv_break_glass_uses 4$/m);
  });
});
