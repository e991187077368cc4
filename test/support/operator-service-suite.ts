import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { OperatorMetrics } from '../../agent/src/cluster/metrics.ts';
import { Operator } from '../../agent/src/cluster/operator.ts';
import { newLog } from '../../agent/src/log.ts';
import { readSettings } from '../../agent/src/settings.ts';
import type { ClusterApi, OpenCluster } from './cluster-api.ts';
import { base64 } from './desired-states.ts';
import { logInWith, OUTSIDE_ENV } from './external-logins.ts';
import { addCluster, addClusterPolicy, sync, type TestCluster } from './fleet.ts';
import { newFolder } from './host-root.ts';
import { addConnection, type Machine } from './machines.ts';
import { addPerson, approved, ok, uniqueName } from './people.ts';
import { onBothDatabases, type Service, startService } from './service.ts';
import { addSecret, addVault, POLICY_VERSION, secretUrl } from './vaults.ts';

/** Who reviews the tokens of service accounts, and where they come from. */
export interface TokenReviews {
  /** The part of a method's config that says where tokens are reviewed. */
  config(): Promise<Record<string, string>>;
  /** A token of the operator, as the kubelet would project it. */
  operatorToken(audience: string): Promise<string>;
}

const AUDIENCE = OUTSIDE_ENV.CV_AUDIENCE;

/** The operator between the service and an API server, the same for every API server. */
export function testOperatorWithService(where: string, open: OpenCluster, reviews: TokenReviews): void {
  onBothDatabases(`the operator and the service, ${where}`, (database) => {
    let service: Service;
    let kube: ClusterApi;
    before(async () => {
      service = await startService(database, { env: OUTSIDE_ENV });
      kube = await open(['shop']);
    });
    after(() => service.close());

    const dataOf = async (name: string) => (await kube.find('secrets', 'shop', name))?.data;

    function operatorOf(cluster: TestCluster, env: Record<string, string>) {
      const settings = readSettings(['--once'], {
        CV_GUARDIAN_MODE: 'cluster',
        CV_URL: service.url,
        CV_CLUSTER_ID: cluster.id,
        CV_KUBERNETES_URL: kube.url,
        CV_KUBERNETES_TOKEN_FILE: kube.tokenFile,
        CV_KUBERNETES_CA_FILE: kube.caFile,
        CV_NAMESPACES: 'shop',
        CV_POD_NAME: 'pod-1',
        ...env,
      });
      assert.ok(settings !== 'help');
      const logs: string[] = [];
      const log = newLog((line) => logs.push(line));
      const signal = new AbortController().signal;
      const operator = new Operator({ settings, log, metrics: new OperatorMetrics(60), signal });
      return { round: () => operator.run(), logs };
    }

    function fileWith(text: string): string {
      const file = join(newFolder(), 'token');
      writeFileSync(file, text);
      return file;
    }

    /** A vault with a secret, a cluster that gets it, and a second policy that stays. */
    async function newDelivery() {
      const cluster = await addCluster(service);
      const vault = await addVault(service);
      await addSecret(service, vault, 'db/password');
      await ok(service.call('PUT', secretUrl(vault, 'db/password'), { body: { value: 'first' } }));
      const mappings = [{ key: 'password', path: 'db/password' }];
      const [name, other] = [uniqueName('database'), uniqueName('other')];
      const policy = await ok(addClusterPolicy(service, cluster, { secret_name: name, vault, mappings }), 201);
      await ok(addClusterPolicy(service, cluster, { secret_name: other, vault, mappings }), 201);
      return { cluster, vault, name, other, policy };
    }

    test('a secret reaches the cluster, a new value follows, and the policy’s end removes it', async () => {
      const { cluster, vault, name, other, policy } = await newDelivery();
      const { round, logs } = operatorOf(cluster, { CV_CLUSTER_TOKEN_FILE: fileWith(cluster.cluster_token) });
      assert.equal(await round(), true, logs.join(''));
      assert.deepEqual(await dataOf(name), { password: base64('first') });

      await ok(service.call('PUT', secretUrl(vault, 'db/password'), { body: { value: 'second' } }));
      assert.equal(await round(), true, logs.join(''));
      assert.deepEqual(await dataOf(name), { password: base64('second') });

      await ok(service.call('DELETE', `/clusters/${cluster.id}/policies/${policy.id}`));
      assert.equal(await round(), true, logs.join(''));
      assert.equal(await dataOf(name), undefined);
      const { entries } = await ok(service.call('GET', `/clusters/${cluster.id}/audit`));
      const pruned = entries.flatMap(({ results }: { results: { state: string }[] }) => results);
      assert.ok(pruned.some(({ state }: { state: string }) => state === 'pruned'));

      await ok(service.call('POST', `/clusters/${cluster.id}/rotate-token`, { body: {} }));
      assert.equal(await round(), false);
      assert.match(logs.at(-1) ?? '', /401 INVALID_TOKEN/);
      assert.ok(await dataOf(other), 'a revoked token prunes nothing');
      assert.doesNotMatch(logs.join(''), /first|second|cv_cluster_/);
    });

    async function allow(connection: Machine, cluster: TestCluster): Promise<string> {
      const owner = await addPerson(service, { role: 'owner' });
      const name = uniqueName('operator');
      const action = ['clusters:sync', 'clusters:report'];
      const statement = [{ effect: 'allow', action, resource: [`cluster/${cluster.id}`] }];
      const document = { version: POLICY_VERSION, statement };
      await ok(service.call('POST', '/v1/policies', { body: { name, document } }), 201);
      const body = { principal: { app_connection: connection.client_id } };
      await approved(service, service.call('POST', `/v1/policies/${name}/attach`, { body }), owner.token);
      return name;
    }

    async function addMethod(connection: Machine): Promise<number> {
      const config = {
        ...(await reviews.config()),
        allowed_namespaces: ['coffer'],
        allowed_sa_names: ['coffer-operator'],
      };
      const body = { name: uniqueName('operator'), type: 'k8s_sa', app_connection_id: connection.id, config };
      return (await ok(service.call('POST', '/workload-identity/methods', { body }), 201)).id;
    }

    test('the operator logs in by its service account, and needs no token of the cluster', async () => {
      const { cluster, vault, name } = await newDelivery();
      const connection = await addConnection(service, vault, { scopes: ['secrets:read'] });
      const methodId = await addMethod(connection);
      const tokenFile = fileWith(await reviews.operatorToken(AUDIENCE));
      const env = { CV_WORKLOAD_METHOD_ID: String(methodId), CV_WORKLOAD_TOKEN_FILE: tokenFile };
      const { round, logs } = operatorOf(cluster, env);
      assert.equal(await round(), false, 'without a policy it may do nothing');
      assert.match(logs.at(-1) ?? '', /403 INSUFFICIENT_PRIVILEGE/);
      await allow(connection, cluster);
      assert.equal(await round(), true, logs.join(''));
      assert.deepEqual(await dataOf(name), { password: base64('first') });
      const { entries } = await ok(service.call('GET', '/v1/audit?action=secrets:read'));
      const entry = entries.find(({ details }: { details: { cluster?: string } }) => details.cluster === cluster.id);
      assert.equal(entry?.actor.id, connection.client_id, 'the log says who fetched it');

      const other = await addCluster(service);
      const elsewhere = operatorOf({ ...other }, env);
      assert.equal(await elsewhere.round(), false);
      assert.match(elsewhere.logs.at(-1) ?? '', /403 INSUFFICIENT_PRIVILEGE/);

      await ok(service.call('DELETE', `/workload-identity/methods/${methodId}`));
      assert.equal(await round(), false);
      assert.ok(await dataOf(name), 'a method that is gone prunes nothing');
      assert.doesNotMatch(logs.join(''), /first|eyJ/);
    });

    test('a workload gets nothing of a cluster that gets more than its connection may read', async () => {
      const { cluster, name } = await newDelivery();
      const connection = await addConnection(service, await addVault(service), { scopes: ['secrets:read'] });
      await allow(connection, cluster);
      const method_id = await addMethod(connection);
      const env = {
        CV_WORKLOAD_METHOD_ID: String(method_id),
        CV_WORKLOAD_TOKEN_FILE: fileWith(await reviews.operatorToken(AUDIENCE)),
      };
      const { round, logs } = operatorOf(cluster, env);
      assert.equal(await round(), false);
      assert.match(logs.at(-1) ?? '', /403 INSUFFICIENT_PRIVILEGE/);
      assert.equal(await dataOf(name), undefined);
      const login = await ok(logInWith(service, { method_id, k8s_token: await reviews.operatorToken(AUDIENCE) }));
      const etag = (await sync(service, cluster)).headers.get('etag') ?? '';
      assert.equal((await sync(service, cluster, etag)).status, 304);
      const conditional = { token: login.cv_jwt, headers: { 'if-none-match': etag } };
      const answer = await service.call('GET', `/clusters/${cluster.id}/desired-state`, conditional);
      assert.equal(answer.status, 403, 'not even that nothing changed');
    });

    test('a token of another audience, or one that nobody made, is no login', async () => {
      const connection = await addConnection(service, await addVault(service));
      const method_id = await addMethod(connection);
      const good = await reviews.operatorToken(AUDIENCE);
      const [header, claims, signature = ''] = good.split('.');
      const forged = `${header}.${claims}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
      assert.equal((await logInWith(service, { method_id, k8s_token: good })).status, 200);
      for (const k8s_token of [forged, await reviews.operatorToken('https://other.example')]) {
        const answer = await logInWith(service, { method_id, k8s_token });
        assert.equal(answer.status, 401);
        assert.equal(answer.body.error.code, 'LOGIN_DENIED');
      }
    });
  });
}
