import type { Call } from '../../kernel/auth/call.ts';
import type { Actor, Principal } from '../../kernel/auth/principal.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import type { Basis, Difference, Proposal } from '../../kernel/endpoint/approval.ts';
import type { CredentialKind } from '../../kernel/endpoint/declaration.ts';
import { findTenant } from '../../kernel/integrity/tenant-rows.ts';
import type { MacKey, SealingKey } from '../../kernel/keys/keyring.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { actingConnection } from '../app-connections/index.ts';
import { findByClient } from '../app-connections/storage/index.ts';
import { type CurrentFactor, currentFactor } from '../mfa/factors/index.ts';
import { policiesOfUser } from '../policies/index.ts';
import { principalOf } from '../tokens/index.ts';
import { findToken } from '../tokens/storage/index.ts';
import { findUser } from '../users/storage/index.ts';
import type { ApprovalFacts, ApprovalRow } from './store.ts';

export const PURPOSE = 'approvals';
export const MAC_PURPOSE = 'approval-digests';

/** A request as it was made, with everything needed to execute it later. It is stored sealed, since a body may contain a password. */
export interface StoredRequest {
  operation: string;
  requester_id: string;
  credential: CredentialKind;
  /** Path and query. */
  url: string;
  params: Readonly<Record<string, string>>;
  body?: unknown;
  /** The only header that can change what a request does, where the endpoint declares it. */
  if_match?: string | undefined;
  /** Policy conditions that depend on the request rather than the person: the source address, and whether a second factor was fresh. */
  address: string;
  is_mfa_fresh: boolean;
  /** The time from which the factor that was shown opens fortress secrets. Absent in older requests, where it was an authenticator app. */
  factor_trusted_from?: number | null;
  basis: Basis;
  /** Absent in requests of release 0.4 and before. */
  differences?: readonly Difference[];
}

export function storedRequestOf(ctx: Context, { basis = {}, differences = [] }: Proposal): StoredRequest {
  const { call, principal, declaration } = ctx;
  return {
    operation: declaration.name,
    requester_id: principal.id,
    credential: principal.credential,
    url: call.url,
    params: call.params,
    body: call.body,
    ...(declaration.ifMatch === true && { if_match: ctx.ifMatch }),
    address: call.address,
    is_mfa_fresh: ctx.access.isMfaFresh,
    factor_trusted_from: principal.factorTrustedFrom,
    basis,
    differences,
  };
}

/**
 * Two requests with the same MAC are the same request. It leaves out the spelling of the path, the source address and headers that the endpoint does
 * not use.
 */
export function macOf(key: MacKey, { operation, params, url, body, if_match, basis }: StoredRequest): Buffer {
  const query = url.split('?', 2)[1] ?? '';
  const requested = [operation, params, query, body ?? null, if_match ?? null, basis];
  return key.mac(Buffer.from(JSON.stringify(requested), 'utf8'));
}

export function sealRequest(key: SealingKey, approvalId: string, stored: StoredRequest): Buffer {
  return key.seal(place(approvalId), Buffer.from(JSON.stringify(stored), 'utf8'));
}

export async function openRequest(kernel: Pick<Kernel, 'keyring'>, row: ApprovalRow): Promise<StoredRequest> {
  if (row.sealed_input === null) throw new Error('an approval that is decided has no input');
  const at = { tenantId: row.tenant_id, ...place(row.approval_id) };
  const text = (await kernel.keyring.unseal(PURPOSE, at, row.sealed_input)).toString('utf8');
  const stored = JSON.parse(text) as StoredRequest;
  // Anyone who can write to the database can edit the row's own columns, but not the sealed input.
  if (stored.operation !== row.operation || stored.requester_id !== row.requester_id) {
    throw new Error('an approval does not say what was sealed with it');
  }
  return stored;
}

/** The original call, with the id of the request that now executes it. */
export function callOf(stored: StoredRequest, method: string, requestId: string): Call {
  return {
    requestId,
    method,
    url: stored.url,
    headers: stored.if_match === undefined ? {} : { 'if-match': stored.if_match },
    params: stored.params,
    body: stored.body,
    address: stored.address,
    certificate: null,
  };
}

/** Every other requester is an AppConnection, identified by its client id. */
export function isPerson({ requester_id }: Pick<ApprovalFacts, 'requester_id'>): boolean {
  return requester_id.startsWith('user_');
}

/** The requester as the audit log names them. */
export function requesterOf(row: ApprovalFacts): Actor {
  const { requester_id: id, requester_name: name, requester_credential_id: key } = row;
  return { kind: isPerson(row) ? 'user' : 'app_connection', id, name, key };
}

/**
 * The requester with their current rights. The ceilings of their token were checked when the request was made; the token is no longer needed and may
 * no longer exist.
 */
export async function requesterNow(
  kernel: Pick<Kernel, 'clock'>,
  row: ApprovalRow,
  stored: StoredRequest,
  db: Reader,
): Promise<Principal> {
  if (!isPerson(row)) return connectionNow(row, stored, db);
  const tenant = await findTenant(db, row.tenant_id);
  const user = await findUser(db, row.tenant_id, stored.requester_id);
  if (tenant === undefined || user?.status !== 'active') throw requesterGone();
  const shown = stored.is_mfa_fresh ? await factorShown(db, row) : null;
  return principalOf(tenant, user, await policiesOfUser(db, user), {
    credential: stored.credential,
    credentialId: row.requester_credential_id,
    tokenRates: {},
    ceilings: [],
    signedInAt: null,
    mfaAt: shown === null ? null : kernel.clock.now(),
    factorTrustedFrom: shown === null ? null : asRequested(stored, shown),
    mustEnrol: false,
    expiresAt: row.expires_at,
  });
}

/** The factor that was shown before it was requested. If the person has removed it since, the requester may have been somebody else. */
async function factorShown(db: Reader, { tenant_id, requester_credential_id }: ApprovalRow): Promise<CurrentFactor> {
  const token = await findToken(db, tenant_id, requester_credential_id);
  const factor =
    token === undefined || token.mfa_at === null
      ? null
      : await currentFactor(db, { tenantId: tenant_id, userId: token.user_id }, token, token.mfa_at);
  if (factor !== null) return factor;
  throw new CofferError(
    'VERSION_CONFLICT',
    'The second factor that was shown for this request was removed since: send the request again.',
    { auditReason: 'the second factor of the requester was removed' },
  );
}

/** As it was when the request was made. */
function asRequested({ factor_trusted_from: then }: StoredRequest, { trustedFrom }: CurrentFactor): number | null {
  return then === undefined ? trustedFrom : then;
}

/** The connection's addresses and vaults are checked again, because they belong to the connection and not to the credential it used. */
async function connectionNow(row: ApprovalRow, stored: StoredRequest, db: Reader): Promise<Principal> {
  const connection = await findByClient(db, row.tenant_id, stored.requester_id);
  if (connection === undefined) throw requesterGone();
  const { principal } = await actingConnection(db, connection, {
    credential: stored.credential,
    credentialId: row.requester_credential_id,
    expiresAt: row.expires_at,
  });
  if (principal === null) throw requesterGone();
  return principal;
}

function requesterGone(): CofferError {
  return new CofferError('INSUFFICIENT_PRIVILEGE', 'The requester of this approval is no longer active.', {
    auditReason: 'the requester is gone or disabled',
  });
}

function place(approvalId: string) {
  return { table: 'approvals', row: approvalId };
}
