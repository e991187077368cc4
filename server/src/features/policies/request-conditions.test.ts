import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addConnection, callAs } from '../../../../test/support/machines.ts';
import { addPerson, ok, type Person, refused } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault, type Statement, secretUrl } from '../../../../test/support/vaults.ts';

const HERE = '192.0.2.7';
const THERE = '203.0.113.9';

/** What a policy asks about the request itself: from where, when, and with what shown. */
onSqliteAtLanding('conditions on the request', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: { CV_TRUSTED_PROXIES: '127.0.0.1' } });
  });
  after(() => service.close());

  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
  const everything = ['vaults:*', 'secrets:*'];
  const withPolicy = async (...statements: Statement[]): Promise<Person> => {
    const person = await addPerson(service);
    await addPolicy(service, { user: person.id }, statements);
    return person;
  };
  const questions = (vault: string): [method: string, url: string, body?: object][] => [
    ['GET', `/v1/vaults/${vault}`],
    ['GET', `/v1/vaults/${vault}/secrets`],
    ['GET', `/v1/vaults/${vault}/aggregate`],
    ['GET', `/v1/vaults/${vault}/export`],
    ['GET', `/v1/vaults/${vault}/export?prefix=a`],
    ['POST', `/v1/vaults/${vault}/search`, { query: 'value' }],
  ];

  describe('that do not hold', () => {
    const clockAt = (minutes: number) => {
      const at = new Date(service.clock.now() + minutes * 60_000).toISOString();
      return at.slice(11, 16);
    };
    const unmet: [name: string, condition: () => object][] = [
      ['an address', () => ({ ip_cidr: [THERE] })],
      ['a time', () => ({ time_between: [{ from: clockAt(120), to: clockAt(180) }] })],
      ['a second factor', () => ({ mfa: [true] })],
    ];
    for (const [name, condition] of unmet) {
      test(`${name}: everything is refused alike, whether or not there is such a vault`, async () => {
        const vault = await addVault(service);
        await addSecret(service, vault, 'a');
        const { token } = await withPolicy({ action: everything, resource: ['vault/**'], condition: condition() });
        for (const [method, url, body] of [...questions(vault), ...questions('never-was')]) {
          const options = { token, ...from(HERE), ...(body !== undefined && { body }) };
          await refused(service.call(method, url, options), 403, 'INSUFFICIENT_PRIVILEGE');
        }
      });
    }

    test('an allow for a path of its own, out of place, shows no vault either', async () => {
      const vault = await addVault(service);
      await addSecret(service, vault, 'a/b');
      const condition = { ip_cidr: [THERE] };
      const { token } = await withPolicy({ action: ['secrets:*'], resource: ['vault/*/a/*'], condition });
      const list = (name: string, address: string) =>
        service.call('GET', `/v1/vaults/${name}/secrets`, { token, ...from(address) });
      await refused(list(vault, HERE), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(list('never-was', HERE), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.equal((await ok(list(vault, THERE))).secrets.length, 1);
      await refused(list('never-was', THERE), 404, 'VAULT_NOT_FOUND');
    });
  });

  test('an export from where a part may not be read is refused, and from elsewhere whole', async () => {
    const vault = await addVault(service);
    for (const path of ['a', 'b/c']) await addSecret(service, vault, path);
    const { token } = await withPolicy(
      { action: ['secrets:export', 'secrets:read'], resource: ['vault/**'] },
      { effect: 'deny', action: ['*'], resource: [`vault/${vault}/b/*`], condition: { ip_cidr: [HERE] } },
    );
    const url = `/v1/vaults/${vault}/export`;
    await refused(service.call('GET', url, { token, ...from(HERE) }), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.deepEqual(await ok(service.call('GET', `${url}?prefix=a`, { token, ...from(HERE) })), { a: 'value of a' });
    const whole = await ok(service.call('GET', url, { token, ...from(THERE) }));
    assert.deepEqual(whole, { a: 'value of a', 'b/c': 'value of b/c' });
  });

  test('a cluster that is denied for its address is refused, and not told that there are no secrets', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'a');
    for (const resource of [[`vault/${vault}/*`], [`vault/${vault}`, `vault/${vault}/*`]]) {
      const machine = await addConnection(service, vault, { scopes: ['eso:read'] });
      const condition = { ip_cidr: [HERE] };
      const denied = { effect: 'deny' as const, action: ['eso:*'], resource, condition };
      await addPolicy(service, { app_connection: machine.client_id }, [denied]);
      const list = (address: string) => callAs(service, machine, 'GET', `/eso/vault/${vault}`, from(address));
      await refused(list(HERE), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.equal((await ok(list(THERE))).secrets.length, 1);
    }
  });

  describe('and putting a value where it may be read', () => {
    const conditions: [name: string, condition: object][] = [
      ['from another address', { ip_cidr: [THERE] }],
      ['at another hour', { time_between: [{ from: '00:00', to: '00:01' }] }],
      ['with a second factor', { mfa: [true] }],
    ];
    const move = { to_path: 'x' };
    for (const [name, condition] of conditions) {
      test(`${name}: refused, from wherever it is requested`, async () => {
        const [closed, open] = [await addVault(service), await addVault(service)];
        await addSecret(service, closed, 'x');
        const { token } = await withPolicy(
          { action: ['secrets:move', 'secrets:copy'], resource: [`vault/${closed}/*`] },
          { action: ['secrets:create'], resource: [`vault/${open}/*`] },
          { action: ['secrets:read'], resource: [`vault/${open}/*`], condition },
        );
        for (const [verb, address] of ['copy', 'move'].flatMap((one) =>
          [HERE, THERE].map((ip) => [one, ip] as const),
        )) {
          const options = { token, ...from(address), body: { ...move, to_vault: open } };
          const put = service.call('POST', secretUrl(closed, 'x', verb), options);
          await refused(put, 403, 'INSUFFICIENT_PRIVILEGE');
        }
      });
    }

    test('refused also to who could read it where it was from some addresses only', async () => {
      const vault = await addVault(service);
      for (const path of ['old/x', 'old/y']) await addSecret(service, vault, path);
      const { token } = await withPolicy(
        { action: ['secrets:*'], resource: [`vault/${vault}/**`] },
        {
          effect: 'deny',
          action: ['secrets:read'],
          resource: [`vault/${vault}/old/*`],
          condition: { ip_cidr: [HERE] },
        },
      );
      const to = (to_path: string) =>
        service.call('POST', secretUrl(vault, 'old/x', 'move'), { token, ...from(THERE), body: { to_path } });
      await refused(to('new/x'), 403, 'INSUFFICIENT_PRIVILEGE');
      await ok(to('old/z'));
    });

    test('a machine that may read through the operator there is refused too', async () => {
      const [closed, open] = [await addVault(service), await addVault(service)];
      await addSecret(service, closed, 'x');
      const idOf = async (name: string) => (await ok(service.call('GET', `/v1/vaults/${name}`))).id as string;
      const vault_ids = [await idOf(closed), await idOf(open)];
      const machine = await addConnection(service, closed, { vault: undefined, vault_ids, scopes: ['secrets:list'] });
      await addPolicy(service, { app_connection: machine.client_id }, [
        { action: ['secrets:copy'], resource: [`vault/${closed}/*`] },
        { action: ['secrets:create', 'eso:read'], resource: [`vault/${open}/*`] },
      ]);
      const copy = callAs(service, machine, 'POST', secretUrl(closed, 'x', 'copy'), {
        body: { ...move, to_vault: open },
      });
      const { message } = await refused(copy, 403, 'INSUFFICIENT_PRIVILEGE');
      assert.match(message, /this change would let you/);
    });
  });
});
