import { RefusedCredential, type View } from '../../kernel/auth/authentication.ts';
import { type CompiledPolicy, compilePolicy, POLICY_VERSION } from '../../kernel/authz/policy.ts';
import { CredentialText } from '../../kernel/crypto/credential-text.ts';
import { equalBytes, sha256 } from '../../kernel/crypto/digest.ts';
import { findTenant } from '../../kernel/integrity/tenant-rows.ts';
import type { RateOverrides } from '../../kernel/limits/rate-classes.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { findProvider } from '../sign-on/storage/index.ts';
import type { OpaqueTokenResolver, ResolvedToken } from '../tokens/index.ts';
import { findByToken, type TokenRow } from './token-store.ts';

const PREFIX = 'cv_scim_';
export const SCIM_TOKEN = new CredentialText(PREFIX);

/** Authenticates by a SCIM token as bearer token. */
export class ScimTokens implements OpaqueTokenResolver {
  readonly prefix = PREFIX;
  readonly #kernel: Pick<Kernel, 'clock'>;

  constructor(kernel: Pick<Kernel, 'clock'>) {
    this.#kernel = kernel;
  }

  async resolve(text: string, { db, epochOf }: View): Promise<ResolvedToken> {
    if (!SCIM_TOKEN.matches(text)) throw refused('the SCIM token has a form that no token has');
    const hash = sha256(text);
    const found = await findByToken(db, hash);
    // The epoch must be read before the row that is used, so the row is read again.
    const epoch = found === undefined ? null : await epochOf(found.tenant_id);
    const row = found && (await findByToken(db, hash));
    if (row === undefined || epoch === null) throw refused('no such SCIM token');
    const isFormer = !equalBytes(row.token_hash, hash);
    const expiresAt = Math.min(row.expires_at, isFormer ? (row.former_token_until ?? 0) : row.expires_at);
    if (expiresAt <= this.#kernel.clock.now()) {
      throw refused(isFormer ? 'the SCIM token was replaced' : 'the SCIM token has expired', row);
    }
    const tenant = await findTenant(db, row.tenant_id);
    if (tenant?.status !== 'active') throw refused('the tenant is suspended or deleted', row);
    const provider = await findProvider(db, { tenant_id: row.tenant_id, name: row.provider });
    if (provider === undefined || !sha256(provider.issuer).equals(row.issuer_hash)) {
      throw refused('the provider was deleted, or has another issuer since', row);
    }
    return {
      epoch,
      dpopKey: null,
      principal: {
        kind: 'scim',
        tenantId: row.tenant_id,
        tenantName: tenant.name,
        isOperator: tenant.is_operator === 1,
        plan: tenant.plan,
        tenantRates: JSON.parse(tenant.rate_overrides) as RateOverrides,
        id: row.token_id,
        name: row.provider,
        displayName: row.provider,
        role: null,
        credential: 'scim',
        credentialId: row.token_id,
        tokenRates: {},
        ceilings: [],
        policies: [OWN_POLICY],
        mfaAt: null,
        signedInAt: null,
        factorTrustedFrom: null,
        mustEnrol: false,
        expiresAt,
      },
    };
  }
}

/** All that a SCIM token may do. */
const OWN_POLICY: CompiledPolicy = compilePolicy('role/scim', {
  version: POLICY_VERSION,
  statement: [{ sid: 'provisioning', effect: 'allow', action: ['scim:read', 'scim:write'], resource: ['scim'] }],
});

/** The message is the same whatever is wrong; the audit log has the reason. */
function refused(reason: string, row?: TokenRow): RefusedCredential {
  const owner = row && {
    tenantId: row.tenant_id,
    kind: 'scim',
    id: row.token_id,
    name: row.provider,
    key: row.token_id,
  };
  const message =
    'The SCIM token is wrong, expired, replaced or revoked: an admin creates a new one with POST /auth/sso/providers/{name}/scim-tokens.';
  return new RefusedCredential(reason, owner ?? null, message);
}
