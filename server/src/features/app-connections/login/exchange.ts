import { refusedProof } from '../../../kernel/auth/dpop-guard.ts';
import { addressIsIn, compileCidrs } from '../../../kernel/authz/condition.ts';
import { CofferError } from '../../../kernel/base/errors.ts';
import { ExternalIdentityRefusal } from '../../../kernel/external-identity/refusal.ts';
import { findTenant, lockAndCheckActive } from '../../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../../kernel/request/context.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import { allowlistOf } from '../principal.ts';
import { type ConnectionRow, lockConnection, numberOf } from '../storage/connection-store.ts';

/**
 * Used by every exchange of an external identity for one of our tokens. Until the caller has proven its identity, every failure except an unknown
 * signing key has the same response, and only the audit log has the reason.
 */
export function loginDenied(auditReason: string, code: ExternalIdentityRefusal['code'] = 'LOGIN_DENIED'): CofferError {
  const message =
    code === 'JWKS_KEY_NOT_FOUND'
      ? 'The issuer of the token does not publish the key that signed it.'
      : 'The login was refused. An administrator of the tenant can find the reason in its audit log.';
  return new CofferError(code, message, { auditReason });
}

/** Turns the refusal of an external identity into the error that the caller may see. */
export function asLoginDenied(error: unknown): unknown {
  return error instanceof ExternalIdentityRefusal ? loginDenied(error.message, error.code) : error;
}

/**
 * Records the attempt in the audit log of the connection's tenant. The actor stays anonymous, because nothing proves yet that the caller is the
 * connection.
 */
export function attributeTo(ctx: Context, row: ConnectionRow, key: string): void {
  ctx.record.setResource(`app-connection/${numberOf(row)}`);
  ctx.caller.identify(row.tenant_id, { kind: 'anonymous', id: '', name: row.name, key });
}

export async function refuseInactive(ctx: Context, row: ConnectionRow): Promise<void> {
  if (row.status !== 'active') throw loginDenied('the connection is disabled');
  const tenant = await findTenant(ctx.database.read, row.tenant_id);
  if (tenant?.status !== 'active') throw loginDenied('the tenant is suspended or deleted');
}

/**
 * Call this once the identity is proven. It checks the source address and the DPoP proof, and returns the thumbprint of the key to bind the token to,
 * or null if the request has no proof.
 */
export async function checkAddressAndDpop(ctx: Context, row: ConnectionRow): Promise<string | null> {
  const allowlist = allowlistOf(row);
  if (allowlist !== null && addressIsIn(compileCidrs(allowlist, '/ip_allowlist'), ctx.call.address) !== true) {
    throw new CofferError('IP_NOT_ALLOWED', 'This connection may not be used from this address.', {
      auditReason: 'ip_not_allowed',
    });
  }
  const key = await ctx.kernel.dpop.provenKey(ctx, row.tenant_id, null);
  if (key === null && row.require_dpop === 1) {
    throw new CofferError(
      'DPOP_REQUIRED',
      'Send a DPoP proof (RFC 9449): this connection requires its tokens to be bound to a key.',
      {
        auditReason: 'dpop: there is none',
      },
    );
  }
  if (key !== null && row.dpop_jkt !== null && key !== row.dpop_jkt) {
    throw refusedProof('its key is not the one of the connection');
  }
  return key;
}

/** Locks the connection until the token is stored, and refuses if it was deleted, disabled or changed since it was read. */
export async function lockUnchanged(tx: Tx, row: ConnectionRow): Promise<void> {
  const current = await lockConnection(tx, row.tenant_id, row.connection_no);
  if (current?.client_id !== row.client_id) throw loginDenied('the connection was deleted meanwhile');
  if (RECHECKED_FIELDS.some((field) => current[field] !== row[field]))
    throw loginDenied('the connection changed meanwhile');
}

/** The last check before the token is stored, when everything else is locked. */
export async function refuseSuspended(tx: Tx, { tenant_id }: ConnectionRow): Promise<void> {
  if (!(await lockAndCheckActive(tx, tenant_id))) throw loginDenied('the tenant was suspended meanwhile');
}

/** The fields that decide an exchange. Other fields may change while one is in progress. */
const RECHECKED_FIELDS = [
  'status',
  'ip_allowlist',
  'mtls_required',
  'require_dpop',
  'dpop_jkt',
  'external_ca_pem',
  'denied_thumbprints',
] as const satisfies readonly (keyof ConnectionRow)[];
