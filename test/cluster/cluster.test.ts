import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { KubernetesApi } from '../support/kubernetes-api.ts';
import { testKubernetes } from '../support/kubernetes-conformance.ts';
import { testLeaderElection } from '../support/leader-suite.ts';
import { testOperatorWithService } from '../support/operator-service-suite.ts';
import { testOperator } from '../support/operator-suite.ts';
import { lintChart, manifestsOf, renderedChart } from './chart.ts';
import { Unavailable } from './go-programs.ts';
import { KubeApiServer } from './kube-apiserver.ts';
import { OPERATOR, RealCluster } from './real-cluster.ts';

/** The operator in a real cluster: a kube-apiserver and its etcd, without nodes. */

const RBAC_FILE = join(import.meta.dirname, '../../deploy/operator/rbac.yaml');

const server = await KubeApiServer.start().catch((error: unknown) => {
  if (!(error instanceof Unavailable)) throw error;
  return error.message;
});

if (typeof server === 'string') test('a real kube-apiserver', (t) => t.skip(server));
else {
  after(() => server.close());
  const cluster = new RealCluster(server);
  const where = 'in a real cluster';
  testKubernetes(where, (...how) => cluster.open(...how));
  testLeaderElection(where, (...how) => cluster.open(...how));
  testOperator(where, (...how) => cluster.open(...how));
  testOperatorWithService(where, (...how) => cluster.open(...how), {
    config: () => reviewsOf(server),
    operatorToken: (audience) => server.serviceAccountToken('coffer', 'coffer-operator', audience),
  });
  describe('the manifests', () => testManifests(server, cluster));
}

/** As the guide says: an account that may review tokens, and nothing else. */
async function reviewsOf(api: KubeApiServer): Promise<Record<string, string>> {
  const account = { name: 'reviewer', namespace: 'coffer' };
  const kind = 'ServiceAccount';
  await api.must('POST', '/api/v1/namespaces/coffer/serviceaccounts', { apiVersion: 'v1', kind, metadata: account });
  await api.must('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'coffer-reviewer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:auth-delegator' },
    subjects: [{ kind, ...account }],
  });
  const review = { group: 'authentication.k8s.io', resource: 'tokenreviews', verb: 'create' };
  await api.untilAllowed('system:serviceaccount:coffer:reviewer', review);
  return {
    issuer: api.issuer,
    api_server_url: api.url,
    ca_cert_pem: readFileSync(api.caFile, 'utf8'),
    token_reviewer_jwt: await api.serviceAccountToken('coffer', 'reviewer'),
  };
}

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

function testManifests(api: KubeApiServer, cluster: RealCluster): void {
  test('the API server knows every field that the chart writes, with each of its values', async () => {
    await cluster.open(['shop', 'web']);
    assert.match(await lintChart(), /0 chart\(s\) failed/);
    for (const values of [
      { namespaces: ['shop'] },
      { namespaces: ['shop', 'web'], restartDeployments: true, caConfigMap: 'authority', replicas: 1 },
      { namespaces: ['shop'], workloadMethodId: 7 },
    ]) {
      const manifests = await renderedChart(values);
      assert.ok(manifests.some(({ kind }) => kind === 'Deployment'));
      for (const manifest of manifests) await cluster.apply(manifest, '&dryRun=All');
    }
  });

  test('a chart without its values is refused', async () => {
    for (const missing of ['url', 'clusterId', 'image']) {
      await assert.rejects(renderedChart({ namespaces: ['shop'], [missing]: '' }), new RegExp(missing));
    }
  });

  test('the plain manifests grant what the chart grants', async () => {
    await cluster.open(['shop']);
    const rulesOf = async (manifests: ReturnType<typeof manifestsOf>) => {
      const rules: Record<string, Rule[]> = {};
      for (const manifest of manifests.filter(({ kind }) => kind === 'Role')) {
        const { body } = await cluster.apply(manifest, '&dryRun=All');
        rules[`${manifest.namespace}/${manifest.name}`] = body['rules'] as Rule[];
      }
      return rules;
    };
    const plain = await rulesOf(manifestsOf(readFileSync(RBAC_FILE, 'utf8')));
    assert.deepEqual(plain, await rulesOf(await renderedChart({ namespaces: ['shop'] })));
    assert.equal(Object.keys(plain).length, 2);
  });

  test('the operator has no other right than these, in no other namespace', async () => {
    await cluster.open(['shop'], 'restarts');
    await cluster.addNamespace('private', 'none');
    const may = async (namespace: string, group: string, resource: string, verb: string, name = '') => {
      const spec = { user: OPERATOR, resourceAttributes: { namespace, group, resource, verb, name } };
      const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
      const { body } = await api.must('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
      return (body['status'] as { allowed: boolean }).allowed;
    };
    const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
    const allowed: string[] = [];
    for (const namespace of ['shop', 'coffer', 'private', 'kube-system', '']) {
      for (const [group, resource, name] of [
        ['', 'secrets', ''],
        ['apps', 'deployments', ''],
        ['coordination.k8s.io', 'leases', 'coffer-operator'],
        ['coordination.k8s.io', 'leases', 'other'],
        ['', 'pods', ''],
        ['', 'configmaps', ''],
        ['rbac.authorization.k8s.io', 'roles', ''],
      ] as const) {
        for (const verb of verbs) {
          if (await may(namespace, group, resource, verb, name))
            allowed.push(`${verb} ${resource} ${namespace} ${name}`);
        }
      }
    }
    const strict = [...new KubernetesApi(['shop'], 'restarts').rights].map((right) =>
      right.includes(' leases ') ? `${right} coffer-operator` : `${right} `,
    );
    // A rule for create cannot name an object, since the name is not known when the request is decided.
    assert.deepEqual(allowed.sort(), [...strict, 'create leases coffer other'].sort());
  });

  test('every right of the operator was used by the tests above', () => {
    const used = new Set(
      api.callsOf(OPERATOR).map((call) => {
        const [, method = '', plural = '', name] = /^(\w+) .*\/namespaces\/[^/]+\/(\w+)(\/[^/]+)?$/.exec(call) ?? [];
        return `${method} ${plural}${name === undefined ? '' : '/…'}`;
      }),
    );
    assert.deepEqual([...used].sort(), [
      'DELETE secrets/…',
      'GET deployments',
      'GET leases/…',
      'GET secrets',
      'GET secrets/…',
      'PATCH deployments/…',
      'PATCH secrets/…',
      'POST leases',
      'PUT leases/…',
    ]);
  });
}
