import { addCluster, addClusterPolicy, clusterHeaders, type TestCluster } from '../support/fleet.ts';
import { ok } from '../support/people.ts';
import { anyOf, type Caller, known, needsOther, type Rule, stranger } from './caller.ts';
import type { Header } from './credentials.ts';
import type { ChangeHooks } from './machine-callers.ts';

const OWN_ACTIONS = ['none', 'clusters:sync', 'clusters:report', 'endpoint_accounts:report'];

/** Operators of clusters with their tokens: in both tenants, and one whose token was replaced. */
export async function clusterCallers({ service, vault, foreignToken }: ChangeHooks): Promise<{
  all: Caller[];
  protected: string[];
}> {
  const replaced = await addCluster(service);
  const mappings = [{ key: 'password', path: 'db/main' }];
  await ok(addClusterPolicy(service, replaced, { vault, mappings }), 201);
  const rotated = await ok(service.call('POST', `/clusters/${replaced.id}/rotate-token`, { body: {} }));
  const own: TestCluster = { ...replaced, cluster_token: rotated.cluster_token };
  const foreign = await addCluster(service, {}, foreignToken);
  const home = { cluster_id: own.id };
  const isBreach: Rule = anyOf(
    needsOther(['cluster']),
    ({ isPublic, permission }) => !isPublic && !OWN_ACTIONS.includes(permission),
  );
  const headersOf = (cluster: TestCluster) => Object.entries(clusterHeaders(cluster)) as Header[];
  return {
    all: [
      known('the operator of a cluster', 'cluster', () => headersOf(own), { isBreach, home }),
      known('the operator of a cluster of another tenant', 'cluster', () => headersOf(foreign), {
        isBreach,
        side: 'theirs',
        home: { cluster_id: foreign.id },
        weight: 1,
      }),
      stranger('an operator whose token was replaced', () => headersOf(replaced), { home }),
      stranger('an operator with a forged token', () => [['x-cluster-token', `cv_cluster_${'x'.repeat(49)}`]], {
        home,
      }),
    ],
    protected: [own.id, own.name, foreign.id, foreign.name],
  };
}
