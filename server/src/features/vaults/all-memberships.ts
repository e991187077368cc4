import type { Membership } from '../../kernel/authz/vault-roles.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { lastingMembershipsOf, type MemberKind, type VaultMemberRow, vaultRowsById } from './storage/vault-store.ts';
import { asMembership, timedAccessOf } from './timed-access/timed-access-store.ts';

export type DatedMembership = Membership & Pick<VaultMemberRow, 'principal_id' | 'added_at' | 'reviewed_at'>;

/** The vaults these principals are members of, with role and date, and those that users have access to for a time. Forged ones are left out. */
export async function membershipsOf(
  db: Reader,
  tenantId: string,
  principals: readonly { kind: MemberKind; id: string }[],
): Promise<DatedMembership[]> {
  const members = await lastingMembershipsOf(db, tenantId, principals);
  const users = principals.flatMap(({ kind, id }) => (kind === 'user' ? [id] : []));
  const timed = await timedAccessOf(db, tenantId, users);
  if (members.length === 0 && timed.length === 0) return [];
  const vaults = await vaultRowsById(db, tenantId, [
    ...new Set([...members, ...timed].map(({ vault_id }) => vault_id)),
  ]);
  const lasting = members.flatMap(({ vault_id, role, principal_id, added_at, reviewed_at }) => {
    const vault = vaults.get(vault_id)?.name;
    return vault === undefined ? [] : [{ vault, role, principal_id, added_at, reviewed_at }];
  });
  const forATime = timed.flatMap((row) => {
    const vault = vaults.get(row.vault_id)?.name;
    const { user_id: principal_id, granted_at: added_at } = row;
    return vault === undefined ? [] : [{ ...asMembership(row, vault), principal_id, added_at, reviewed_at: null }];
  });
  return [...lasting, ...forATime];
}
