import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HOUR_MS } from '../server/src/kernel/base/clock.ts';
import {
  addConnection,
  callAs,
  clientHeaders,
  type DpopKey,
  type Machine,
  newDpopKey,
  type ProofClaims,
  proofBy,
  tlsCall,
} from './support/machines.ts';
import { addColleague, ok } from './support/people.ts';
import { newPostgresDatabase } from './support/postgres.ts';
import { call, onBothDatabases, type Service, startService } from './support/service.ts';
import { addSecret, addVault, runPurges, secretUrl } from './support/vaults.ts';

onBothDatabases('dpop', (database, { rule }) => {
  let service: Service;
  let vault: string;
  let key: DpopKey;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
    await addSecret(service, vault, 'a');
    key = await newDpopKey();
  });
  after(() => service.close());

  const path = () => secretUrl(vault, 'a');
  const proof = (claims: Partial<ProofClaims> = {}, by = key) =>
    proofBy(by, { htu: `${service.url}${path()}`, at: service.clock.now(), ...claims });

  async function boundToken(dpop_jkt = key.jkt): Promise<string> {
    return (await ok(service.call('POST', '/auth/tokens', { body: { name: 'bound', dpop_jkt } }), 201)).token;
  }

  const ask = (headers: Record<string, string>, url = path()) => service.call('GET', url, { token: null, headers });

  describe('a token that is bound to a key', () => {
    test('opens with a proof by that key, once', async () => {
      const token = await boundToken();
      const headers = { authorization: `DPoP ${token}`, dpop: await proof({ token }) };
      assert.equal((await ask(headers)).status, 200);
      const again = await ask(headers);
      assert.equal(again.status, 401);
      assert.equal(again.body.error.code, 'INVALID_DPOP_PROOF');
      assert.match(again.headers.get('www-authenticate') ?? '', /^DPoP error="invalid_dpop_proof", algs="ES256 /);
      const { entries } = await ok(service.call('GET', '/v1/audit?action=secrets:read&decision=deny&limit=1'));
      assert.equal(entries[0].reason, 'dpop: it was used before');
      assert.equal(entries[0].actor.kind, 'user');
    });

    rule('is refused as a bearer token, without a proof, and with one that does not fit', async () => {
      const token = await boundToken();
      const other = await newDpopKey();
      const authorization = `DPoP ${token}`;
      const bad: Record<string, Record<string, string>> = {
        bearer: { authorization: `Bearer ${token}` },
        'bearer with a proof': { authorization: `Bearer ${token}`, dpop: await proof({ token }) },
        'no proof': { authorization },
        'another key': { authorization, dpop: await proof({ token }, other) },
        'another method': { authorization, dpop: await proof({ token, htm: 'POST' }) },
        'another URL': { authorization, dpop: await proof({ token, htu: `${service.url}/auth/me` }) },
        'no ath': { authorization, dpop: await proof() },
        'another token': { authorization, dpop: await proof({ token: service.adminToken }) },
        'an old one': { authorization, dpop: await proof({ token, at: service.clock.now() - 400_000 }) },
        'two proofs': { authorization, dpop: `${await proof({ token })}, ${await proof({ token })}` },
        'a host of the sender’s choice': {
          authorization,
          host: 'localhost',
          dpop: await proof({ token, htu: `http://localhost${path()}` }),
        },
      };
      for (const [name, headers] of Object.entries(bad)) assert.equal((await ask(headers)).status, 401, name);
      service.clock.advance(60_000);
    });

    rule('an unbound token sent as DPoP is refused; made with a bound one, a token stays bound', async () => {
      const headers = { authorization: `DPoP ${service.adminToken}`, dpop: await proof({ token: service.adminToken }) };
      assert.equal((await ask(headers)).status, 401);
      const token = await boundToken();
      const made = await service.call('POST', '/auth/tokens', {
        token: null,
        body: { name: 'child' },
        headers: {
          authorization: `DPoP ${token}`,
          dpop: await proof({ token, htm: 'POST', htu: `${service.url}/auth/tokens` }),
        },
      });
      assert.equal(made.body.dpop_jkt, key.jkt);
    });

    test('sent twice at the same time, a proof opens once', async () => {
      const token = await boundToken();
      const headers = { authorization: `DPoP ${token}`, dpop: await proof({ token }) };
      const answers = await Promise.all(Array.from({ length: 16 }, () => ask(headers)));
      assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    });

    test('proofs that could no longer be used are deleted', async () => {
      const token = await boundToken();
      await ask({ authorization: `DPoP ${token}`, dpop: await proof({ token }) });
      const count = async () => {
        const rows = await service.app.kernel.database.read.selectFrom('dpop_proofs').select('proof').execute();
        return rows.length;
      };
      assert.ok((await count()) > 0);
      service.clock.advance(HOUR_MS);
      await runPurges(service);
      assert.equal(await count(), 0);
    });
  });

  describe('a connection', () => {
    const read = async (machine: Machine, dpop?: string) =>
      callAs(service, machine, 'GET', path(), { headers: dpop === undefined ? {} : { dpop } });

    rule('that requires it is refused without, and with another key than the one enrolled', async () => {
      const machine = await addConnection(service, vault, { require_dpop: true, dpop_jkt: key.jkt });
      assert.equal((await read(machine)).body.error.code, 'DPOP_REQUIRED');
      assert.equal((await read(machine, await proof({}, await newDpopKey()))).body.error.code, 'INVALID_DPOP_PROOF');
      const good = await proof();
      assert.equal((await read(machine, good)).status, 200);
      assert.equal((await read(machine, good)).body.error.code, 'INVALID_DPOP_PROOF');
      const iat = Math.floor(service.clock.now() / 1000) + 0.1234567;
      assert.equal((await read(machine, await proof({ more: { iat } }))).status, 200, 'seconds may have a fraction');
    });

    rule('that does not require it is still refused with a bad one', async () => {
      const machine = await addConnection(service, vault, { dpop_jkt: key.jkt });
      assert.equal((await read(machine)).status, 200);
      assert.equal((await read(machine, await proof({ htm: 'PUT' }))).status, 401);
      const unenrolled = await addConnection(service, vault);
      assert.equal((await read(unenrolled, await proof())).status, 401, 'a key that nobody knows');
    });

    rule('reads a fortress secret with certificate and proof, and with neither alone', async () => {
      const fortress = secretUrl(vault, 'fortress');
      const { kernel } = service.app;
      const maker = await addColleague(service, kernel.operatorTenantId, 'admin', { mfaAt: service.clock.now() });
      await addSecret(service, vault, 'fortress', { protection: 'fortress' }, maker.token);
      const machine = await addConnection(service, vault, {}, maker.token);
      const headers = clientHeaders(machine);
      const dpop = await proof({ htu: `${service.tlsUrl}${fortress}` });
      assert.equal((await callAs(service, machine, 'GET', fortress)).body.error.code, 'MFA_REQUIRED');
      assert.equal((await tlsCall(service, machine, fortress, { headers })).body.error.code, 'MFA_REQUIRED');
      assert.equal((await tlsCall(service, machine, fortress, { headers: { ...headers, dpop } })).status, 200);
    });
  });

  test('nonces: when they are required, one is given out, and only current ones of ours are accepted', async () => {
    const strict = await startService(database, { env: { CV_DPOP_NONCE: 'required' } });
    const jkt = key.jkt;
    const { token } = await ok(strict.call('POST', '/auth/tokens', { body: { name: 'bound', dpop_jkt: jkt } }), 201);
    const me = async (nonce?: string) => {
      const claims = { htu: `${strict.url}/auth/me`, at: strict.clock.now(), token, ...(nonce && { nonce }) };
      const headers = { authorization: `DPoP ${token}`, dpop: await proofBy(key, claims) };
      return strict.call('GET', '/auth/me', { token: null, headers });
    };
    const first = await me();
    assert.equal(first.status, 401);
    assert.match(first.headers.get('www-authenticate') ?? '', /use_dpop_nonce/);
    const nonce = first.headers.get('dpop-nonce') ?? '';
    assert.equal((await me(nonce)).status, 200);
    assert.equal((await me('made-up')).status, 401);
    const [time, ...rest] = nonce.split('.');
    assert.equal((await me([`${time}0`, ...rest].join('.'))).status, 401);
    strict.clock.advance(301_000);
    const late = await me(nonce);
    assert.equal(late.status, 401);
    assert.equal((await me(late.headers.get('dpop-nonce') ?? '')).status, 200);
    await strict.close();
  });
});

test('a proof used on one node is used on every node', async () => {
  const databaseUrl = await newPostgresDatabase();
  const first = await startService('postgres', { databaseUrl, env: { CV_BASE_URL: 'http://coffer.test' } });
  const dataDir = first.dataDir;
  const second = await startService('postgres', {
    databaseUrl,
    dataDir,
    keepData: true,
    env: { CV_BASE_URL: 'http://coffer.test' },
  });
  const key = await newDpopKey();
  const port = (service: Service) => `http://127.0.0.1:${service.app.kernel.addresses.port}`;
  const body = { name: 'x', dpop_jkt: key.jkt };
  const { token } = (await call(port(first), 'POST', '/auth/tokens', { token: first.adminToken, body })).body;
  const claims = { htu: 'http://coffer.test/auth/me', at: first.clock.now(), token };
  const headers = { authorization: `DPoP ${token}`, dpop: await proofBy(key, claims) };
  const ask = (service: Service) => fetch(`${port(service)}/auth/me`, { headers });
  const answers = await Promise.all([ask(first), ask(second), ask(first), ask(second)]);
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  await second.close();
  await first.close();
});
