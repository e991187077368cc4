import { isId } from '../../kernel/base/ids.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { badRequest } from './errors.ts';
import type { Filter } from './filter.ts';
import { isObject, isUnassigned, lowered, type Operation, textOf } from './operations.ts';
import { USER_NAME_LENGTH_MAX } from './schemas.ts';

/** What a provider says about a group. */
export interface GroupAttributes {
  displayName: string;
  externalId: string | null;
  /** Ids of users whom the provider provisions. */
  members: ReadonlySet<string>;
}

const EXTERNAL_ID_LENGTH_MAX = 255;
/** The longest name that a group can have here. */
const GROUP_NAME_LENGTH_MAX = 63;

export function applied(before: GroupAttributes, operations: readonly Operation[]): GroupAttributes {
  const group = { ...before, members: new Set(before.members) };
  for (const operation of operations) apply(group, operation);
  if (group.displayName.trim() === '') throw badRequest('invalidValue', 'displayName is required.');
  return group;
}

function apply(group: GroupAttributes & { members: Set<string> }, operation: Operation): void {
  const { path, op, value } = operation;
  const isRemoved = op === 'remove' || isUnassigned(value);
  switch (path.attribute) {
    case 'displayname':
      if (isRemoved) throw badRequest('mutability', 'displayName is required, and cannot be removed.');
      group.displayName = textOf(value, 'displayName', USER_NAME_LENGTH_MAX);
      break;
    case 'externalid':
      group.externalId = isRemoved ? null : textOf(value, 'externalId', EXTERNAL_ID_LENGTH_MAX);
      break;
    case 'members':
      applyMembers(group.members, operation);
      break;
  }
}

/**
 * A removal with a value removes the members that it names (as Entra sends it), also if it names none. Only a removal without value and filter
 * removes all (RFC 7644, 3.5.2.2).
 */
function applyMembers(members: Set<string>, { op, path, value }: Operation): void {
  if (path.sub !== null && path.sub !== 'value') return;
  const filtered = path.filter === null ? null : idsIn(path.filter);
  if (op === 'remove') {
    if (filtered === null && value === undefined) members.clear();
    const named = value === undefined ? [] : memberIds(value);
    for (const id of [...(filtered ?? []), ...named]) members.delete(id);
    return;
  }
  if (op === 'replace' && filtered !== null) for (const id of filtered) members.delete(id);
  else if (op === 'replace') members.clear();
  for (const id of memberIds(value)) members.add(id);
}

function memberIds(value: unknown): string[] {
  if (value === null) throw badRequest('invalidValue', 'members must be a list; an empty one names nobody.');
  const list = Array.isArray(value) ? value : [value];
  return list.map((element) => {
    const fields = isObject(element) ? lowered(element) : new Map<string, unknown>([['value', element]]);
    const type = fields.get('type');
    if (typeof type === 'string' && type.toLowerCase() !== 'user') {
      throw badRequest('invalidValue', 'Members are users: groups in groups are not supported.');
    }
    const id = fields.get('value');
    if (typeof id !== 'string' || !isId('user', id)) throw unknownMember();
    return id;
  });
}

/** One answer for an id that is malformed, of another tenant, or of a user whom the provider does not provision. */
export function unknownMember(): Error {
  return badRequest('invalidValue', 'A member is no user whom this provider provisions: provision the user first.');
}

function idsIn(filter: Filter): string[] {
  if (filter.kind === 'eq' && filter.attribute === 'value') return [String(filter.value)];
  if (filter.kind === 'or') return filter.parts.flatMap(idsIn);
  throw badRequest('invalidFilter', 'The path is not supported. What works: members[value eq "…"], joined by or.');
}

/** The name that a group of the provider gets here, where names have fewer characters. */
export function groupName(displayName: string): string {
  let plain = displayName
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, GROUP_NAME_LENGTH_MAX);
  while (plain.endsWith('-')) plain = plain.slice(0, -1);
  return plain === '' ? `scim-${sha256(displayName).toString('hex').slice(0, 12)}` : plain;
}
