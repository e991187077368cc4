import { mayOne } from '../app/capabilities.ts';
import { loadGroups, loadUsers } from '../people/index.ts';
import { idsIn } from './title.ts';

/** Names beyond this are left out. */
const NAMES_MAX = 2000;

/** The names of people and groups that approvals are about, as far as this person may see them. */
export async function loadNamesOf(
  approvals: readonly { readonly resource: string }[],
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const ids = idsIn(approvals);
  const has = (prefix: string) => ids.some((id) => id.startsWith(prefix));
  const [users, groups] = await Promise.all([
    has('user_') && (await mayOne(['users:list', 'user'])) ? loadUsers(signal, NAMES_MAX) : [],
    has('group_') && (await mayOne(['groups:list', 'group'])) ? loadGroups(signal, NAMES_MAX) : [],
  ]);
  const named = [...users.map(({ id, email }) => [id, email]), ...groups.map(({ id, name }) => [id, name])];
  return Object.fromEntries(named.filter(([id = '']) => ids.includes(id)));
}
