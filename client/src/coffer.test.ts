import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { newIssuerKey, OutsideIssuer, signed } from '../../test/support/external-issuer.ts';
import { OUTSIDE_ENV } from '../../test/support/external-logins.ts';
import { addConnection } from '../../test/support/machines.ts';
import { addPerson, ok, uniqueName } from '../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../test/support/service.ts';
import { addSecret, addVault, auditOf } from '../../test/support/vaults.ts';
import { type Auth, Coffer, dpopThumbprint, generateDpopKey } from './index.ts';
import {
  certificateRenewalMs,
  createDpopKeyFile,
  dpopKeyFromFile,
  identityFromFiles,
  nodeTransport,
  renewCertificateFiles,
} from './node/index.ts';

/** The client library against the service, over real HTTP and TLS. */

const issuer = await OutsideIssuer.start();
const issuerKey = await newIssuerKey('k', 'RS256');
issuer.keys = [issuerKey.jwk];
const folder = mkdtempSync(join(tmpdir(), 'coffer-client-'));
after(() => {
  issuer.close();
  rmSync(folder, { recursive: true });
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of items) found.push(one);
  return found;
}

onSqliteAtLanding('the client library', (database) => {
  let service: Service;
  let coffer: Coffer;
  let vault: string;

  const clientOf = (auth: Auth, more: object = {}) => new Coffer({ url: service.url, auth, ...more });

  before(async () => {
    // Without a proxy in front: it shows its client certificates itself.
    const { CV_TRUSTED_PROXIES: _, ...env } = OUTSIDE_ENV;
    service = await startService(database, { env });
    coffer = clientOf({ token: service.adminToken });
    vault = await addVault(service);
  });
  after(() => service.close());

  test('a secret is set, read, changed, rotated, rolled back, listed and deleted', async () => {
    const created = await coffer.secrets.set(vault, 'db/password', 'one', {
      type: 'password',
      metadata: { owner: 'ada' },
    });
    assert.equal(created.version, 1);
    const changed = await coffer.secrets.set(vault, 'db/password', 'two');
    assert.equal(changed.version, 2);
    const secret = await coffer.secrets.get(vault, 'db/password');
    assert.deepEqual([secret.value, secret.version, secret.metadata.owner], ['two', 2, 'ada']);
    assert.equal((await coffer.secrets.get(vault, 'db/password', { version: 1 })).value, 'one');
    const rotated = await coffer.secrets.rotate(vault, 'db/password', { reason: 'Quarterly' });
    assert.equal(rotated.version, 3);
    assert.notEqual((await coffer.secrets.get(vault, 'db/password')).value, 'two');
    await coffer.secrets.rollback(vault, 'db/password', 1, { reason: 'Broken' });
    assert.equal((await coffer.secrets.get(vault, 'db/password')).value, 'one');
    const versions = await all(coffer.secrets.versions(vault, 'db/password'));
    assert.deepEqual(
      versions.map(({ version }) => version),
      [4, 3, 2, 1],
    );
    await coffer.secrets.set(vault, 'db/user', 'shop');
    assert.deepEqual((await all(coffer.secrets.list(vault, { prefix: 'db/' }))).map(({ path }) => path).sort(), [
      'db/password',
      'db/user',
    ]);
    const values = await coffer.secrets.getAll(vault, { prefix: 'db/' });
    assert.deepEqual(values.map(({ path, value }) => [path, value]).sort(), [
      ['db/password', 'one'],
      ['db/user', 'shop'],
    ]);
    await coffer.secrets.delete(vault, 'db/user');
    await assert.rejects(coffer.secrets.get(vault, 'db/user'), {
      code: 'SECRET_NOT_FOUND',
      status: 404,
      requestId: /^req_/,
    });
  });

  test('values found elsewhere are compared in as many requests as they need', async () => {
    const where = await addVault(service);
    const leaked = `${'leaked-k7Qw2mZx9LpR'.padEnd(15_000, 'xy')}`;
    for (const path of ['a', 'b']) await coffer.secrets.set(where, path, `${leaked}${path}`);
    const values = Array.from({ length: 130 }, (_, at) => `not-stored-k7Qw2mZx9LpR-${at}`);
    const large = Array.from({ length: 40 }, (_, at) => `${leaked}${at}`);
    const { known, isComplete } = await coffer.secrets.findKnown([
      ...values,
      `${leaked}a`,
      ...large,
      `${leaked}b`,
      'pin',
    ]);
    assert.deepEqual(
      known.map(({ index, secrets }) => [index, secrets.map(({ vault: name, path }) => `${name}/${path}`)]),
      [
        [130, [`${where}/a`]],
        [171, [`${where}/b`]],
      ],
    );
    assert.equal(isComplete, true);
    assert.deepEqual(await coffer.secrets.findKnown([]), { known: [], isComplete: true });
  });

  test('a stale version and a secret that exists already are refused when the caller says so', async () => {
    const path = uniqueName('guarded');
    await coffer.secrets.set(vault, path, 'a', { expectedVersion: 0 });
    await assert.rejects(coffer.secrets.set(vault, path, 'b', { expectedVersion: 0 }), {
      code: 'SECRET_ALREADY_EXISTS',
    });
    await coffer.secrets.set(vault, path, 'b', { expectedVersion: 1 });
    await assert.rejects(coffer.secrets.set(vault, path, 'c', { expectedVersion: 1 }), { code: 'VERSION_CONFLICT' });
    assert.equal((await coffer.secrets.get(vault, path)).value, 'b');
  });

  test('references are resolved with the rights of the caller', async () => {
    await coffer.secrets.set(vault, 'config', JSON.stringify({ host: 'db', port: 5432 }));
    assert.equal(await coffer.secrets.resolve(`coffer://${vault}/config#host`), 'db');
    assert.equal(await coffer.secrets.resolve(`coffer://${vault}/config?version=1#/port`), '5432');
    await assert.rejects(coffer.secrets.resolve(`coffer://${vault}/config#/none`), { code: 'INVALID_ARGUMENT' });
    const stranger = await addPerson(service);
    await assert.rejects(clientOf({ token: stranger.token }).secrets.resolve(`coffer://${vault}/config`), {
      code: 'INSUFFICIENT_PRIVILEGE',
      status: 403,
    });
  });

  test('vaults, environments, encryption, the audit log and any other endpoint', async () => {
    const name = uniqueName('vault');
    await coffer.vaults.create({ name, environment: 'staging' });
    await coffer.vaults.update(name, { description: 'of the test' });
    const { environment: stage, description } = await coffer.vaults.get(name);
    assert.deepEqual([stage, description], ['staging', 'of the test']);
    assert.ok((await all(coffer.vaults.list())).some((one) => one.name === name));

    const secret = await addSecret(service, name, 'url', { value: 'postgres://db' });
    const environment = await ok(service.call('POST', '/environments', { body: { name: uniqueName('env') } }), 201);
    const bound = { secret_id: secret.secret_id, key_name: 'DATABASE_URL' };
    await ok(service.call('POST', `/environments/${environment.id}/secrets`, { body: bound }), 201);
    const composed = await coffer.environments.compose(environment.name);
    assert.equal(composed.effective['DATABASE_URL']?.value, 'postgres://db');
    const without = await coffer.environments.compose(environment.id, { resolve: false });
    assert.equal(without.effective['DATABASE_URL']?.value, undefined);
    assert.ok((await all(coffer.environments.list())).some(({ id }) => id === environment.id));

    await coffer.call('POST /eaas/keys', { body: { name: 'orders' } });
    const envelope = await coffer.encrypt('orders', 'card 4111', { aad: 'order 7' });
    assert.equal(await coffer.decrypt('orders', envelope, { aad: 'order 7' }), 'card 4111');
    await assert.rejects(coffer.decrypt('orders', envelope), { code: 'DECRYPT_FAILED' });

    const [newest] = await all(coffer.audit.list({ vault: name, action: 'vault_created' }));
    assert.equal(newest?.resource, `vault/${name}`);
    assert.equal((await coffer.call('GET /auth/me', {})).credential.kind, 'pat');
    const deleted = await coffer.vaults.delete(name);
    assert.ok('deleted' in deleted);
  });

  test('a zero-knowledge value is sealed and opened here, and the service has an envelope only', async () => {
    const name = uniqueName('sealed');
    await coffer.vaults.create({ name, is_zero_knowledge: true });
    const secret = { key: crypto.getRandomValues(new Uint8Array(32)) };
    await coffer.seal(name, 'db/password', 'hunter2', secret);
    await coffer.seal(name, 'db/password', 'hunter3', secret);
    assert.match((await coffer.secrets.get(name, 'db/password')).value, /^zk:v1:/);
    assert.equal(await coffer.open(name, 'db/password', secret), 'hunter3');
    const other = { key: crypto.getRandomValues(new Uint8Array(32)) };
    await assert.rejects(coffer.open(name, 'db/password', other), { name: 'ZeroKnowledgeError' });
  });

  test('watching tells changes, and is no reading in the audit log', async () => {
    const name = await addVault(service);
    await addSecret(service, name, 'a/one');
    await addSecret(service, name, 'b/other');
    const stopping = new AbortController();
    const told: string[] = [];
    const watching = (async () => {
      for await (const { path, version } of coffer.secrets.watch(name, {
        prefix: 'a/',
        intervalMs: 20,
        signal: stopping.signal,
      })) {
        told.push(`${path} ${version}`);
        if (told.length === 1) await coffer.secrets.set(name, 'a/two', 'x');
        if (told.length === 2) await coffer.secrets.set(name, 'a/one', 'y');
        if (told.length === 3) await coffer.secrets.delete(name, 'a/two');
        if (told.length === 4) stopping.abort(new Error('seen enough'));
      }
    })();
    await assert.rejects(watching, /seen enough/);
    assert.deepEqual(told, ['a/one 1', 'a/two 1', 'a/one 2', 'a/two null']);
    assert.deepEqual(await auditOf(service, `vault=${name}&action=secrets:read`), []);
  });

  test('the tail of the audit log tells what happens from now on, in order', async () => {
    const name = await addVault(service);
    await addSecret(service, name, 'before');
    const stopping = new AbortController();
    const told: string[] = [];
    const filter = { vault: name, action: 'secrets:*' };
    const tailing = (async () => {
      for await (const { resource } of coffer.audit.tail(filter, { intervalMs: 50, signal: stopping.signal })) {
        told.push(resource);
        if (told.length === 2) stopping.abort(new Error('seen enough'));
      }
    })();
    const failed = assert.rejects(tailing, /seen enough/);
    // Until the tail has begun, nothing that is done shows in it.
    while (told.length === 0) await addSecret(service, name, uniqueName('after'));
    await addSecret(service, name, uniqueName('after'));
    await failed;
    assert.ok(told.every((resource) => resource.includes('/after')));
    assert.deepEqual(told, told.toSorted());
  });

  test('a connection by its client secret, with a DPoP key where one is enrolled', async () => {
    await coffer.secrets.set(vault, 'machine', 'for machines');
    const plain = await addConnection(service, vault);
    const auth = { clientId: plain.client_id, clientSecret: plain.client_secret };
    assert.equal((await clientOf(auth).secrets.get(vault, 'machine')).value, 'for machines');
    await assert.rejects(clientOf({ ...auth, clientSecret: 'Svc_wrong' }).secrets.get(vault, 'machine'), {
      code: 'INVALID_TOKEN',
    });

    const dpop = await generateDpopKey();
    const bound = await addConnection(service, vault, { require_dpop: true, dpop_jkt: await dpopThumbprint(dpop) });
    const boundAuth = { clientId: bound.client_id, clientSecret: bound.client_secret };
    assert.equal((await clientOf({ ...boundAuth, dpop }).secrets.get(vault, 'machine')).value, 'for machines');
    await assert.rejects(clientOf(boundAuth).secrets.get(vault, 'machine'), { code: 'DPOP_REQUIRED' });

    const file = join(folder, `${database}-dpop.pem`);
    const created = await createDpopKeyFile(file);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(await dpopThumbprint(await dpopKeyFromFile(file)), await dpopThumbprint(created));
    writeFileSync(file, 'no key');
    await assert.rejects(dpopKeyFromFile(file), { code: 'INVALID_ARGUMENT' });
  });

  test('a nonce that the service asks for is used from then on', async () => {
    const other = await startService(database, { env: { CV_DPOP_NONCE: 'required' } });
    const name = await addVault(other);
    await addSecret(other, name, 'a');
    const dpop = await generateDpopKey();
    const bound = await addConnection(other, name, { require_dpop: true, dpop_jkt: await dpopThumbprint(dpop) });
    const client = new Coffer({
      url: other.url,
      auth: { clientId: bound.client_id, clientSecret: bound.client_secret, dpop },
    });
    await client.secrets.get(name, 'a');
    await client.secrets.get(name, 'a');
    await other.close();
  });

  test('a connection by its certificate, which is renewed in its files without a gap', async () => {
    await coffer.secrets.set(vault, 'machine', 'for machines');
    const machine = await addConnection(service, vault, { mtls_required: true });
    const files = { certFile: join(folder, `${database}.crt`), keyFile: join(folder, `${database}.key`) };
    writeFileSync(files.certFile, machine.certificate);
    writeFileSync(files.keyFile, machine.private_key);
    const ca = readFileSync(join(service.dataDir, 'ca.pem'), 'utf8');
    const client = new Coffer({
      url: service.tlsUrl,
      auth: { certificate: { clientId: machine.client_id } },
      transport: nodeTransport({ ca, identity: identityFromFiles(files) }),
    });
    const read = async () => assert.equal((await client.secrets.get(vault, 'machine')).value, 'for machines');
    await read();
    assert.ok(certificateRenewalMs(files) > 0);
    const before = readFileSync(files.certFile, 'utf8');
    await renewCertificateFiles(client, machine.id, files);
    assert.notEqual(readFileSync(files.certFile, 'utf8'), before);
    assert.equal(statSync(files.keyFile).mode & 0o777, 0o600);
    await read();

    // Killed after the key was replaced and before the certificate was.
    const renewed = readFileSync(files.certFile, 'utf8');
    writeFileSync(files.certFile, before);
    const mismatched = identityFromFiles(files);
    assert.throws(mismatched, { code: 'INVALID_ARGUMENT' });
    writeFileSync(`${files.certFile}.new`, renewed);
    assert.equal(mismatched().cert, renewed.trim());
    await read();

    // The answer to a renewal is lost, and the request is sent again with the certificate that it replaces.
    const real = nodeTransport({ ca, identity: identityFromFiles(files) });
    let lost = 0;
    const losing = new Coffer({
      url: service.tlsUrl,
      auth: { certificate: { clientId: machine.client_id } },
      transport: async (request) => {
        const answer = await real(request);
        if (request.url.endsWith('/rotate') && lost++ === 0) throw new Error('cut');
        return answer;
      },
    });
    await renewCertificateFiles(losing, machine.id, files);
    assert.equal(lost, 2);
    assert.notEqual(readFileSync(files.certFile, 'utf8'), renewed);
    await read();

    const untrusting = new Coffer({
      url: service.tlsUrl,
      auth: { certificate: { clientId: machine.client_id } },
      transport: nodeTransport(),
      attempts: 1,
    });
    await assert.rejects(untrusting.secrets.get(vault, 'machine'), { code: 'NO_ANSWER' });
  });

  const claims = () => {
    const seconds = Math.floor(service.clock.now() / 1000);
    const { CV_AUDIENCE: aud } = OUTSIDE_ENV;
    return { iss: issuer.url, aud, sub: 'repo:shop', iat: seconds, exp: seconds + 600, jti: uniqueName('jti') };
  };
  const addMethod = async (app_connection_id: number): Promise<number> => {
    const config = {
      expected_issuer: issuer.url,
      expected_audience: OUTSIDE_ENV.CV_AUDIENCE,
      allowed_subjects: ['repo:shop'],
    };
    const body = { name: uniqueName('method'), type: 'oidc_generic', app_connection_id, config } as const;
    return ((await coffer.call('POST /workload-identity/methods', { body })) as { id: number }).id;
  };
  const federate = (connection: number) => {
    const body = {
      name: uniqueName('federation'),
      provider: 'custom',
      issuer: issuer.url,
      jwks_url: issuer.jwksUrl,
      audience: OUTSIDE_ENV.CV_AUDIENCE,
      subject_pattern: 'repo:shop',
    };
    return ok(service.call('POST', `/app-connections/${connection}/federations`, { body }), 201);
  };
  const credential = async () => ({ oidc_token: await signed(issuerKey, claims()) });
  const idToken = () => signed(issuerKey, claims());

  test('a workload logs in by its own identity, and a CI job by its id_token', async () => {
    await coffer.secrets.set(vault, 'machine', 'for machines');
    const machine = await addConnection(service, vault);
    const workload = clientOf({ workload: { methodId: await addMethod(machine.id), credential } });
    assert.equal((await workload.secrets.get(vault, 'machine')).value, 'for machines');

    await federate(machine.id);
    const job = clientOf({ federation: { connection: machine.id, idToken } });
    assert.equal((await job.secrets.get(vault, 'machine')).value, 'for machines');
    const denied = clientOf({
      federation: { connection: machine.id, idToken: () => signed(issuerKey, { ...claims(), sub: 'repo:other' }) },
    });
    await assert.rejects(denied.secrets.get(vault, 'machine'), { code: 'LOGIN_DENIED', status: 401 });
  });

  test('where the connection requires a certificate, a CI job shows the one of its exchange, and a workload its own', async () => {
    await coffer.secrets.set(vault, 'machine', 'for machines');
    const machine = await addConnection(service, vault, { mtls_required: true });
    await federate(machine.id);
    const ca = readFileSync(join(service.dataDir, 'ca.pem'), 'utf8');
    let exchanges = 0;
    const federation = {
      connection: machine.client_id,
      idToken: () => {
        exchanges++;
        return idToken();
      },
    };
    const job = new Coffer({ url: service.tlsUrl, auth: { federation }, transport: nodeTransport({ ca }) });
    const paths = async () => (await all(job.secrets.list(vault))).map(({ path }) => path);
    assert.equal((await job.secrets.get(vault, 'machine')).value, 'for machines');
    assert.ok((await paths()).includes('machine'));
    assert.equal(exchanges, 1);
    // At the end of the token and the certificate the service refuses both, and a new exchange brings new ones.
    service.clock.advance(3600_000);
    const both = await Promise.all([job.secrets.get(vault, 'machine'), paths()]);
    assert.equal(both[0].value, 'for machines');
    assert.equal(exchanges, 2);
    const without = clientOf({ federation });
    await assert.rejects(without.secrets.get(vault, 'machine'), { code: 'CERTIFICATE_REQUIRED', status: 403 });

    const auth = { workload: { methodId: await addMethod(machine.id), credential } };
    const issued = await ok(
      service.call('POST', `/v1/app-connections/${machine.id}/rotate`, { body: { certificate: true } }),
    );
    const identity = () => ({ cert: issued.certificate, key: issued.private_key });
    const workload = new Coffer({ url: service.tlsUrl, auth, transport: nodeTransport({ ca, identity }) });
    assert.equal((await workload.secrets.get(vault, 'machine')).value, 'for machines');
    const bare = new Coffer({ url: service.tlsUrl, auth, transport: nodeTransport({ ca }) });
    await assert.rejects(bare.secrets.get(vault, 'machine'), { code: 'CERTIFICATE_REQUIRED', status: 403 });
  });

  test('a cached value is not requested again, and a revoked right is not outlived', async () => {
    const path = uniqueName('cached');
    await coffer.secrets.set(vault, path, 'x');
    const machine = await addConnection(service, vault);
    const client = clientOf(
      { clientId: machine.client_id, clientSecret: machine.client_secret },
      { cache: { maxAgeMs: 3_600_000, staleIfErrorMs: 3_600_000 } },
    );
    await client.secrets.get(vault, path);
    await client.secrets.get(vault, path);
    assert.equal((await auditOf(service, `action=secrets:read&resource=vault/${vault}/${path}`)).length, 1);
    await assert.rejects(client.secrets.set(vault, path, 'y'), { status: 403 });
    await ok(service.call('DELETE', `/v1/app-connections/${machine.id}`));
    await assert.rejects(client.secrets.get(vault, path), { status: 401 });
  });
});
