import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addConnection } from '../../../../test/support/machines.ts';
import {
  addColleague,
  addPerson,
  addTenant,
  addToken,
  allPages,
  logIn,
  ok,
  refused,
  type Tenant,
  uniqueName,
} from '../../../../test/support/people.ts';
import { recompute } from '../../../../test/support/risk.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault } from '../../../../test/support/vaults.ts';
import { idPattern } from '../../kernel/base/ids.ts';
import { PATHS_MAX } from './finding.ts';

type Path = Answer['body'];

/** The types of its links, which say how somebody gets to the secret. */
function chainOf({ steps }: Path): string {
  return steps
    .slice(0, 3)
    .map(({ type }: { type: string }) => type)
    .join(' ');
}
const stepOf = (path: Path, kind: string) => path.steps.find((step: { kind: string }) => step.kind === kind);

onBothDatabases('attack paths', (database, { rule, rules }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  async function newTenant(): Promise<{ tenant: Tenant; token: string; vault: string }> {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    return { tenant, token, vault: await addVault(service, {}, token) };
  }
  const list = (token: string, query = '') => service.call('GET', `/attack-paths?${query}`, { token });

  rules('of a tenant', () => {
    let tenant: Tenant;
    let token: string;
    let vault: string;
    let found: Path[];
    let secretId: string;
    before(async () => {
      ({ tenant, token, vault } = await newTenant());
      await addSecret(service, vault, 'calm', { type: 'api_key', rotation: { interval_days: 30 } }, token);
      secretId = (await addSecret(service, vault, 'risky', { type: 'api_key' }, token)).id;
      const member = await addPerson(service, { tenant });
      const body = { user: member.id, role: 'reader' };
      await ok(service.call('POST', `/v1/vaults/${vault}/members`, { token, body }), 201);
      const grouped = await addColleague(service, tenant.id, 'member');
      const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: uniqueName('group') } }), 201);
      const asGroup = { group: group.id, role: 'reader' };
      await ok(service.call('POST', `/v1/vaults/${vault}/members`, { token, body: asGroup }), 201);
      await ok(service.call('POST', `/v1/groups/${group.id}/members`, { token, body: { user_id: grouped.id } }), 201);
      const allowed = await addColleague(service, tenant.id, 'member');
      const statement = { action: ['secrets:read'], resource: [`vault/${vault}/*`] };
      await addPolicy(service, { user: allowed.id }, [statement], token);
      await addConnection(service, vault, { scopes: ['secrets:read'] }, token);
      const strong = { scopes: ['secrets:read'], mtls_required: true, allowed_paths: ['ris*'] };
      const machine = await addConnection(service, vault, strong, token);
      const federation = { name: 'ci', provider: 'github', subject_pattern: 'repo:acme/*:ref:refs/heads/main' };
      await ok(service.call('POST', `/app-connections/${machine.id}/federations`, { token, body: federation }), 201);
      // These reach nothing.
      await addColleague(service, tenant.id, 'member');
      await addColleague(service, tenant.id, 'auditor');
      await addConnection(service, vault, { scopes: ['secrets:list'] }, token);
      found = await recompute(service, token);
    });

    test('lead to the riskiest secret by the weakest credential and the nearest grant', () => {
      assert.deepEqual(found.map(chainOf).sort(), [
        'federated_identity federation connection',
        'service certificate connection',
        'service client_secret connection',
        'user password membership',
        'user token group',
        'user token membership',
        'user token policy',
      ]);
      for (const path of found) assert.equal(stepOf(path, 'secret').id, secretId);
      assert.equal(stepOf(found[0], 'secret').name, `${vault}/risky`);
    });

    test('are scored by their weakest link and the risk of the secret, the worst first', () => {
      for (const { score, weakness, steps } of found) {
        const risk = Number(steps.at(-1).why.replace('risk ', ''));
        assert.equal(risk, 15);
        const links = steps.map((step: { weakness: number | null }) => step.weakness ?? 0);
        assert.equal(weakness, Math.max(...links));
        assert.equal(score, Math.round((weakness * risk) / 100));
      }
      const scores = found.map(({ score }) => score);
      assert.deepEqual(
        scores,
        scores.toSorted((a, b) => b - a),
      );
      const byChain = new Map(found.map((path) => [chainOf(path), path.weakness]));
      assert.equal(byChain.get('user password membership'), 80);
      assert.equal(byChain.get('service client_secret connection'), 70);
      assert.equal(byChain.get('service certificate connection'), 25);
      assert.equal(byChain.get('federated_identity federation connection'), 55);
    });

    test('have the same ids each time they are found', async () => {
      const ids = (paths: Path[]) => paths.map(({ id }) => id);
      const again = await recompute(service, token);
      assert.deepEqual(ids(again), ids(found));
      assert.deepEqual(
        again.map(({ first_seen_at }) => first_seen_at),
        found.map(({ first_seen_at }) => first_seen_at),
      );
      assert.notEqual(again[0].computed_at, found[0].computed_at);
      for (const id of ids(found)) assert.match(id, new RegExp(idPattern('apath')));
    });

    test('are read one by one, and in pages', async () => {
      const current = await allPages(service, '/attack-paths', 'attack_paths', { token });
      for (const path of current) {
        assert.deepEqual(await ok(service.call('GET', `/attack-paths/${path.id}`, { token })), path);
      }
      assert.deepEqual(await allPages(service, '/attack-paths?limit=2', 'attack_paths', { token }), current);
      await refused(service.call('GET', '/attack-paths/apath_none', { token }), 404, 'NOT_FOUND');
      await refused(list(token, 'limit=0'), 422, 'VALIDATION_FAILED');
      await refused(list(token, 'cursor=x'), 422, 'VALIDATION_FAILED');
    });

    test('are shown to owners, admins and auditors of the tenant', async () => {
      const [path] = (await ok(list(token))).attack_paths;
      const auditor = await addColleague(service, tenant.id, 'auditor');
      assert.equal((await ok(list(auditor.token))).attack_paths.length, found.length);
      await ok(service.call('GET', `/attack-paths/${path.id}`, { token: auditor.token }));
      const recomputing = (by: string) => service.call('POST', '/attack-paths/recompute', { token: by });
      await refused(recomputing(auditor.token), 403, 'INSUFFICIENT_PRIVILEGE');
      const member = await addColleague(service, tenant.id, 'member');
      for (const asked of [list(member.token), recomputing(member.token)]) {
        await refused(asked, 403, 'INSUFFICIENT_PRIVILEGE');
      }
      await refused(
        service.call('GET', `/attack-paths/${path.id}`, { token: member.token }),
        403,
        'INSUFFICIENT_PRIVILEGE',
      );
      const scoped = await addToken(service, token, { scope: { vaults: [vault] } });
      await refused(list(scoped.token), 403, 'INSUFFICIENT_PRIVILEGE');
      const foreign = await addTenant(service);
      assert.deepEqual((await ok(list(foreign.owner.token))).attack_paths, []);
      await refused(service.call('GET', `/attack-paths/${path.id}`, { token: foreign.owner.token }), 404, 'NOT_FOUND');
    });

    test('are left out for a caller who may not know one of their links', async () => {
      const known = await addColleague(service, tenant.id, 'member');
      const actions = ['attack_paths:*', 'secrets:read_metadata', 'users:read', 'tokens:read'];
      const read = { action: actions, resource: ['*'] };
      await addPolicy(service, { user: known.id }, [read], token);
      assert.deepEqual((await ok(list(known.token))).attack_paths, [], 'it says who is a member of the vault');
      const members = { action: ['members:list'], resource: [`vault/${vault}`] };
      await addPolicy(service, { user: known.id }, [members], token);
      const shown: Path[] = (await ok(list(known.token))).attack_paths;
      assert.deepEqual(shown.map(chainOf).sort(), ['user password membership', 'user token membership']);
      const hidden = found.find((path) => chainOf(path) === 'user token group');
      await refused(service.call('GET', `/attack-paths/${hidden.id}`, { token: known.token }), 404, 'NOT_FOUND');
      const deny = { effect: 'deny' as const, action: ['secrets:*'], resource: [`vault/${vault}/risky`] };
      await addPolicy(service, { user: known.id }, [deny], token);
      assert.deepEqual((await ok(list(known.token))).attack_paths, []);
    });

    test('end with what they lead through', async () => {
      const before: Path[] = (await ok(list(token))).attack_paths;
      const user = stepOf(
        before.find((path) => chainOf(path) === 'user token policy'),
        'principal',
      ).id;
      await ok(service.call('DELETE', `/v1/users/${user}`, { token }));
      const group = stepOf(
        before.find((path) => chainOf(path) === 'user token group'),
        'grant',
      ).id;
      await ok(service.call('DELETE', `/v1/groups/${group}`, { token }));
      const client = stepOf(
        before.find((path) => chainOf(path) === 'service client_secret connection'),
        'grant',
      ).id;
      await ok(service.call('DELETE', `/v1/app-connections/${client}`, { token }));
      const left: Path[] = (await ok(list(token))).attack_paths;
      assert.equal(left.length, before.length - 3);
      await ok(service.call('DELETE', `/v1/vaults/${vault}/secrets/risky`, { token }));
      assert.deepEqual((await ok(list(token))).attack_paths, []);
    });
  });

  rule('do not begin with a token that does not reach the secret', async () => {
    const { tenant, token, vault } = await newTenant();
    const other = await addVault(service, {}, token);
    await addSecret(service, vault, 'here', {}, token);
    await addSecret(service, other, 'there', {}, token);
    const member = await addPerson(service, { tenant });
    await addPolicy(service, { user: member.id }, [{ action: ['secrets:*'], resource: ['vault/**'] }], token);
    const session = await logIn(service, member);
    const narrow = await addToken(service, session, { ttl_days: 365, scope: { vaults: [other] } });
    const listing = await addToken(service, session, { ttl_days: 365, scope: { actions: ['secrets:list'] } });
    const paths = (await recompute(service, token)).filter((path) => stepOf(path, 'principal').id === member.id);
    const credentialTo = (name: string) =>
      stepOf(
        paths.find((path) => stepOf(path, 'secret').name.startsWith(`${name}/`)),
        'credential',
      );
    assert.equal(paths.length, 2);
    assert.equal(credentialTo(other).id, narrow.id);
    assert.equal(credentialTo(vault).type, 'password');
    assert.ok(!JSON.stringify(paths).includes(listing.id));
  });

  test('are at most 100, of any number of people', async () => {
    const { tenant, token, vault } = await newTenant();
    await addSecret(service, vault, 'one', {}, token);
    for (let i = 0; i < PATHS_MAX + 5; i++) await addColleague(service, tenant.id, 'admin');
    const found = await recompute(service, token);
    assert.equal(found.length, PATHS_MAX);
    assert.ok(found.map(chainOf).includes('user token role'));
  });
});
