import { describe } from 'node:test';
import { StrictCluster } from '../../../test/support/cluster-api.ts';
import { testOperator } from '../../../test/support/operator-suite.ts';

// `npm run test:cluster` runs the same tests against a real kube-apiserver.
describe('without a cluster', () => {
  testOperator('against the strict API server', (namespaces, role) => StrictCluster.open(namespaces, role));
});
