import { describe } from 'node:test';
import { StrictCluster } from '../../../test/support/cluster-api.ts';
import { testLeaderElection } from '../../../test/support/leader-suite.ts';

// `npm run test:cluster` runs the same tests against a real kube-apiserver.
describe('without a cluster', () => {
  testLeaderElection('with the strict API server', (namespaces) => StrictCluster.open(namespaces));
});
