import {
  type CredentialScheme,
  RefusedCredential,
  type Resolved,
  type View,
} from '../../kernel/auth/authentication.ts';
import type { Call } from '../../kernel/auth/call.ts';
import { type CompiledPolicy, compilePolicy, POLICY_VERSION } from '../../kernel/authz/policy.ts';
import { equalBytes, sha256 } from '../../kernel/crypto/digest.ts';
import { findTenant } from '../../kernel/integrity/tenant-rows.ts';
import type { RateOverrides } from '../../kernel/limits/rate-classes.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { type ClusterRow, findByToken } from './store.ts';
import { CLUSTER_TOKEN } from './token.ts';

/** A cluster's token does not expire; the one that it replaced does. */
const NEVER = Number.MAX_SAFE_INTEGER;
const OWN_ACTIONS = ['clusters:sync', 'clusters:report', 'endpoint_accounts:report'];

/** Authenticates by `X-Cluster-Token`. */
export class ClusterScheme implements CredentialScheme {
  readonly #kernel: Pick<Kernel, 'clock'>;

  constructor(kernel: Pick<Kernel, 'clock'>) {
    this.#kernel = kernel;
  }

  detect({ headers }: Call): string | null {
    const token = headers['x-cluster-token'];
    if (token === undefined) return null;
    if (!CLUSTER_TOKEN.matches(String(token)))
      throw invalidClusterToken('X-Cluster-Token has a form that no token has');
    return `cluster ${token}`;
  }

  async resolve(credential: string, _call: Call, { db, epochOf }: View): Promise<Resolved> {
    const hash = sha256(credential.slice('cluster '.length));
    const found = await findByToken(db, hash);
    // The epoch must be read before the row that is used, so the row is read again.
    const epoch = found === undefined ? null : await epochOf(found.tenant_id);
    const row = found && (await findByToken(db, hash));
    if (row === undefined || epoch === null) throw invalidClusterToken('no cluster has this token');
    const expiresAt = equalBytes(row.token_hash, hash) ? NEVER : (row.former_token_until ?? 0);
    if (expiresAt <= this.#kernel.clock.now()) throw invalidClusterToken('the token was replaced', row);
    const tenant = await findTenant(db, row.tenant_id);
    if (tenant?.status !== 'active') throw invalidClusterToken('the tenant is suspended or deleted', row);
    return {
      epoch,
      principal: {
        kind: 'cluster',
        tenantId: row.tenant_id,
        tenantName: tenant.name,
        isOperator: tenant.is_operator === 1,
        plan: tenant.plan,
        tenantRates: JSON.parse(tenant.rate_overrides) as RateOverrides,
        id: row.cluster_id,
        name: row.name,
        displayName: row.name,
        role: null,
        credential: 'cluster',
        credentialId: row.cluster_id,
        tokenRates: {},
        ceilings: [],
        policies: [ownPolicy(row)],
        signedInAt: null,
        mfaAt: null,
        factorTrustedFrom: null,
        mustEnrol: false,
        expiresAt,
      },
    };
  }
}

/** All that a cluster may do, and only for itself. Another cluster is refused before it is looked for. */
function ownPolicy({ cluster_id }: ClusterRow): CompiledPolicy {
  const resource = [`cluster/${cluster_id}`];
  return compilePolicy('role/cluster', {
    version: POLICY_VERSION,
    statement: [{ sid: 'own-cluster', effect: 'allow', action: OWN_ACTIONS, resource }],
  });
}

/** The message is the same whatever is wrong; the audit log has the reason. */
function invalidClusterToken(reason: string, row?: ClusterRow): RefusedCredential {
  const owner = row && {
    tenantId: row.tenant_id,
    kind: 'cluster',
    id: row.cluster_id,
    name: row.name,
    key: row.cluster_id,
  };
  const message =
    'X-Cluster-Token matches no cluster: it is wrong, was replaced, or the cluster was deleted. Create a new token with POST /clusters/{cluster_id}/rotate-token.';
  return new RefusedCredential(reason, owner ?? null, message);
}
