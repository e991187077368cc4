import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addConnection, callAs } from '../../../../test/support/machines.ts';
import {
  addColleague,
  addTenant,
  addToken,
  type Colleague,
  invalid,
  ok,
  refused,
  type Tenant,
  uniqueName,
} from '../../../../test/support/people.ts';
import { pointsOf, recompute } from '../../../../test/support/risk.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';
import {
  addPolicy,
  addSecret,
  addVault,
  auditOf,
  runJobs,
  runPurges,
  secretUrl,
} from '../../../../test/support/vaults.ts';
import { DAY_MS, timestamp } from '../../kernel/base/clock.ts';

onBothDatabases('the risk of a secret', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  /** A tenant with nobody but its owner, so that counts are known. */
  async function newTenant() {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    return { tenant, token, vault: await addVault(service, {}, token) };
  }

  const riskOf = (vault: string, path: string, token: string) =>
    service.call('GET', secretUrl(vault, path, 'risk'), { token });
  const listed = async (vault: string, token: string): Promise<Answer['body'][]> =>
    (await ok(service.call('GET', `/v1/vaults/${vault}/secrets`, { token }))).secrets;

  describe('on demand', () => {
    test('is computed with its factors, and then shown by the list', async () => {
      const { token, vault } = await newTenant();
      const { id } = await addSecret(service, vault, 'db/main', { type: 'password', value: 'short' }, token);
      const [fresh] = await listed(vault, token);
      assert.deepEqual([fresh.risk_score, fresh.risk_factors], [null, null]);
      const risk = await ok(riskOf(vault, 'db/main', token));
      assert.deepEqual([risk.id, risk.vault, risk.path], [id, vault, 'db/main']);
      assert.deepEqual(pointsOf(risk), { no_rotation: 10, weak_value: 20 });
      assert.equal(risk.risk_score, 30);
      const today = timestamp(service.clock.now()).slice(0, 10);
      assert.deepEqual(risk.history, [{ day: today, risk_score: 30 }]);
      const [row] = await listed(vault, token);
      assert.deepEqual([row.risk_score, row.risk_factors], [risk.risk_score, risk.risk_factors]);
    });

    rule(
      'is shown by reads and changes; callers who may not read the value do not see what depends on it',
      async () => {
        const { tenant, token, vault } = await newTenant();
        const url = secretUrl(vault, 'db/main');
        const made = await addSecret(service, vault, 'db/main', { type: 'password', value: 'short' }, token);
        assert.equal(made.risk_score, null);
        const read = () => ok(service.call('GET', url, { token }));
        assert.equal((await read()).risk_score, null);
        await ok(riskOf(vault, 'db/main', token));
        assert.equal((await read()).risk_score, 30);
        assert.equal((await ok(service.call('GET', `${url}?version=1`, { token }))).risk_score, 30);
        const writer = await addColleague(service, tenant.id, 'member');
        await addPolicy(service, { user: writer.id }, [{ action: ['secrets:update'], resource: ['vault/*/*'] }], token);
        const described = (by: string) =>
          ok(service.call('PUT', url, { token: by, body: { metadata: { owner: uniqueName('team') } } }));
        assert.deepEqual([(await described(token)).risk_score, (await described(writer.token)).risk_score], [30, 10]);
        const rolled = await ok(
          service.call('POST', `${url}/rollback`, { token, body: { to_version: 1, reason: 'x' } }),
        );
        assert.equal(rolled.risk_score, 30);
        await ok(service.call('DELETE', url, { token }));
        assert.equal((await ok(service.call('POST', `${url}/restore`, { token, body: {} }))).risk_score, 30);
        const copied = await ok(service.call('POST', `${url}/copy`, { token, body: { to_path: 'db/twin' } }), 201);
        assert.equal(copied.risk_score, null);
        const moved = await ok(service.call('POST', `${url}/move`, { token, body: { to_path: 'db/moved' } }));
        assert.equal(moved.risk_score, 30);
      },
    );

    rule('falls when its cause is gone', async () => {
      const { token, vault } = await newTenant();
      await addSecret(service, vault, 'key', { type: 'api_key', value: 'changeme' }, token);
      assert.deepEqual(pointsOf(await ok(riskOf(vault, 'key', token))), { no_rotation: 10, weak_value: 20 });
      const body = { value: 'long enough to be no guess', rotation: { interval_days: 30 } };
      await ok(service.call('PUT', secretUrl(vault, 'key'), { token, body }));
      const risk = await ok(riskOf(vault, 'key', token));
      assert.deepEqual([risk.risk_score, risk.risk_factors, risk.history.length], [0, [], 1]);
    });

    test('counts equal values in the tenant, and finds common ones of any type', async () => {
      const { token, vault } = await newTenant();
      const other = await addVault(service, {}, token);
      const value = uniqueName('the same value in three secrets');
      for (const [where, path] of [
        [vault, 'a'],
        [vault, 'b'],
        [other, 'c'],
      ] as const) {
        await addSecret(service, where, path, { value }, token);
      }
      await addSecret(service, vault, 'common', { value: 'supersecret' }, token);
      const risk = await ok(riskOf(other, 'c', token));
      assert.equal(pointsOf(risk)['repeated_value'], 15);
      assert.match(JSON.stringify(risk.risk_factors), /3 secrets have this value/);
      assert.ok(!JSON.stringify(risk).includes(value));
      assert.equal(pointsOf(await ok(riskOf(vault, 'common', token)))['weak_value'], 20);
      const foreign = await newTenant();
      await addSecret(service, foreign.vault, 'a', { value }, foreign.token);
      assert.deepEqual(pointsOf(await ok(riskOf(foreign.vault, 'a', foreign.token))), { no_rotation: 10 });
    });

    rule('says production, and nothing about values that are never compared', async () => {
      const tenant = await addTenant(service);
      const owner = await addColleague(service, tenant.id, 'owner', { mfaAt: service.clock.now() });
      const { token } = owner;
      const production = await addVault(service, { environment: 'production' }, token);
      const secret = { type: 'password', value: 'changeme', environment: 'production' };
      await addSecret(service, production, 'fort', { ...secret, protection: 'fortress' }, token);
      await addSecret(service, production, 'plain', secret, token);
      assert.deepEqual(pointsOf(await ok(riskOf(production, 'fort', token))), { no_rotation: 10, production: 15 });
      assert.equal(pointsOf(await ok(riskOf(production, 'plain', token)))['weak_value'], 20);
    });
  });

  describe('is counted for', () => {
    test('exactly the callers who can read it', async () => {
      const { tenant, token, vault } = await newTenant();
      await addSecret(service, vault, 'app/key', { metadata: { tags: ['red'] } }, token);
      const member = () => addColleague(service, tenant.id, 'member');
      const people: Colleague[] = [];
      const add = async (grant: (one: Colleague) => Promise<unknown>) => {
        const one = await member();
        await grant(one);
        people.push(one);
      };
      const allow = (one: Colleague, more: object) =>
        addPolicy(service, { user: one.id }, [{ action: ['secrets:read'], resource: ['*'], ...more }], token);
      const inVault = `vault/${vault}`;
      await add((one) =>
        ok(service.call('POST', `/v1/vaults/${vault}/members`, { token, body: { user: one.id, role: 'reader' } }), 201),
      );
      await add(async (one) => {
        const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: uniqueName('group') } }), 201);
        const body = { group: group.id, role: 'writer' };
        await ok(service.call('POST', `/v1/vaults/${vault}/members`, { token, body }), 201);
        await ok(service.call('POST', `/v1/groups/${group.id}/members`, { token, body: { user_id: one.id } }), 201);
      });
      await add((one) => allow(one, { resource: [`${inVault}/app/*`] }));
      await add((one) => allow(one, { condition: { tag_equals: ['red'] } }));
      await add((one) => allow(one, { condition: { ip_cidr: ['127.0.0.0/8', '::1'] } }));
      // These may not.
      await add((one) => allow(one, { resource: [`${inVault}/web/*`] }));
      await add((one) => allow(one, { condition: { tag_equals: ['blue'] } }));
      await add((one) => allow(one, { action: ['secrets:list', 'secrets:read_metadata'] }));
      await add(async (one) => {
        await allow(one, {});
        await addPolicy(
          service,
          { user: one.id },
          [{ effect: 'deny', action: ['secrets:*'], resource: [`${inVault}/**`] }],
          token,
        );
      });
      await add(async () => {});
      const machines = [
        await addConnection(service, vault, { scopes: ['secrets:read'] }, token),
        await addConnection(service, vault, { scopes: ['secrets:read'], allowed_paths: ['web/*'] }, token),
        await addConnection(service, vault, { scopes: ['secrets:list'] }, token),
      ];
      const disabled = await member();
      await allow(disabled, {});
      await ok(service.call('PATCH', `/v1/users/${disabled.id}`, { token, body: { status: 'disabled' } }));
      people.push(await addColleague(service, tenant.id, 'auditor'), await addColleague(service, tenant.id, 'admin'));

      const url = secretUrl(vault, 'app/key');
      const reads = await Promise.all([
        service.call('GET', url, { token }),
        service.call('GET', url, { token: disabled.token }),
        ...people.map((one) => service.call('GET', url, { token: one.token })),
        ...machines.map((machine) => callAs(service, machine, 'GET', url)),
      ]);
      const couldRead = reads.filter(({ status }) => status === 200).length;
      assert.equal(couldRead, 8);
      const { risk_factors } = await ok(riskOf(vault, 'app/key', token));
      const readers = risk_factors.find(({ factor }: { factor: string }) => factor === 'readers');
      assert.deepEqual(readers, {
        factor: 'readers',
        points: 5,
        why: `${couldRead} users and connections may read it.`,
      });
    });
  });

  describe('is shown', () => {
    let tenant: Tenant;
    let token: string;
    let vault: string;
    let auditor: Colleague;
    let member: Colleague;
    before(async () => {
      ({ tenant, token, vault } = await newTenant());
      await addSecret(service, vault, 'db', { type: 'password', value: 'changeme' }, token);
      auditor = await addColleague(service, tenant.id, 'auditor');
      member = await addColleague(service, tenant.id, 'member');
      await ok(riskOf(vault, 'db', token));
    });

    rule('to callers who may read metadata, without what depends on the value', async () => {
      const risk = await ok(riskOf(vault, 'db', auditor.token));
      assert.deepEqual([risk.risk_score, pointsOf(risk)], [10, { no_rotation: 10 }]);
      assert.deepEqual(
        risk.history.map(({ risk_score }: Answer['body']) => risk_score),
        [10],
      );
      const [row] = await listed(vault, auditor.token);
      assert.deepEqual([row.risk_score, pointsOf(row)], [10, { no_rotation: 10 }]);
      const [whole] = await listed(vault, token);
      assert.equal(whole.risk_score, 30);
    });

    rule('not to callers who may only list', async () => {
      const statement = { action: ['secrets:list'], resource: [`vault/${vault}/**`, `vault/${vault}`] };
      await addPolicy(service, { user: member.id }, [statement], token);
      const [row] = await listed(vault, member.token);
      assert.deepEqual([row.path, row.metadata, row.risk_score, row.risk_factors], ['db', null, null, null]);
      await refused(riskOf(vault, 'db', member.token), 403, 'INSUFFICIENT_PRIVILEGE');
    });

    rule('to nobody else, whether the secret exists or not', async () => {
      const stranger = await addColleague(service, tenant.id, 'member');
      for (const path of ['db', 'none']) {
        await refused(riskOf(vault, path, stranger.token), 403, 'INSUFFICIENT_PRIVILEGE');
        await refused(riskOf('no-such-vault', path, stranger.token), 403, 'INSUFFICIENT_PRIVILEGE');
      }
      const foreign = await newTenant();
      await refused(riskOf(vault, 'db', foreign.token), 404, 'VAULT_NOT_FOUND');
      await refused(riskOf(vault, 'none', token), 404, 'SECRET_NOT_FOUND');
      await refused(service.call('GET', secretUrl(vault, 'db', 'risk'), { token: null }), 401, 'INVALID_TOKEN');
      const elsewhere = await addToken(service, token, { scope: { vaults: ['elsewhere'] } });
      await refused(riskOf(vault, 'db', elsewhere.token), 403, 'INSUFFICIENT_PRIVILEGE');
    });

    rule('with an entry in the audit log, which is no read of the value', async () => {
      await ok(riskOf(vault, 'db', token));
      const [entry] = await auditOf(service, `resource=vault/${vault}/db&action=secrets:read_risk`, token);
      assert.equal(entry.decision, 'allow');
      assert.deepEqual(await auditOf(service, `resource=vault/${vault}/db&action=secrets:read`, token), []);
    });

    rule('for a path that could be a secret’s: its last segment is reserved', async () => {
      for (const path of ['risk', 'db/risk']) {
        const body = { path, value: 'x' };
        await invalid(service.call('POST', `/v1/vaults/${vault}/secrets`, { token, body }), '/body/path');
      }
      await refused(service.call('POST', secretUrl(vault, 'db', 'risk'), { token }), 405, 'METHOD_NOT_ALLOWED');
    });
  });

  describe('for a whole tenant', () => {
    test('is computed in every vault, and in no other tenant', async () => {
      const { token, vault } = await newTenant();
      const other = await addVault(service, {}, token);
      const foreign = await newTenant();
      await addSecret(service, vault, 'a/b', {}, token);
      await addSecret(service, vault, 'c', {}, token);
      const rotated = { rotation: { interval_days: 1 }, type: 'api_key', value: 'long enough to be no guess' };
      await addSecret(service, other, 'd', rotated, token);
      await addSecret(service, foreign.vault, 'a', {}, foreign.token);
      await recompute(service, token);
      assert.deepEqual(
        [...(await listed(vault, token)), ...(await listed(other, token))].map(({ risk_score }) => risk_score),
        [10, 10, 0],
      );
      const [untouched] = await listed(foreign.vault, foreign.token);
      assert.equal(untouched.risk_score, null);
    });

    test('happens each day by itself', async () => {
      const { token, vault } = await newTenant();
      await addSecret(service, vault, 'daily', {}, token);
      await recompute(service, token);
      const before = await ok(riskOf(vault, 'daily', token));
      service.clock.advance(DAY_MS + 60_000);
      const days = service.app.kernel.database.read
        .selectFrom('secret_risk_days')
        .select('day_start')
        .where('secret_id', '=', before.id);
      await until('the next day brings no run', async () => (await days.execute()).length === 2);
      assert.equal((await ok(riskOf(vault, 'daily', token))).history.length, 2);
    });
  });

  test('is deleted with the secret', async () => {
    const { owner } = await addTenant(service, { plan: 'starter' });
    const { token } = owner;
    const vault = await addVault(service, {}, token);
    const { id } = await addSecret(service, vault, 'gone', { type: 'api_key' }, token);
    await ok(riskOf(vault, 'gone', token));
    const rotation = { interval_days: 30 };
    await ok(service.call('PUT', secretUrl(vault, 'gone'), { token, body: { rotation } }));
    await ok(riskOf(vault, 'gone', token));
    const tables = ['secret_risks', 'secret_risk_days', 'secret_risk_changes'] as const;
    const left = async () => {
      const { read } = service.app.kernel.database;
      const found = await Promise.all(
        tables.map((table) => read.selectFrom(table).select('secret_id').where('secret_id', '=', id).execute()),
      );
      return found.flat().length;
    };
    await ok(service.call('DELETE', secretUrl(vault, 'gone'), { token }));
    await refused(riskOf(vault, 'gone', token), 404, 'SECRET_NOT_FOUND');
    assert.equal(await left(), 3);
    service.clock.advance(31 * DAY_MS);
    await runPurges(service);
    assert.equal(await left(), 0);
  });

  test('grows with age until the secret is rotated, and its history is 35 days long', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'old', { type: 'api_key', value: 'long enough to be no guess' });
    const token = service.adminToken;
    const first = await ok(riskOf(vault, 'old', token));
    assert.equal(pointsOf(first)['age'], undefined);
    service.clock.advance(95 * DAY_MS);
    const aged = await ok(riskOf(vault, 'old', token));
    assert.equal(pointsOf(aged)['age'], 10);
    assert.match(JSON.stringify(aged.risk_factors), /The value is 95 days old/);
    const [firstDay] = first.history;
    const daysOf = ({ history }: Answer['body']) => history.map(({ day }: { day: string }) => day);
    assert.ok(daysOf(aged).includes(firstDay.day));
    await runPurges(service);
    await runJobs(service);
    const kept = daysOf(await ok(riskOf(vault, 'old', token)));
    assert.ok(kept.includes(aged.history[0].day) && !kept.includes(firstDay.day), kept.join());
    await ok(service.call('POST', secretUrl(vault, 'old', 'rotate'), { body: {} }));
    assert.equal(pointsOf(await ok(riskOf(vault, 'old', token)))['age'], undefined);
  });
});
