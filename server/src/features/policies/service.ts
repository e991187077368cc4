import { touchesVault } from '../../kernel/authz/allowed-ranges.ts';
import { refuseUndeclared } from '../../kernel/authz/declared-resources.ts';
import { canonicalEnvironment } from '../../kernel/authz/environment.ts';
import { MAX_PRINCIPAL_COST } from '../../kernel/authz/limits.ts';
import {
  type CompiledPolicy,
  compilePolicy,
  type PolicyDocument,
  PolicyError,
  type PolicyStatement,
} from '../../kernel/authz/policy.ts';
import { type Role, rolePolicies } from '../../kernel/authz/roles.ts';
import { membershipPolicy } from '../../kernel/authz/vault-roles.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { newId } from '../../kernel/base/ids.ts';
import { isReservedName } from '../../kernel/base/reserved-names.ts';
import type { Proposal } from '../../kernel/endpoint/approval.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { lockQuota, refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import { type Items, plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { type Reader, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT, NAME_PATTERN } from '../../kernel/wire/wire.ts';
import { findGroupByIdOrName, groupsOfUser, lockGroup, shownGroup } from '../groups/storage/index.ts';
import { accountState } from '../users/index.ts';
import { findUserByIdOrEmail, lockUser, type UserRow } from '../users/storage/index.ts';
import { membershipsOf } from '../vaults/index.ts';
import { compiledPolicy } from './compiled-policies.ts';
import type * as contract from './contract.ts';
import { readPolicy, VERSIONS_MAX } from './contract.ts';
import type { PolicyParts } from './links.ts';
import { costReason, refuseCostlyHolder, refuseCostlyHolders } from './policy-cost.ts';
import type { Policy, PolicyPrincipal } from './schemas.ts';
import * as store from './store.ts';

const NAME_FORM = new RegExp(NAME_PATTERN);
/** Nobody would read more attachments than this before approving. */
const ATTACHMENTS_SHOWN_MAX = 100;

export type PolicyPorts = Pick<
  PolicyParts,
  'clientIdOfConnection' | 'allPoliciesOfConnection' | 'limitsOfConnection' | 'secondFactorSince'
>;

export async function create(ctx: Context, body: Body<typeof contract.createPolicy>): Promise<Policy> {
  ctx.access.requireUnrestricted();
  if (isReservedName(body.name)) throw invalidField('/body/name', 'is reserved: choose another name');
  const { document } = checkedDocument(body.name, body.document);
  const row: store.PolicyRow = {
    tenant_id: ctx.tenantId,
    name: body.name,
    policy_id: newId('policy', ctx.now),
    description: body.description ?? '',
    document: JSON.stringify(document),
    version: 1,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  ctx.record.setResource(`policy/${body.name}`);
  return ctx.change(async (tx) => {
    await lockQuota(tx, ctx.tenantId, 'policies');
    const used = await store.policiesUsed(tx, ctx.tenantId);
    refuseBeyondQuota(ctx, 'policies', used.policies);
    refuseBeyondQuota(ctx, 'policy_bytes', used.bytes, Buffer.byteLength(row.document));
    try {
      await store.insertPolicy(tx, row);
    } catch (error) {
      throw error instanceof UniqueViolation
        ? new CofferError('ALREADY_EXISTS', 'A policy with this name already exists: choose another name.')
        : error;
    }
    return toWire(row);
  });
}

export async function list(ctx: Context, query: Query<typeof contract.listPolicies>) {
  const [after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), NAME_FORM) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const page = await visiblePage(
    ctx,
    await store.listPolicies(ctx.database.read, ctx.tenantId, after, limit),
    POLICIES,
  );
  return { policies: page.rows.map(toWire), next_cursor: page.next_cursor };
}

const POLICIES: Items<store.PolicyRow> = {
  permissions: [readPolicy.permission],
  resources: ({ name }) => [`policy/${name}`],
};

export async function read(ctx: Context, name: string) {
  const row = await store.findPolicy(ctx.database.read, ctx.tenantId, name);
  if (row === undefined) throw notFound('policy');
  const attachments = await store.attachmentsOf(ctx.database.read, ctx.tenantId, name);
  return {
    ...toWire(row),
    attachments: attachments.map((a) => ({
      principal: { kind: a.principal_kind, id: a.principal_id },
      attached_at: timestamp(a.attached_at),
    })),
  };
}

export async function update(ctx: Context, name: string, body: Body<typeof contract.updatePolicy>): Promise<Policy> {
  ctx.access.requireUnrestricted();
  const { document, compiled } = checkedDocument(name, body.document);
  return ctx.change(async (tx) => {
    await lockQuota(tx, ctx.tenantId, 'policies');
    const row = await store.lockPolicy(tx, ctx.tenantId, name);
    if (row === undefined) throw notFound('policy');
    if (body.expected_version !== undefined && body.expected_version !== row.version) {
      throw new CofferError('VERSION_CONFLICT', `The policy is at version ${row.version}: read it again and retry.`);
    }
    const changed: store.PolicyRow = {
      ...row,
      description: body.description ?? row.description,
      document: JSON.stringify(document),
      version: row.version + 1,
      updated_at: ctx.now,
    };
    const growth = Buffer.byteLength(changed.document) - Buffer.byteLength(row.document);
    // Only growth is limited, so that a document above the quota can still be shortened.
    if (growth > 0) refuseBeyondQuota(ctx, 'policy_bytes', (await store.policiesUsed(tx, ctx.tenantId)).bytes, growth);
    ctx.record.describe({ version: changed.version });
    await store.updatePolicy(tx, row, changed, VERSIONS_MAX);
    await raiseEpoch(tx, ctx.tenantId);
    const attachments = await store.attachmentsOf(tx, ctx.tenantId, name);
    if (compiled.cost > compiledPolicy(row).cost) await refuseCostlyHolders(tx, ctx.tenantId, attachments);
    // An attached policy is live permissions: otherwise one could attach a harmless policy and change it afterwards.
    const isInUse = attachments.length > 0;
    if (isInUse && changed.document !== row.document) {
      await ctx.access.requireProofToGrant((vault) => touchesVault(compiled, vault));
      const differences = [
        { what: 'document', before: JSON.parse(row.document), after: document },
        { what: 'attached to', before: await principalsWith(tx, ctx.tenantId, name), after: 'the same' },
      ];
      await ctx.needsApproval(tx, { basis: { policy: row.policy_id, version: row.version }, differences });
    }
    return toWire(changed);
  });
}

/** Deleting an attached policy would change the rights of unknown principals, so it must be detached first. */
export async function remove(ctx: Context, name: string): Promise<Deleted> {
  return ctx.change(async (tx) => {
    const row = await store.lockPolicy(tx, ctx.tenantId, name);
    if (row === undefined) throw notFound('policy');
    const { length } = await store.attachmentsOf(tx, ctx.tenantId, name);
    if (length > 0) throw new CofferError('IN_USE', `The policy is attached ${length} times: detach it first.`);
    await store.deletePolicy(tx, row);
    return DELETED;
  });
}

/** An attachment outlives the credential that made it: a restricted token that could attach policies would escape its restrictions. */
export async function attach(ctx: Context, ports: PolicyPorts, name: string, wanted: PolicyPrincipal) {
  ctx.access.requireUnrestricted();
  return ctx.change(async (tx) => {
    await lockQuota(tx, ctx.tenantId, 'attachments_per_principal');
    const principal = await principalOf(tx, ports, ctx.tenantId, wanted);
    ctx.record.describe({ principal });
    const row = await store.lockPolicy(tx, ctx.tenantId, name);
    if (row === undefined) throw notFound('policy');
    await ctx.access.requireProofToGrant((vault) => touchesVault(compiledPolicy(row), vault));
    const attached = await store.policyNamesOf(tx, ctx.tenantId, principal.kind, principal.id);
    refuseBeyondQuota(ctx, 'attachments_per_principal', attached.length);
    const proposal = await attachedTo(tx, ports, ctx.tenantId, { policy: row, principal });
    try {
      await store.insertAttachment(tx, { ...attachmentKey(ctx.tenantId, principal, name), attached_at: ctx.now });
    } catch (error) {
      throw error instanceof UniqueViolation
        ? new CofferError('ALREADY_EXISTS', 'The policy is already attached to this principal.')
        : error;
    }
    await refuseCostlyHolder(tx, ctx.tenantId, principal, '/body/principal');
    await raiseEpoch(tx, ctx.tenantId);
    await ctx.needsApproval(tx, proposal);
    return { policy: name, principal, attached_at: timestamp(ctx.now) };
  });
}

/**
 * What an approver relies on: the document, and who would get it. Until the attachment is approved, one person can change both: they could request a
 * harmless policy, an empty group, an account of somebody else or a connection from one address, and fill it in, take it over or lift its limits while
 * the request is pending. The accounts of a group's members are left out: anyone who can take one over alone can do so after the approval as well, and
 * in a large group somebody changes a password or a factor every day.
 */
async function attachedTo(
  tx: Tx,
  ports: PolicyPorts,
  tenantId: string,
  { policy, principal }: { policy: store.PolicyRow; principal: FoundPrincipal },
): Promise<Proposal> {
  const basis = { policy: policy.policy_id, version: policy.version, kind: principal.kind, principal: principal.id };
  const after = { ...principal, document: JSON.parse(policy.document) };
  const what = `attachment of ${policy.name}`;
  const differences = [{ what, before: null, after }];
  if (principal.kind === 'user') {
    const user = await lockUser(tx, tenantId, principal.id);
    if (user === undefined) throw notFound('user');
    return { basis: { ...basis, ...(await accountState(tx, user, ports)) }, differences };
  }
  if (principal.kind === 'app_connection') {
    const { limits, digest } = await ports.limitsOfConnection(tx, tenantId, principal.id);
    return { basis: { ...basis, limits: digest }, differences: [{ what, before: null, after: { ...after, limits } }] };
  }
  // Joining a group takes the same lock, so one of the two transactions sees the other.
  if ((await lockGroup(tx, tenantId, principal.id)) === undefined) throw notFound('group');
  const { members, last_added_at, shown: group } = await shownGroup(tx, tenantId, principal.id);
  const shown = { ...after, group };
  return { basis: { ...basis, members, last_added_at }, differences: [{ what, before: null, after: shown }] };
}

/** The principals a policy is attached to, as many as an approver would read. */
async function principalsWith(tx: Tx, tenantId: string, name: string): Promise<FoundPrincipal[]> {
  const attachments = await store.attachmentsOf(tx, tenantId, name);
  return attachments
    .slice(0, ATTACHMENTS_SHOWN_MAX)
    .map(({ principal_kind, principal_id }) => ({ kind: principal_kind, id: principal_id }));
}

/** Detaching restores what a deny took away, so it needs the same approval as attaching. */
export async function detach(ctx: Context, ports: PolicyPorts, name: string, wanted: PolicyPrincipal) {
  ctx.access.requireUnrestricted();
  return ctx.change(async (tx) => {
    const principal = await principalOf(tx, ports, ctx.tenantId, wanted);
    ctx.record.describe({ principal });
    const row = await store.findPolicy(tx, ctx.tenantId, name);
    if (row === undefined || !(await store.deleteAttachment(tx, attachmentKey(ctx.tenantId, principal, name)))) {
      throw notFound('attachment');
    }
    await raiseEpoch(tx, ctx.tenantId);
    const before = { ...principal, document: JSON.parse(row.document) };
    const differences = [{ what: `attachment of ${name}`, before, after: null }];
    await ctx.needsApproval(tx, { basis: { kind: principal.kind, principal: principal.id }, differences });
    return { policy: name, principal };
  });
}

/** All policies that apply to a user: their role, vault memberships, and what is attached to them and to their groups. */
export async function policiesOfUser(db: Reader, user: UserRow): Promise<CompiledPolicy[]> {
  const groups = await groupsOfUser(db, user.tenant_id, user.user_id);
  const principals = [
    { kind: 'user' as const, id: user.user_id },
    ...groups.map((id) => ({ kind: 'group' as const, id })),
  ];
  const rows = await store.policiesFor(db, user.tenant_id, principals);
  const memberships = await membershipsOf(db, user.tenant_id, principals);
  const attached = rows.map(compiledPolicy);
  if (memberships.length > 0) attached.push(membershipPolicy(memberships));
  return [...rolePolicies(user.role as Role), ...attached];
}

/** The policies attached to a connection, without the permissions of the connection itself. */
export async function policiesOfConnection(db: Reader, tenantId: string, clientId: string): Promise<CompiledPolicy[]> {
  return (await store.policiesFor(db, tenantId, [{ kind: 'app_connection', id: clientId }])).map(compiledPolicy);
}

/** Names of attached policies that affect this vault or its secrets. */
export async function policiesTouching(db: Reader, tenantId: string, vault: string): Promise<string[]> {
  const rows = await store.attachedPolicies(db, tenantId);
  return rows.filter((row) => touchesVault(compiledPolicy(row), vault)).map((row) => row.name);
}

/** What members of a group may do, in words for an approver: its policies, then its roles in vaults. */
export async function rightsOfGroup(tx: Tx, tenantId: string, groupId: string): Promise<string[]> {
  const memberships = await membershipsOf(tx, tenantId, [{ kind: 'group', id: groupId }]);
  const policies = await store.policyNamesOf(tx, tenantId, 'group', groupId);
  const inVaults = memberships.map(({ vault, role }) => `${role} of vault ${vault}`).sort();
  return [...policies.map((name) => `policy ${name}`), ...inVaults];
}

/** Returns a test for the vaults that a group is a member of, or that its policies affect. */
export async function vaultsOfGroup(tx: Tx, tenantId: string, groupId: string): Promise<(vault: string) => boolean> {
  const asGroup = { kind: 'group' as const, id: groupId };
  const memberships = await membershipsOf(tx, tenantId, [asGroup]);
  const policies = (await store.policiesFor(tx, tenantId, [asGroup])).map(compiledPolicy);
  return (vault) =>
    memberships.some((one) => one.vault === vault) || policies.some((policy) => touchesVault(policy, vault));
}

/** The document as it is stored: all its actions and resource types are declared, and environments have their canonical names. */
export function checkedDocument(
  name: string,
  sent: PolicyDocument,
  pointer = '/body/document',
): { document: PolicyDocument; compiled: CompiledPolicy } {
  try {
    const compiled = compilePolicy(name, sent);
    if (compiled.cost > MAX_PRINCIPAL_COST) throw new PolicyError('', costReason(compiled.cost));
    refuseUndeclared(sent);
    return { document: { ...sent, statement: sent.statement.map(canonicalStatement) }, compiled };
  } catch (error) {
    if (error instanceof PolicyError) throw invalidField(`${pointer}${error.pointer}`, error.reason);
    throw error;
  }
}

function canonicalStatement(statement: PolicyStatement): PolicyStatement {
  const { condition } = statement;
  if (condition?.environment === undefined) return statement;
  const environment = [...new Set(condition.environment.map(canonicalEnvironment))];
  return { ...statement, condition: { ...condition, environment } };
}

export interface FoundPrincipal {
  kind: store.PrincipalKind;
  id: string;
}

async function principalOf(
  db: Reader | Tx,
  ports: PolicyPorts,
  tenantId: string,
  wanted: PolicyPrincipal,
): Promise<FoundPrincipal> {
  const found = await findPrincipal(db, ports, tenantId, wanted);
  if (found === undefined) throw notFound(nounOf(wanted));
  return found;
}

export function nounOf({ group, user }: PolicyPrincipal): 'group' | 'user' | 'connection' {
  if (group !== undefined) return 'group';
  return user === undefined ? 'connection' : 'user';
}

export async function findPrincipal(
  db: Reader | Tx,
  ports: PolicyPorts,
  tenantId: string,
  wanted: PolicyPrincipal,
): Promise<FoundPrincipal | undefined> {
  const { group, user, app_connection } = wanted;
  if ([group, user, app_connection].filter((one) => one !== undefined).length !== 1) {
    throw invalidField('/body/principal', 'must have exactly one of group, user and app_connection');
  }
  if (app_connection !== undefined) {
    const id = await ports.clientIdOfConnection(db, tenantId, String(app_connection));
    return id === undefined ? undefined : { kind: 'app_connection', id };
  }
  if (group !== undefined) {
    const found = await findGroupByIdOrName(db, tenantId, group);
    return found && { kind: 'group', id: found.group_id };
  }
  const found = await findUserByIdOrEmail(db, tenantId, user ?? '');
  return found && { kind: 'user', id: found.user_id };
}

function attachmentKey(tenantId: string, principal: FoundPrincipal, policyName: string) {
  return {
    tenant_id: tenantId,
    principal_kind: principal.kind,
    principal_id: principal.id,
    policy_name: policyName,
  };
}

function toWire(row: store.PolicyRow): Policy {
  return {
    id: row.policy_id,
    name: row.name,
    description: row.description,
    document: JSON.parse(row.document) as PolicyDocument,
    version: row.version,
    created_at: timestamp(row.created_at),
    updated_at: timestamp(row.updated_at),
  };
}
