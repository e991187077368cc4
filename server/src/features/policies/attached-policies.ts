import type { CompiledPolicy } from '../../kernel/authz/policy.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { compiledPolicy } from './compiled-policies.ts';
import { attachmentsTo, type PrincipalKind, policiesNamed } from './store.ts';

/** The policies attached to each of some principals of one kind; those with none are missing. */
export async function policiesAttachedTo(
  db: Reader,
  tenantId: string,
  kind: PrincipalKind,
  ids: readonly string[],
): Promise<Map<string, CompiledPolicy[]>> {
  const attachments = await attachmentsTo(db, tenantId, kind, ids);
  const rows = await policiesNamed(db, tenantId, new Set(attachments.map(({ policy_name }) => policy_name)));
  const byName = new Map(rows.map((row) => [row.name, compiledPolicy(row)]));
  const attached = new Map<string, CompiledPolicy[]>();
  for (const { principal_id, policy_name } of attachments) {
    const policy = byName.get(policy_name);
    if (policy !== undefined) attached.set(principal_id, [...(attached.get(principal_id) ?? []), policy]);
  }
  return attached;
}
