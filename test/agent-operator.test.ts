import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { StrictCluster } from './support/cluster-api.ts';
import { KubernetesApi } from './support/kubernetes-api.ts';
import { testOperatorWithService } from './support/operator-service-suite.ts';
import { TokenReviewServer } from './support/token-review.ts';

const reviewer = await TokenReviewServer.start();
after(() => reviewer.close());

// `npm run test:cluster` runs the same tests against a real kube-apiserver.
testOperatorWithService('against the strict API server', (...how) => StrictCluster.open(...how), {
  config: async () => ({
    issuer: reviewer.url,
    ca_cert_pem: reviewer.caPem,
    token_reviewer_jwt: await reviewer.token(reviewer.url, 'coffer', 'reviewer'),
  }),
  operatorToken: (audience) => reviewer.token(audience, 'coffer', 'coffer-operator'),
});

test('the manifests grant what the strict API server grants, and nothing else', () => {
  const granted = (file: string) => {
    const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8');
    const rules = text.matchAll(/resources: \[(\w+)\]\n(?: +resourceNames: \[([\w-]+)\]\n)? +verbs: \[([^\]]+)\]/g);
    const rights = [...rules].flatMap(([, plural, , verbs]) =>
      String(verbs)
        .split(', ')
        .map((verb) => `${verb} ${plural}`),
    );
    return new Set(rights);
  };
  const used = new Set(
    [...new KubernetesApi(['shop'], 'restarts').rights].map((right) => right.split(' ').slice(0, 2).join(' ')),
  );
  assert.deepEqual([...granted('deploy/operator/chart/templates/operator.yaml')].sort(), [...used].sort());
  const withoutRestarts = [...used].filter((right) => !right.endsWith(' deployments'));
  assert.deepEqual([...granted('deploy/operator/rbac.yaml')].sort(), withoutRestarts.sort());
});
