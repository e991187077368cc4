import { describe } from 'node:test';
import { StrictCluster } from '../../../test/support/cluster-api.ts';
import { testKubernetes } from '../../../test/support/kubernetes-conformance.ts';

// `npm run test:cluster` runs the same tests against a real kube-apiserver.
describe('without a cluster', () => {
  testKubernetes('of the strict API server', (namespaces) => StrictCluster.open(namespaces));
});
