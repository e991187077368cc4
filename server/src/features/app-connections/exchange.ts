import { refusedProof } from '../../kernel/auth/dpop-guard.ts';
import { addressIsIn, compileCidrs } from '../../kernel/authz/condition.ts';
import type { Context } from '../../kernel/context.ts';
import { CofferError } from '../../kernel/errors.ts';
import { OutsideRefusal } from '../../kernel/outside-identity/refusal.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { findTenant, isHeldActive } from '../../kernel/storage/tenant-rows.ts';
import { allowlistOf } from './principal.ts';
import { type ConnectionRow, lockConnection, numberOf } from './store.ts';

/**
 * Shared by every exchange of an outside identity for a token of ours. A caller who has proven nothing yet learns nothing: apart from an unknown
 * signing key, every failure has the same response, and the audit log has the reason.
 */
export function loginDenied(auditReason: string, code: OutsideRefusal['code'] = 'LOGIN_DENIED'): CofferError {
  const message =
    code === 'JWKS_KEY_NOT_FOUND'
      ? 'The key that signed the token is not among those its issuer publishes.'
      : 'The login was refused. Who runs the tenant finds the reason in its audit log.';
  return new CofferError(code, message, { auditReason });
}

/** Turns a refusal of the outside identity into the error that the caller may see. */
export function asLoginDenied(error: unknown): unknown {
  return error instanceof OutsideRefusal ? loginDenied(error.message, error.code) : error;
}

/**
 * Records the attempt in the audit log of the connection's tenant. The actor stays anonymous, because nothing proves yet that the caller is the
 * connection.
 */
export function attributeTo(ctx: Context, row: ConnectionRow, key: string): void {
  ctx.resource = `app-connection/${numberOf(row)}`;
  ctx.identify(row.tenant_id, { kind: 'anonymous', id: '', name: row.name, key });
}

export async function refuseInactive(ctx: Context, row: ConnectionRow): Promise<void> {
  if (row.status !== 'active') throw loginDenied('the connection is disabled');
  const tenant = await findTenant(ctx.database.read, row.tenant_id);
  if (tenant?.status !== 'active') throw loginDenied('the tenant is suspended or gone');
}

/**
 * Call this once the identity is proven. It checks the source address and returns the key to bind the token to, or null if the caller proved none.
 */
export async function boundKey(ctx: Context, row: ConnectionRow): Promise<string | null> {
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
      'Send a DPoP proof (RFC 9449): tokens of this connection are bound to a key.',
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

/** Locks the connection while the token is stored, so that one that was deleted, disabled or changed meanwhile gets no token. */
export async function lockActive(tx: Tx, row: ConnectionRow): Promise<void> {
  const current = await lockConnection(tx, row.tenant_id, row.connection_no);
  if (current?.client_id !== row.client_id) throw loginDenied('the connection was deleted meanwhile');
  if (DECISIVE.some((field) => current[field] !== row[field])) throw loginDenied('the connection changed meanwhile');
}

/** The last check before the token is stored, when everything else is locked. */
export async function refuseSuspended(tx: Tx, { tenant_id }: ConnectionRow): Promise<void> {
  if (!(await isHeldActive(tx, tenant_id))) throw loginDenied('the tenant was suspended meanwhile');
}

/** The fields that decide an exchange. Other fields may change while one is in progress. */
const DECISIVE = [
  'status',
  'ip_allowlist',
  'mtls_required',
  'require_dpop',
  'dpop_jkt',
  'external_ca_pem',
  'denied_thumbprints',
] as const satisfies readonly (keyof ConnectionRow)[];
