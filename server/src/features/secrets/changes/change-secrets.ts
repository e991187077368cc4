import { vaultResource } from '../../../kernel/authz/pattern.ts';
import { CofferError, type FieldProblem, invalidField } from '../../../kernel/base/errors.ts';
import type { Difference, Proposal } from '../../../kernel/endpoint/approval.ts';
import type { Body } from '../../../kernel/endpoint/declaration.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { changeTogether, type JoinedRequest, type JoinedResult } from '../../../kernel/request/joined-requests.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import { isLive, vaultNotFound } from '../../vaults/index.ts';
import { findVault } from '../../vaults/storage/index.ts';
import type { changeSecrets as contract } from '../contract.ts';
import { parsePath } from '../location.ts';
import type { ChangedSecret, ChangeOperation, SecretChangeInput } from '../schemas.ts';
import { lockSecret } from '../storage/secret-store.ts';
import type { SingleChanges } from './single-changes.ts';

/** The paths of a request that waits are stored with it, in this many bytes, to decide who reviews it. */
const PLACES_BYTES_MAX = 3000;
/** Endpoints that take a reason. */
const REASONED: ReadonlySet<ChangeOperation> = new Set(['create', 'update', 'rotate', 'rollback']);

/** Makes several changes in one transaction. Each is the request to its own endpoint, which checks and records it. */
export async function changeSecrets(
  ctx: Context,
  singles: SingleChanges,
  vaultName: string,
  body: Body<typeof contract>,
) {
  refuseRepeatedPaths(body.changes);
  const { changes } = body;
  return changeTogether(ctx, {
    requests: changes.map((change, i) => requestFor(singles, vaultName, withReason(change, body.reason), i)),
    before: (tx) => lockPaths(ctx, tx, vaultName, changes),
    after: async (tx, results) => {
      ctx.access.authorizeWithin(vaultResource(vaultName), true, {});
      ctx.record.describe({ changes: results.length });
      await awaitReviewOfAll(ctx, tx, changes, results);
      return { changes: results.map(({ result }, i) => changedSecret(changes[i] as SecretChangeInput, result)) };
    },
    failed: (error, index) => failedAt(error, changes[index] as SecretChangeInput, index),
  });
}

/** The reason of the whole request is that of each change that has none. */
function withReason(change: SecretChangeInput, reason: string | undefined): SecretChangeInput {
  return REASONED.has(change.op) && reason !== undefined ? { reason, ...change } : change;
}

function requestFor(
  singles: SingleChanges,
  vault: string,
  { op, path, expected_version, ...fields }: SecretChangeInput,
  index: number,
): JoinedRequest {
  const endpoint = singles[op];
  const version = expected_version === undefined ? {} : { expected_version };
  if (op === 'create') {
    return { endpoint, call: { params: { vault }, headers: {}, body: { path, ...version, ...fields } } };
  }
  const [first] = Object.keys(fields);
  if (op === 'delete' && first !== undefined)
    throw invalidField(`/body/changes/${index}/${first}`, 'does not belong to a delete');
  const headers = expected_version === undefined ? {} : { 'if-match': `"v${expected_version}"` };
  return { endpoint, call: { params: { vault, path }, headers, body: op === 'delete' ? undefined : fields } };
}

/** Whether a secret is changed twice would otherwise depend on the order, and nothing is there before the transaction that an earlier change creates. */
function refuseRepeatedPaths(changes: readonly SecretChangeInput[]): void {
  const seen = new Set<string>();
  for (const [i, { path, to_path }] of changes.entries()) {
    for (const [field, text] of [['path', path] as const, ['to_path', to_path] as const]) {
      if (text === undefined) continue;
      const pointer = `/body/changes/${i}/${field}`;
      const parsed = parsePath(text, pointer);
      if (seen.has(parsed))
        throw invalidField(pointer, 'is the path of another change too: send it in a request of its own');
      seen.add(parsed);
    }
  }
}

/** Every transaction locks secrets in the order of their paths, and then vaults. */
async function lockPaths(
  ctx: Context,
  tx: Tx,
  vaultName: string,
  changes: readonly SecretChangeInput[],
): Promise<void> {
  const vault = await findVault(tx, ctx.tenantId, vaultName);
  if (!isLive(vault)) throw vaultNotFound();
  const paths = changes.flatMap(({ path, to_path }) => (to_path === undefined ? [path] : [path, to_path]));
  for (const path of paths.toSorted()) await lockSecret(tx, ctx.tenantId, vault.vault_id, path);
}

/** All of them wait if one does. */
async function awaitReviewOfAll(
  ctx: Context,
  tx: Tx,
  changes: readonly SecretChangeInput[],
  results: readonly JoinedResult[],
): Promise<void> {
  if (results.every(({ proposal }) => proposal === null)) return;
  ctx.record.describe({ places: placesOf(changes, results) });
  await ctx.needsApproval(tx, proposalOfAll(changes, results));
}

/** Anyone who reviews the request must be a reviewer of each place. The places are in the details of the approval, which lists load. */
function placesOf(changes: readonly SecretChangeInput[], results: readonly JoinedResult[]): Record<string, string[]> {
  const places: Record<string, string[]> = {};
  for (const [i, { ctx }] of results.entries()) {
    const { environment = '' } = ctx.access.attributes;
    const { path, to_path } = changes[i] as SecretChangeInput;
    places[environment] = [...(places[environment] ?? []), path, ...(to_path === undefined ? [] : [to_path])];
  }
  if (Buffer.byteLength(JSON.stringify(places)) <= PLACES_BYTES_MAX) return places;
  throw invalidField('/body/changes', 'has too many long paths to be reviewed as one: send fewer changes at a time');
}

function proposalOfAll(changes: readonly SecretChangeInput[], results: readonly JoinedResult[]): Proposal {
  const basis: Record<string, string | number | null> = {};
  const differences: Difference[] = [];
  for (const [i, { proposal }] of results.entries()) {
    const { op, path } = changes[i] as SecretChangeInput;
    for (const [name, value] of Object.entries(proposal?.basis ?? {})) basis[`${i}.${name}`] = value;
    for (const { what, ...values } of proposal?.differences ?? [])
      differences.push({ what: `${i}: ${op} ${path}: ${what}`, ...values });
  }
  return { basis, differences };
}

function changedSecret({ op, path }: SecretChangeInput, result: unknown): ChangedSecret {
  const { id, path: now, version, rotation_id, status } = result as Partial<ChangedSecret>;
  return {
    op,
    id: id ?? null,
    path: now ?? path,
    version: op === 'delete' ? null : (version ?? null),
    rotation_id: rotation_id ?? null,
    status: status ?? 'completed',
  };
}

/** The same error with the place of the change in the request. */
function failedAt(error: unknown, { op, path }: SecretChangeInput, index: number): unknown {
  if (!(error instanceof CofferError)) return error;
  const { code, message, details = {}, auditReason, retryAfterSeconds, headers } = error;
  const fields = details['fields'] as readonly FieldProblem[] | undefined;
  const placed = fields?.map(({ pointer, reason }) => ({ pointer: pointerAt(pointer, index), reason }));
  const said = `Change ${index} of the list (${op} ${path}): ${message}`;
  return new CofferError(code, said, {
    details: { ...details, ...(placed !== undefined && { fields: placed }), index },
    cause: error,
    ...(auditReason !== undefined && { auditReason }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(headers !== undefined && { headers }),
  });
}

function pointerAt(pointer: string, index: number): string {
  const at = `/body/changes/${index}`;
  if (pointer === '/headers/if-match') return `${at}/expected_version`;
  return pointer.replace(/^\/(body|path)/, at);
}
