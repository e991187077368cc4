import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addConnection } from '../../../../test/support/machines.ts';
import {
  addColleague,
  addPerson,
  addTenant,
  addToken,
  invalid,
  ok,
  refused,
  type Tenant,
  uniqueName,
} from '../../../../test/support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault } from '../../../../test/support/vaults.ts';

type Path = Answer['body'];

/** A way as a short text. */
function textOf({ principal, group, grant, vault, path }: Path): string {
  const through = group === null ? grant.kind : `group ${grant.kind}`;
  return `${principal.name}: ${through} ${grant.name} -> ${path === null ? vault : `${vault}/${path}`}`;
}

onBothDatabases('access paths', (database, { rule, rules }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const list = (token: string, query = '') => ok(service.call('GET', `/v1/access-paths?${query}`, { token }));
  const texts = async (token: string, query = '') => (await list(token, query)).access_paths.map(textOf) as string[];
  const newTenant = async () => {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    return { tenant, token, vault: await addVault(service, {}, token) };
  };
  const join = (token: string, vault: string, body: object) =>
    ok(service.call('POST', `/v1/vaults/${vault}/members`, { token, body }), 201);
  const addGroup = async (token: string, ...members: string[]) => {
    const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: uniqueName('group') } }), 201);
    for (const user_id of members) {
      await ok(service.call('POST', `/v1/groups/${group.id}/members`, { token, body: { user_id } }), 201);
    }
    return group;
  };
  const reading = (vault: string, path = '*') => ({ action: ['secrets:read'], resource: [`vault/${vault}/${path}`] });

  rules('of a tenant', () => {
    let tenant: Tenant;
    let token: string;
    let vault: string;
    let other: string;
    let reader: Awaited<ReturnType<typeof addPerson>>;
    let grouped: Awaited<ReturnType<typeof addColleague>>;
    let group: Answer['body'];
    let policy: string;
    let machine: Awaited<ReturnType<typeof addConnection>>;
    before(async () => {
      ({ tenant, token, vault } = await newTenant());
      other = await addVault(service, {}, token);
      for (const path of ['db/password', 'mail/key']) await addSecret(service, vault, path, {}, token);
      await addSecret(service, other, 'secret', {}, token);
      reader = await addPerson(service, { tenant });
      await join(token, vault, { user: reader.id, role: 'reader' });
      grouped = await addColleague(service, tenant.id, 'member');
      group = await addGroup(token, grouped.id);
      policy = await addPolicy(service, { group: group.id }, [reading(vault, 'db/*')], token);
      await join(token, other, { group: group.id, role: 'writer' });
      machine = await addConnection(service, vault, { scopes: ['secrets:read'], allowed_paths: ['mail/*'] }, token);
      // These reach nothing.
      await addColleague(service, tenant.id, 'auditor');
      await addConnection(service, vault, { scopes: ['secrets:list'] }, token);
    });

    test('name everybody who can read a secret, and what gives them the right', async () => {
      const owner = tenant.owner.email;
      assert.deepEqual(
        (await texts(token, `vault=${vault}&path=db/password`)).sort(),
        [
          `${grouped.email}: group policy ${policy} -> ${vault}/db/password`,
          `${owner}: membership manager -> ${vault}/db/password`,
          `${owner}: role owner -> ${vault}/db/password`,
          `${reader.email}: membership reader -> ${vault}/db/password`,
        ].sort(),
      );
    });

    test('end at vaults unless secrets are wanted', async () => {
      const found = await list(token, `user=${grouped.id}`);
      assert.deepEqual(
        found.access_paths.map(textOf).sort(),
        [
          `${grouped.email}: group membership writer -> ${other}`,
          `${grouped.email}: group policy ${policy} -> ${vault}`,
        ].sort(),
      );
      assert.equal(found.hidden, 0);
      assert.deepEqual(
        (await texts(token, `user=${grouped.email}&depth=secrets`)).sort(),
        [
          `${grouped.email}: group membership writer -> ${other}/secret`,
          `${grouped.email}: group policy ${policy} -> ${vault}/db/password`,
        ].sort(),
      );
    });

    test('are narrowed to a group, a policy or a connection', async () => {
      assert.equal((await texts(token, `group=${group.name}`)).length, 2);
      assert.deepEqual(await texts(token, `policy=${policy}`), [
        `${grouped.email}: group policy ${policy} -> ${vault}`,
      ]);
      for (const name of [machine.client_id, machine.id]) {
        assert.deepEqual(await texts(token, `app_connection=${name}&depth=secrets`), [
          `${machine.name}: connection ${machine.name} -> ${vault}/mail/key`,
        ]);
      }
      assert.deepEqual(await texts(token, `user=${reader.id}&app_connection=${machine.client_id}`), []);
    });

    test('name the credentials that reach so far, the weakest first', async () => {
      await addToken(service, reader.token, { name: 'of this vault', scope: { vaults: [vault] } });
      await addToken(service, reader.token, { name: 'of another vault', scope: { vaults: [other] } });
      const of = async (path: string): Promise<string[]> => {
        const { access_paths } = await list(token, `vault=${vault}&path=${path}&user=${reader.id}`);
        const [{ credentials }] = access_paths;
        const weak = credentials.map(({ weakness }: { weakness: number }) => weakness);
        assert.deepEqual(
          weak,
          weak.toSorted((a: number, b: number) => b - a),
        );
        return credentials.map(({ type, name }: { type: string; name: string }) => `${type} ${name}`);
      };
      const named = await of('db/password');
      assert.ok(named.includes('password ') && named.includes('token of this vault'));
      assert.ok(!named.includes('token of another vault'));
    });

    test('come in pages of any size, each once', async () => {
      const whole = await texts(token, 'depth=secrets&limit=1000');
      assert.ok(whole.length > 8);
      for (const limit of [1, 3]) {
        const pages: Path[] = [];
        for (let cursor: string | null = ''; cursor !== null; ) {
          const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
          const page = await list(token, `depth=secrets&limit=${limit}${after}`);
          assert.ok(page.access_paths.length <= limit);
          pages.push(...page.access_paths);
          cursor = page.next_cursor;
        }
        assert.deepEqual(pages.map(textOf), whole);
      }
    });

    test('a person without a policy may not list them, and an auditor may', async () => {
      await refused(service.call('GET', '/v1/access-paths', { token: reader.token }), 403, 'INSUFFICIENT_PRIVILEGE');
      const auditor = await addPerson(service, { tenant, role: 'auditor' });
      assert.deepEqual(await texts(auditor.token, 'limit=1000'), await texts(token, 'limit=1000'));
    });
  });

  rule('with a policy somebody sees only what they may read about, and how many ways are left out', async () => {
    const { tenant, token, vault } = await newTenant();
    await addSecret(service, vault, 'key', {}, token);
    const unseen = await addVault(service, {}, token);
    const asker = await addPerson(service, { tenant });
    const statements = [
      { action: ['access_paths:list'], resource: ['access-path/*'] },
      { action: ['users:read'], resource: [`user/${asker.id}`] },
    ];
    await addPolicy(service, { user: asker.id }, statements, token);
    const nothing = await list(asker.token, 'depth=secrets');
    assert.deepEqual([nothing.access_paths, nothing.hidden], [[], 0]);
    const ofNone = await list(asker.token, `vault=${uniqueName('none')}`);
    assert.deepEqual(await list(asker.token, `vault=${unseen}`), ofNone);
    // A reader sees the vault and its secrets, but of its members only whom they may read about.
    await join(token, vault, { user: asker.id, role: 'reader' });
    const before = await list(asker.token, `vault=${vault}`);
    assert.deepEqual([before.access_paths, before.hidden > 1], [[], true], 'a membership needs members:list');
    await addPolicy(service, { user: asker.id }, [{ action: ['members:list'], resource: [`vault/${vault}`] }], token);
    const seen = await list(asker.token, `vault=${vault}&path=key`);
    assert.deepEqual(seen.access_paths.map(textOf), [`${asker.email}: membership reader -> ${vault}/key`]);
    assert.equal(seen.hidden, before.hidden - 1);
  });

  rule('another tenant is not in it', async () => {
    const { token, vault } = await newTenant();
    const stranger = await newTenant();
    for (const query of [`vault=${stranger.vault}`, `user=${stranger.tenant.owner.id}`]) {
      assert.deepEqual(await list(token, query), { access_paths: [], hidden: 0, next_cursor: null });
    }
    for (const { principal } of (await list(token, 'limit=1000')).access_paths) {
      assert.notEqual(principal.id, stranger.tenant.owner.id);
    }
    const page = await list(token, `vault=${vault}&limit=1`);
    const cursor = `cursor=${page.next_cursor}`;
    await invalid(service.call('GET', `/v1/access-paths?limit=1&${cursor}`, { token }), '/query/cursor');
    const asStranger = service.call('GET', `/v1/access-paths?vault=${vault}&limit=1&${cursor}`, {
      token: stranger.token,
    });
    await invalid(asStranger, '/query/cursor');
  });

  rule('a path without its vault, and what is malformed, is refused', async () => {
    const { token } = await newTenant();
    const call = (query: string) => service.call('GET', `/v1/access-paths?${query}`, { token });
    await invalid(call('path=db/password'), '/query/path');
    await invalid(call('depth=values'), '/query/depth');
    await invalid(call('limit=0'), '/query/limit');
    await invalid(call('cursor=abc'), '/query/cursor');
  });
});
