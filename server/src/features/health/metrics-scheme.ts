import type { CredentialScheme, Resolved } from '../../kernel/auth/authentication.ts';
import { invalidToken } from '../../kernel/auth/authentication.ts';
import type { Call } from '../../kernel/auth/call.ts';
import { bearerOf, isMetricsToken } from '../../kernel/auth/metrics-token.ts';
import type { Principal } from '../../kernel/auth/principal.ts';
import { compilePolicy } from '../../kernel/authz/policy.ts';
import { POLICY_VERSION } from '../../kernel/authz/policy-document.ts';
import { equalBytes, sha256 } from '../../kernel/crypto/digest.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';

const READ_METRICS = compilePolicy('metrics-token', {
  version: POLICY_VERSION,
  statement: [{ effect: 'allow', action: ['metrics:read'], resource: ['metrics'] }],
});

/**
 * The token of CV_METRICS_TOKEN, which belongs to the installation instead of a person. No row decides about it, so it is good while the database is
 * away, which is when metrics are needed most.
 */
export class MetricsScheme implements CredentialScheme {
  readonly isConfigured = true;
  readonly #kernel: Pick<Kernel, 'config' | 'operatorTenantId'>;

  constructor(kernel: Pick<Kernel, 'config' | 'operatorTenantId'>) {
    this.#kernel = kernel;
  }

  detect({ headers: { authorization } }: Call): string | null {
    const credential = bearerOf(authorization);
    return credential !== null && isMetricsToken(credential) ? credential : null;
  }

  async resolve(credential: string): Promise<Resolved> {
    const { metricsToken } = this.#kernel.config;
    if (metricsToken === null) throw invalidToken('CV_METRICS_TOKEN is not set');
    if (!equalBytes(sha256(credential), sha256(metricsToken))) throw invalidToken('not the token of CV_METRICS_TOKEN');
    return { principal: principalIn(this.#kernel.operatorTenantId), epoch: 0 };
  }
}

function principalIn(operatorTenantId: string): Principal {
  return {
    kind: 'scraper',
    tenantId: operatorTenantId,
    tenantName: '',
    isOperator: true,
    plan: 'enterprise',
    tenantRates: {},
    id: 'CV_METRICS_TOKEN',
    name: 'CV_METRICS_TOKEN',
    displayName: 'CV_METRICS_TOKEN',
    role: null,
    credential: 'metrics',
    credentialId: 'CV_METRICS_TOKEN',
    tokenRates: {},
    ceilings: [],
    policies: [READ_METRICS],
    signedInAt: null,
    mfaAt: null,
    factorTrustedFrom: null,
    mustEnrol: false,
    expiresAt: Number.MAX_SAFE_INTEGER,
  };
}
