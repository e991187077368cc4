import { notFound } from '../../kernel/base/errors.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Difference, Proposal } from '../../kernel/endpoint/approval.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { policiesOfConnection } from '../policies/index.ts';
import { findVaultById, type VaultRow } from '../vaults/storage/index.ts';
import type { Connection } from './contract.ts';
import { vaultIdsOf } from './principal.ts';
import { type ConnectionRow, findByClient, lockConnection } from './storage/connection-store.ts';
import { toWire } from './wire.ts';

/** What others approve of a connection: every limit that it has, because one person alone may change those of a connection without production. */

/** Fields that limit nothing. Any other field counts as a limit, also one that is added later. */
const NO_LIMITS: ReadonlySet<string> = new Set<keyof Connection>([
  'id',
  'client_id',
  'name',
  'description',
  'vault',
  'tls_url',
  'concurrent_session_limit',
  'concurrent_session_action',
  'concurrent_session_ttl_seconds',
  'client_secret_made_at',
  'former_client_secret_until',
  'created_by',
  'created_at',
  'updated_at',
]);

export function toCreate(row: ConnectionRow, vaults: readonly VaultRow[]): Proposal {
  const reached = { what: 'vaults it reaches', before: null, after: vaults.map(shownVault) };
  return { differences: [reached, { what: 'its limits', before: null, after: limitsOf(row) }] };
}

/** The approver sees what changes, and what the connection is limited to besides. All of it must be the same when the change is carried out. */
export async function toChange(tx: Tx, before: ConnectionRow, after: ConnectionRow): Promise<Proposal> {
  const [was, is] = [wireOf(before), wireOf(after)];
  const isUnchanged = (field: string) => JSON.stringify(was[field]) === JSON.stringify(is[field]);
  const changed = Object.keys(is).filter((field) => field !== 'updated_at' && !isUnchanged(field));
  const differences: Difference[] = changed.map((what) => ({ what, before: was[what], after: is[what] }));
  const vaults = { before: await shownVaults(tx, before), after: await shownVaults(tx, after) };
  differences.push({ what: 'vaults it reaches', ...vaults });
  const unchanged = Object.entries(limitsOf(before)).filter(([field]) => isUnchanged(field));
  const policies = (await policiesOfConnection(tx, before.tenant_id, before.client_id)).map(({ name }) => name);
  const stays = { ...Object.fromEntries(unchanged), attached_policies: policies.sort() };
  differences.push({ what: 'limits that stay as they are', before: stays, after: 'the same' });
  const limits = digestOf({ ...limitsOf(before), attached_policies: stays.attached_policies });
  return { basis: { connection: before.client_id, limits }, differences };
}

/** The limits that an attached policy would have, for its approver, and a digest of them. The connection stays locked. */
export async function limitsForPolicy(tx: Tx, tenantId: string, clientId: string) {
  const found = await findByClient(tx, tenantId, clientId);
  const row = found && (await lockConnection(tx, tenantId, found.connection_no));
  if (row?.client_id !== clientId) throw notFound('connection');
  const limits = limitsOf(row);
  return { limits, digest: digestOf(limits) };
}

function wireOf(row: ConnectionRow): Record<string, unknown> {
  return toWire(row, null, null);
}

/** As they are serialized in responses; none of them is a credential. */
function limitsOf(row: ConnectionRow): Record<string, unknown> {
  return Object.fromEntries(Object.entries(wireOf(row)).filter(([field]) => !NO_LIMITS.has(field)));
}

function digestOf(limits: Record<string, unknown>): string {
  return sha256(JSON.stringify(limits)).toString('base64url');
}

/** Vaults are shown by name and environment, because approvers could not recognize them by id. */
function shownVault({ name, environment }: VaultRow) {
  return { name, environment };
}

async function shownVaults(tx: Tx, row: ConnectionRow) {
  const shown: { name: string; environment: string }[] = [];
  // One after the other, because a transaction takes one query at a time. Deleted vaults can be restored, so they are shown too.
  for (const vaultId of vaultIdsOf(row)) {
    const vault = await findVaultById(tx, row.tenant_id, vaultId);
    if (vault !== undefined) shown.push(shownVault(vault));
  }
  return shown;
}
