import type { ResourceAttributes } from '../../kernel/auth/call.ts';
import { intersection, startingWith } from '../../kernel/authz/path-ranges.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { idForm, newId } from '../../kernel/base/ids.ts';
import type { Proposal } from '../../kernel/endpoint/approval.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import { notPermitted } from '../../kernel/request/refusals.ts';
import { type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { effectiveSecrets } from '../environments/index.ts';
import { attributesOf, parsePath, secretNotFound, secretResource } from '../secrets/index.ts';
import { type DecidedRow, secretsAt, secretsBelow } from '../secrets/reading/index.ts';
import { refuseInZeroKnowledge } from '../secrets/value/index.ts';
import { isLive, vaultNotFound } from '../vaults/index.ts';
import { findVault, type VaultRow } from '../vaults/storage/index.ts';
import type * as contract from './contract.ts';
import { type ClusterPolicy, DEFAULT_SECRET_TYPE, MAPPINGS_MAX } from './schemas.ts';
import { existing, lockExisting } from './service.ts';
import * as store from './store.ts';

type PolicyBody = Body<typeof contract.createClusterPolicy>;
type SourceColumns = Pick<store.PolicyRow, 'vault_id' | 'vault' | 'mappings' | 'prefix' | 'environment_id'>;

interface Source {
  columns: SourceColumns;
  /** What another person must approve, because secrets of production would leave the service without anybody else knowing; null if nothing. */
  proposal: Proposal | null;
}

const LIST_CURSOR = new RegExp(`^${store.POLICY_CURSOR_KIND}$`);
const READ = 'secrets:read';
/** No vault has this id, since it is not a valid one. */
const NO_VAULT = '';
/** Kubernetes refuses the first form; the second one is refused in every request. */
const UNUSABLE_KEY = /^\.\.?$|^\.\.|^__proto__$/;

/** A policy outlives the credential that wrote it, so a restricted credential cannot write one: it would escape its restrictions. */
export async function create(ctx: Context, clusterId: string, body: PolicyBody): Promise<ClusterPolicy> {
  ctx.access.requireUnrestricted();
  refuseMixed(body);
  return ctx.change(async (tx) => {
    const cluster = await lockExisting(ctx, tx, clusterId);
    if (cluster.kind !== 'kubernetes')
      throw invalidField('/path/cluster_id', 'is a cluster of hosts, which gets no secrets');
    refuseBeyondQuota(ctx, 'policies_per_cluster', await store.countPolicies(tx, cluster));
    const { columns, proposal } = await sourceOf(ctx, tx, body);
    const row: store.PolicyRow = {
      tenant_id: ctx.tenantId,
      policy_id: newId('cpolicy', ctx.now),
      cluster_id: clusterId,
      namespace: body.namespace,
      secret_name: body.secret_name,
      secret_type: body.secret_type ?? DEFAULT_SECRET_TYPE,
      ...columns,
      author_id: ctx.principal.id,
      created_at: ctx.now,
    };
    ctx.record.describe(described(row));
    await unlessTaken(store.insertPolicy(tx, row));
    await raiseEpoch(tx, ctx.tenantId);
    if (proposal !== null) await ctx.needsApproval(tx, proposal);
    return toWire(row);
  });
}

function refuseMixed({ vault, mappings, prefix, environment_id }: PolicyBody): void {
  const forms = [mappings, prefix, environment_id].filter((form) => form !== undefined);
  if (forms.length !== 1) throw invalidField('/body', 'must have exactly one of mappings, prefix and environment_id');
  if ((vault === undefined) !== (environment_id !== undefined))
    throw invalidField('/body/vault', 'must be given with mappings or prefix, and only then');
}

function sourceOf(ctx: Context, tx: Tx, { vault, mappings, prefix, environment_id }: PolicyBody): Promise<Source> {
  if (environment_id !== undefined) return ofEnvironment(ctx, tx, environment_id);
  if (mappings !== undefined) return ofMappings(ctx, tx, vault ?? '', mappings);
  return ofPrefix(ctx, tx, vault ?? '', prefix ?? '');
}

async function ofMappings(
  ctx: Context,
  tx: Tx,
  vaultName: string,
  mappings: NonNullable<PolicyBody['mappings']>,
): Promise<Source> {
  const pairs = mappings.map(({ key, path }, i) => {
    if (UNUSABLE_KEY.test(key)) throw invalidField(`/body/mappings/${i}/key`, 'cannot be a key of a Kubernetes Secret');
    return [key, parsePath(path, `/body/mappings/${i}/path`)] as const;
  });
  if (new Set(pairs.map(([key]) => key)).size < pairs.length)
    throw invalidField('/body/mappings', 'has the same key twice');
  const vault = await liveVault(ctx, tx, vaultName);
  const within = { tenantId: ctx.tenantId, vaultId: vault?.vault_id ?? NO_VAULT };
  const found = await secretsAt(
    tx,
    within,
    pairs.map(([, path]) => path),
  );
  for (const [, path] of pairs) refuseUnreadable(ctx, vaultName, path, attributes(vault, found.get(path)));
  if (vault === undefined) throw vaultNotFound();
  refuseInZeroKnowledge(vault, DELIVERING);
  for (const [i, [, path]] of pairs.entries()) {
    const row = found.get(path);
    if (row === undefined) throw secretNotFound();
    refuseFortress(row, `/body/mappings/${i}/path`);
  }
  return ofVault(vault, { mappings: JSON.stringify(pairs) });
}

async function ofPrefix(ctx: Context, tx: Tx, vaultName: string, text: string): Promise<Source> {
  const prefix = parsePath(text.replace(/\/$/, ''), '/body/prefix');
  const vault = await liveVault(ctx, tx, vaultName);
  const within = { tenantId: ctx.tenantId, vaultId: vault?.vault_id ?? NO_VAULT };
  const rows = await secretsBelow(tx, within, prefix, MAPPINGS_MAX + 1);
  const below = startingWith(`${prefix}/`);
  const allowed = ctx.access.allowedRanges(READ, vaultName);
  if (intersection(allowed, [below]).length === 0) throw unreadable();
  for (const row of rows) refuseUnreadable(ctx, vaultName, row.path, attributesOf(row));
  if (vault === undefined) throw vaultNotFound();
  refuseInZeroKnowledge(vault, DELIVERING);
  if (rows.length > MAPPINGS_MAX)
    throw invalidField('/body/prefix', `has more than ${MAPPINGS_MAX} secrets below it: choose a longer one`);
  for (const row of rows) refuseFortress(row, '/body/prefix');
  return ofVault(vault, { prefix });
}

async function ofEnvironment(ctx: Context, tx: Tx, environmentId: number): Promise<Source> {
  if (!ctx.access.may('environments:compose', `environment/${environmentId}`))
    throw notPermitted('environments:compose', 'environments:compose: on the policy’s environment');
  const effective = await effectiveSecrets(tx, ctx.tenantId, environmentId);
  if (effective === null) throw notFound('composed environment');
  for (const row of effective) refuseUnreadable(ctx, row.vault, row.path, attributesOf(row));
  for (const row of effective) {
    refuseInZeroKnowledge(row, DELIVERING);
    refuseFortress(row, '/body/environment_id');
  }
  // Secrets of production can be bound to it later, so it does not matter which ones it has now.
  const differences = [
    { what: 'composed environment whose secrets the cluster gets', before: null, after: environmentId },
  ];
  const columns = { ...NO_SOURCE, environment_id: environmentId };
  return { columns, proposal: { basis: { environment: environmentId }, differences } };
}

function ofVault({ vault_id, name, environment }: VaultRow, which: Partial<SourceColumns>): Source {
  const columns = { ...NO_SOURCE, vault_id, vault: name, ...which };
  if (environment !== 'production') return { columns, proposal: null };
  const differences = [{ what: 'vault whose secrets the cluster gets', before: null, after: { name, environment } }];
  return { columns, proposal: { basis: { vault: vault_id }, differences } };
}

const NO_SOURCE: SourceColumns = { vault_id: null, vault: null, mappings: null, prefix: null, environment_id: null };
const DELIVERING = 'Delivering to a cluster';

async function liveVault(ctx: Context, tx: Tx, name: string) {
  const row = await findVault(tx, ctx.tenantId, name);
  return isLive(row) ? row : undefined;
}

function attributes(vault: { environment: string } | undefined, row: DecidedRow | undefined): ResourceAttributes {
  return row === undefined ? { environment: vault?.environment } : attributesOf(row);
}

/** Comes before anything is said about the vault or the secret, so that nobody learns what exists. */
function refuseUnreadable(ctx: Context, vault: string, path: string, about: ResourceAttributes): void {
  if (!ctx.access.may(READ, secretResource(vault, path), about)) throw unreadable();
}

function unreadable(): CofferError {
  return notPermitted(READ, `${READ}: on a secret of the policy`);
}

function refuseFortress({ protection }: Pick<DecidedRow, 'protection'>, pointer: string): void {
  if (protection === 'fortress')
    throw invalidField(pointer, 'names a fortress secret, which is never delivered to a cluster');
}

async function unlessTaken(inserted: Promise<void>): Promise<void> {
  try {
    await inserted;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError(
      'ALREADY_EXISTS',
      'A policy of this cluster already delivers a Secret of this name in this namespace: delete it first.',
    );
  }
}

export async function list(ctx: Context, clusterId: string, query: Query<typeof contract.listClusterPolicies>) {
  const row = await existing(ctx, ctx.database.read, clusterId);
  const [, , after = ''] =
    decodeCursor(query.cursor, LIST_CURSOR, new RegExp(`^${clusterId}$`), idForm('cpolicy')) ?? [];
  const page = await store.listPolicies(ctx.database.read, row, after, query.limit ?? LIST_LIMIT_DEFAULT);
  return { policies: page.rows.map(toWire), next_cursor: page.next_cursor };
}

export async function remove(ctx: Context, clusterId: string, policyId: string): Promise<Deleted> {
  return ctx.change(async (tx) => {
    const cluster = await lockExisting(ctx, tx, clusterId);
    const row = await store.deletePolicy(tx, cluster, policyId);
    if (row === undefined) throw notFound('policy of this cluster');
    ctx.record.describe(described(row));
    await raiseEpoch(tx, ctx.tenantId);
    return DELETED;
  });
}

function described(row: store.PolicyRow) {
  const { policy_id: policy, namespace, secret_name, secret_type, vault, prefix, environment_id, author_id } = row;
  return { policy, namespace, secret_name, secret_type, vault, prefix, environment_id, author: author_id };
}

function toWire(row: store.PolicyRow): ClusterPolicy {
  const pairs = row.mappings === null ? null : (JSON.parse(row.mappings) as [string, string][]);
  return {
    id: row.policy_id,
    cluster_id: row.cluster_id,
    namespace: row.namespace,
    secret_name: row.secret_name,
    secret_type: row.secret_type,
    vault: row.vault,
    mappings: pairs === null ? null : pairs.map(([key, path]) => ({ key, path })),
    prefix: row.prefix,
    environment_id: row.environment_id,
    created_by: row.author_id,
    created_at: timestamp(row.created_at),
  };
}
