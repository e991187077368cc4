import type { Basis, Difference, Proposal } from '../../kernel/approval.ts';
import type { Call } from '../../kernel/call.ts';
import type { Context } from '../../kernel/context.ts';
import type { MacKey, SealingKey } from '../../kernel/crypto/keyring.ts';
import type { CredentialKind } from '../../kernel/endpoint.ts';
import { CofferError } from '../../kernel/errors.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Actor, Principal } from '../../kernel/principal.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { findTenant } from '../../kernel/storage/tenant-rows.ts';
import { actingConnection, findByClient } from '../app-connections/index.ts';
import { factorTrustedFrom } from '../mfa/index.ts';
import { policiesOfUser } from '../policies/index.ts';
import { principalOf } from '../tokens/index.ts';
import { findUser } from '../users/index.ts';
import type { ApprovalFacts, ApprovalRow } from './store.ts';

export const PURPOSE = 'approvals';
export const MAC_PURPOSE = 'approval-digests';

/** A request as it was made, with everything needed to execute it later. It is stored sealed, since a body may contain a password. */
export interface Order {
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
  basis: Basis;
  /** Absent in requests of release 0.4 and before. */
  differences?: readonly Difference[];
}

export function orderOf(ctx: Context, { basis = {}, differences = [] }: Proposal): Order {
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
    is_mfa_fresh: ctx.isMfaFresh,
    basis,
    differences,
  };
}

/**
 * Two requests with the same MAC are the same request. It leaves out the spelling of the path, the source address and headers that the endpoint does
 * not use.
 */
export function macOf(key: MacKey, { operation, params, url, body, if_match, basis }: Order): Buffer {
  const query = url.split('?', 2)[1] ?? '';
  const asked = [operation, params, query, body ?? null, if_match ?? null, basis];
  return key.mac(Buffer.from(JSON.stringify(asked), 'utf8'));
}

export function sealOrder(key: SealingKey, approvalId: string, order: Order): Buffer {
  return key.seal(place(approvalId), Buffer.from(JSON.stringify(order), 'utf8'));
}

export async function openOrder(kernel: Kernel, row: ApprovalRow): Promise<Order> {
  if (row.sealed_input === null) throw new Error('an approval that is decided has no input');
  const at = { tenantId: row.tenant_id, ...place(row.approval_id) };
  const text = (await kernel.keyring.unseal(PURPOSE, at, row.sealed_input)).toString('utf8');
  const order = JSON.parse(text) as Order;
  // Anyone who can write to the database can edit the row's own columns, but not the sealed input.
  if (order.operation !== row.operation || order.requester_id !== row.requester_id) {
    throw new Error('an approval does not say what was sealed with it');
  }
  return order;
}

/** The original call, with the id of the request that now executes it. */
export function callOf(order: Order, method: string, requestId: string): Call {
  return {
    requestId,
    method,
    url: order.url,
    headers: order.if_match === undefined ? {} : { 'if-match': order.if_match },
    params: order.params,
    body: order.body,
    address: order.address,
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
export async function requesterNow(kernel: Kernel, row: ApprovalRow, order: Order, db: Reader): Promise<Principal> {
  if (!isPerson(row)) return connectionNow(row, order, db);
  const tenant = await findTenant(db, row.tenant_id);
  const user = await findUser(db, row.tenant_id, order.requester_id);
  if (tenant === undefined || user?.status !== 'active') throw requesterGone();
  return principalOf(tenant, user, await policiesOfUser(db, user), {
    credential: order.credential,
    credentialId: row.requester_credential_id,
    tokenRates: {},
    ceilings: [],
    mfaAt: order.is_mfa_fresh ? kernel.clock.now() : null,
    factorTrustedFrom: order.is_mfa_fresh ? await factorTrustedFrom(db, row.tenant_id, user.user_id) : null,
    mustEnrol: false,
    expiresAt: row.expires_at,
  });
}

/** The connection's addresses and vaults are checked again, because they belong to the connection and not to the credential it used. */
async function connectionNow(row: ApprovalRow, order: Order, db: Reader): Promise<Principal> {
  const connection = await findByClient(db, row.tenant_id, order.requester_id);
  if (connection === undefined) throw requesterGone();
  const { principal } = await actingConnection(db, connection, {
    credential: order.credential,
    credentialId: row.requester_credential_id,
    expiresAt: row.expires_at,
  });
  if (principal === null) throw requesterGone();
  return principal;
}

function requesterGone(): CofferError {
  return new CofferError('INSUFFICIENT_PRIVILEGE', 'Who asked for this is no longer active.', {
    auditReason: 'the requester is gone or disabled',
  });
}

function place(approvalId: string) {
  return { table: 'approvals', row: approvalId };
}
