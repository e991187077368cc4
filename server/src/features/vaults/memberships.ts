import { canonicalEnvironment } from '../../kernel/authz/environment.ts';
import { vaultResource } from '../../kernel/authz/pattern.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import { notFound } from '../../kernel/base/errors.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import { filterInSlices } from '../../kernel/fairness/time-slice.ts';
import type { Context } from '../../kernel/request/context.ts';
import { decodeCursor, pageOf } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { groupNames, groupsOfUser } from '../groups/storage/index.ts';
import { findUser } from '../users/storage/index.ts';
import { isLive, vaultAttributes } from './access.ts';
import { membershipsOf } from './all-memberships.ts';
import type * as contract from './contract.ts';
import { listMembers, type MembershipOfUser } from './contract.ts';
import { vaultsByName } from './storage/vault-store.ts';

const NAME_FORM = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const MEMBER_FORM = /^(?:user|group)_[0-9a-z]{26}$/;

/** Everything that gives somebody a role in a vault is loaded, as for each of their requests; the page is cut from what the caller may see of it. */
export async function listVaultsOfUser(ctx: Context, userId: string, query: Query<typeof contract.listVaultsOfUser>) {
  const { tenantId, database } = ctx;
  const { read: db } = database;
  const after = decodeCursor(query.cursor, NAME_FORM, MEMBER_FORM) ?? [];
  if ((await findUser(db, tenantId, userId)) === undefined) throw notFound('user');
  const groupIds = await groupsOfUser(db, tenantId, userId);
  const principals = [{ kind: 'user' as const, id: userId }, ...groupIds.map((id) => ({ kind: 'group' as const, id }))];
  // What somebody has for a time is listed by GET /v1/access-requests.
  const memberships = (await membershipsOf(db, tenantId, principals)).filter(({ until }) => until === undefined);
  const vaults = await vaultsByName(db, tenantId, [...new Set(memberships.map(({ vault }) => vault))]);
  const live = memberships.flatMap((membership) => {
    const row = vaults.get(membership.vault);
    return isLive(row) ? [{ ...membership, row, key: [membership.vault, membership.principal_id] }] : [];
  });
  const isShown = ({ vault, row }: (typeof live)[number]) =>
    ctx.access.may(listMembers.permission, vaultResource(vault), vaultAttributes(row));
  const visible = (await filterInSlices(tenantId, live, isShown))
    .sort((a, b) => compared(a.key, b.key))
    .filter(({ key }) => after.length === 0 || compared(key, after) > 0);
  const page = pageOf(visible, query.limit ?? LIST_LIMIT_DEFAULT, ({ key }) => key);
  const names = await groupNames(db, tenantId, groupIds);
  const nameOf = (id: string) => (ctx.access.may('groups:read', `group/${id}`) && names.get(id)) || id;
  const shown = page.rows.map(({ vault, role, principal_id, added_at, row }): MembershipOfUser => {
    const group = principal_id === userId ? null : nameOf(principal_id);
    return { vault, environment: canonicalEnvironment(row.environment), role, group, added_at: timestamp(added_at) };
  });
  return { vaults: shown, next_cursor: page.next_cursor };
}

function compared([name = '', id = '']: readonly string[], [otherName = '', otherId = '']: readonly string[]): number {
  if (name !== otherName) return name < otherName ? -1 : 1;
  if (id === otherId) return 0;
  return id < otherId ? -1 : 1;
}
