import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { systemEntry } from '../../server/src/kernel/audit/entry/system-entry.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import { SCHEMA_VERSION } from '../../server/src/kernel/storage/schema-version.ts';
import { type Attacker, attackerOf, type Row } from '../support/attacker.ts';
import { addPerson, addTenant, ok, type Person, type Tenant, tryLogIn } from '../support/people.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { addTotp } from '../support/totp.ts';
import { addPolicy, addSecret, addVault, auditOf } from '../support/vaults.ts';

/** A writer of the database who puts everything back a moment later must not gain by it, or must leave a trace. */
onBothDatabases('rows that are edited for a moment', (kind) => {
  let service: Service;
  let attacker: Attacker;
  let tenant: Tenant;
  let token: string;

  before(async () => {
    const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    service = await startService(kind, { ...(databaseUrl !== undefined && { databaseUrl }) });
    attacker = await attackerOf(kind, service, databaseUrl);
    tenant = await addTenant(service);
    token = tenant.owner.token;
  });
  after(async () => {
    await attacker.close();
    await service.close();
    rmSync(service.dataDir, { recursive: true, force: true });
  });

  const verified = () => ok(service.call('GET', '/v1/audit/verify', { token }));
  const problemsIn = async (table: string) =>
    (await verified()).rows.problems.filter((one: Row) => one['table'] === table).map((one: Row) => one['problem']);

  test('do not let a member compose another vault’s secret under the name of their own', async () => {
    service.expectErrorLogs(/a row was not written by the service/);
    const member = await addPerson(service, { tenant });
    const [others, own] = [await addVault(service, {}, token), await addVault(service, {}, token)];
    await addSecret(service, others, 'k', { value: 'of another vault' }, token);
    const statements = [
      { action: ['environments:*'], resource: ['environment', 'environment/*'] },
      { action: ['secrets:*'], resource: [`vault/${own}`, `vault/${own}/*`] },
    ];
    await addPolicy(service, { user: member.id }, statements as never, token);
    const [secret] = await attacker.rows('secrets', { tenant_id: tenant.id });
    const environment = await ok(
      service.call('POST', '/environments', { token: member.token, body: { name: 'mine' } }),
      201,
    );
    const body = { secret_id: Number(secret?.['secret_no']), key_name: 'KEY' };
    const bind = () => service.call('POST', `/environments/${environment.id}/secrets`, { token: member.token, body });
    assert.equal((await bind()).status, 404);

    const where = { tenant_id: tenant.id };
    await attacker.update('vaults', { ...where, name: own }, { name: 'between' });
    await attacker.update('vaults', { ...where, name: others }, { name: own });
    assert.notEqual((await bind()).status, 201);
    await attacker.update('vaults', { ...where, name: own }, { name: others });
    await attacker.update('vaults', { ...where, name: 'between' }, { name: own });

    await ok(service.call('POST', `/environments/${environment.id}/secrets`, { token, body }), 201);
    await attacker.update('vaults', { ...where, name: own }, { name: 'between' });
    await attacker.update('vaults', { ...where, name: others }, { name: own });
    const composed = await service.call('GET', `/environments/${environment.id}/compose?resolve=true`, {
      token: member.token,
    });
    assert.ok(!composed.text.includes('of another vault'), 'the value was given');
    await attacker.update('vaults', { ...where, name: own }, { name: others });
    await attacker.update('vaults', { ...where, name: 'between' }, { name: own });
  });

  describe('do not give a value by an older version that is put back while others are read:', () => {
    const older = { environment: 'development', version: 1, tags: '[]' };
    let vault: string;
    let member: Person;

    before(async () => {
      vault = await addVault(service, { environment: 'development' }, token);
      // Far more than the buffers between the service and a reader who has stopped reading.
      const many = Array.from({ length: 200 }, (_, no) => [`a/${no}`, 'x'.repeat(128 * 1024)]);
      for (let at = 0; at < many.length; at += 40) {
        const secrets = Object.fromEntries(many.slice(at, at + 40));
        await ok(service.call('POST', `/v1/vaults/${vault}/import`, { token, body: { secrets } }));
      }
      member = await addPerson(service, { tenant });
      const resource = [`vault/${vault}/**`];
      const statements = [
        { effect: 'allow', action: ['secrets:*'], resource, condition: { environment: ['development'] } },
        { effect: 'deny', action: ['secrets:read'], resource, condition: { tag_equals: ['hidden'] } },
      ];
      await addPolicy(service, { user: member.id }, statements as never, token);
    });

    for (const [what, secret, change] of [
      ['by its environment', { environment: 'homologation' }, { metadata: { owner: 'ops' } }],
      ['by a tag', {}, { metadata: { tags: ['hidden'] } }],
    ] as const) {
      test(`a caller who is denied ${what}`, async () => {
        const path = `z/${Object.keys(secret)[0] ?? 'tag'}`;
        const url = `/v1/vaults/${vault}/secrets/${path}`;
        await addSecret(service, vault, path, { value: `value of ${path}`, ...secret }, token);
        await ok(service.call('PUT', url, { token, body: change }));
        assert.equal((await service.call('GET', url, { token: member.token })).status, 403);
        const where = { tenant_id: tenant.id, path };
        const [row] = await attacker.rows('secrets', where);
        const { environment, version, tags } = row as Row;
        await attacker.update('secrets', where, older);
        const request = get(`${service.url}/v1/vaults/${vault}/aggregate?limit=400`, {
          headers: { authorization: `Bearer ${member.token}` },
        });
        const [response] = (await once(request, 'response')) as [IncomingMessage];
        assert.equal(response.statusCode, 200);
        // The rows are decided on, and the values are read as the caller reads on.
        await attacker.update('secrets', where, { environment, version, tags });
        let text = '';
        for await (const piece of response.setEncoding('utf8')) text = (text + piece).slice(-4096);
        assert.match(text, /"next_cursor":null\}$/);
        assert.ok(!text.includes(`value of ${path}`), 'the value was given');
      });
    }
  });

  test('show no entry of the log that stands outside the chain', async () => {
    service.expectErrorLogs(/the audit log was tampered with/);
    const now = service.clock.now();
    for (const [name, first_seq] of [
      ['before', 0],
      ['behind', 1_000_000_000],
      ['waiting', null],
    ] as const) {
      const facts = { actorId: 'operator', action: 'secrets:read', status: 200, details: {}, now } as const;
      const { tenant_id, rows: _, ...fields } = systemEntry({ tenantId: tenant.id, resource: name, ...facts });
      const id = newId('audit', now);
      const hashes = first_seq === null ? null : Buffer.alloc(32, 7);
      const entries = JSON.stringify([Object.values(fields)]);
      await attacker.insert('audit_segments', {
        tenant_id,
        id,
        entries,
        first_seq,
        hashes,
        schema_version: SCHEMA_VERSION,
      });
      assert.deepEqual(await auditOf(service, `resource=${name}`, token), [], name);
      assert.deepEqual(await problemsIn('audit_segments'), ['forged'], name);
      await attacker.delete('audit_segments', { id });
    }
  });

  test('do not make a tokenized value outlive its end', async () => {
    service.expectErrorLogs(/a stored value cannot be decrypted/);
    const vault = await addVault(service, {}, token);
    const of = (path: string) => `/v1/vaults/${vault}/${path}`;
    const body = { value: 'for two days', ttl_days: 2 };
    const made = await ok(service.call('POST', of('tokenize'), { token, body }), 201);
    const detokenize = () => service.call('POST', of('detokenize'), { token, body: { token: made.token } });
    assert.equal((await ok(detokenize())).value, 'for two days');
    for (const expires_at of [service.clock.now() + 3 * 86_400_000, null]) {
      await attacker.update('tokenized_values', { token_id: made.token }, { expires_at });
      const opened = await detokenize();
      assert.ok(opened.status >= 400 && !opened.text.includes('for two days'), String(opened.status));
    }
  });

  test('do not make a spent recovery code good again without a trace', async () => {
    const person = await addPerson(service, { tenant });
    const { recoveryCodes } = await addTotp(service, person.id);
    const before = await attacker.rows('user_recovery_codes', { user_id: person.id });
    assert.equal((await tryLogIn(service, person, { otp: recoveryCodes[0] })).status, 200);
    const left = (await attacker.rows('user_recovery_codes', { user_id: person.id })).map(hashOf);
    const [spent] = before.filter((row) => !left.includes(hashOf(row)));
    assert.deepEqual(await problemsIn('user_recovery_codes'), []);
    await attacker.insert('user_recovery_codes', spent as Row);
    await tryLogIn(service, person, { otp: recoveryCodes[0] });
    assert.deepEqual(await problemsIn('user_recovery_codes'), ['replaced']);
  });
});

function hashOf(row: Row): string {
  return Buffer.from(row['code_hash'] as Uint8Array).toString('hex');
}
