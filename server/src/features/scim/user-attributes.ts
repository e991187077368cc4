import { problemsIn } from '../../kernel/request/validation.ts';
import { canonicalEmail, emailText } from '../../kernel/wire/wire.ts';
import { SUBJECT } from '../sign-on/index.ts';
import { badRequest } from './errors.ts';
import type { Filter } from './filter.ts';
import { flagOf, isObject, isUnassigned, lowered, type Operation, textOf } from './operations.ts';
import { NAME_LENGTH_MAX, USER_NAME_LENGTH_MAX } from './schemas.ts';

/** What a provider says about a person. Everything else that it sends is ignored. */
export interface UserAttributes {
  userName: string;
  externalId: string | null;
  active: boolean;
  displayName: string;
  formatted: string;
  givenName: string;
  familyName: string;
  /** Null if the provider gave none: then the userName is the address. */
  email: string | null;
}

export const NEW_USER: UserAttributes = {
  userName: '',
  externalId: null,
  active: true,
  displayName: '',
  formatted: '',
  givenName: '',
  familyName: '',
  email: null,
};

const EMAILS_MAX = 20;
const NAME_PARTS = { formatted: 'formatted', givenname: 'givenName', familyname: 'familyName' } as const;
type NamePart = keyof typeof NAME_PARTS;

export function applied(before: UserAttributes, operations: readonly Operation[]): UserAttributes {
  const user = { ...before };
  for (const operation of operations) apply(user, operation);
  if (user.userName === '') throw badRequest('invalidValue', 'userName is required.');
  return user;
}

function apply(user: UserAttributes, operation: Operation): void {
  const { path, op, value } = operation;
  const isRemoved = op === 'remove' || isUnassigned(value);
  switch (path.attribute) {
    case 'username':
      if (isRemoved) throw badRequest('mutability', 'userName is required, and cannot be removed.');
      user.userName = textOf(value, 'userName', USER_NAME_LENGTH_MAX);
      break;
    case 'externalid':
      user.externalId = isRemoved ? null : subjectOf(value);
      break;
    case 'active':
      if (op === 'remove') throw badRequest('mutability', 'active cannot be removed: set it to false.');
      if (!isRemoved) user.active = flagOf(value, 'active');
      break;
    case 'displayname':
      user.displayName = isRemoved ? '' : textOf(value, 'displayName', NAME_LENGTH_MAX);
      break;
    case 'name':
      applyName(user, path.sub, isRemoved, value);
      break;
    case 'emails':
      applyEmails(user, operation, isRemoved);
      break;
  }
}

function subjectOf(value: unknown): string {
  if (typeof value === 'string' && SUBJECT.test(value)) return value;
  throw badRequest('invalidValue', 'externalId must be at most 255 printable ASCII characters.');
}

function applyName(user: UserAttributes, sub: string | null, isRemoved: boolean, value: unknown): void {
  if (sub !== null) {
    setNamePart(user, sub, isRemoved ? '' : value);
    return;
  }
  if (isRemoved) {
    for (const part of Object.values(NAME_PARTS)) user[part] = '';
    return;
  }
  if (!isObject(value)) throw badRequest('invalidValue', 'name must be an object.');
  for (const [part, text] of lowered(value)) setNamePart(user, part, text ?? '');
}

function setNamePart(user: UserAttributes, part: string, value: unknown): void {
  if (!Object.hasOwn(NAME_PARTS, part)) return;
  const name = NAME_PARTS[part as NamePart];
  user[name] = textOf(value, `name.${name}`, NAME_LENGTH_MAX);
}

/** An account has one address. It is the primary one, or else that of type work, or else the first; others are ignored. */
function applyEmails(user: UserAttributes, { op, path, value }: Operation, isRemoved: boolean): void {
  if (path.filter !== null) {
    if (!selectsAccountAddress(path.filter, user.email)) return;
    if (isRemoved && (path.sub === null || path.sub === 'value')) user.email = null;
    else if (path.sub === 'value') user.email = addressOf(value);
    else if (path.sub === null) user.email = addressAmong([value]) ?? user.email;
    return;
  }
  if (path.sub === 'value' && !isRemoved) user.email = addressOf(value);
  else if (path.sub !== null) return;
  else if (op === 'remove' && !isUnassigned(value)) {
    // A removal with a value removes what the value names, and nothing else.
    if (addressesIn(value).some(({ address }) => address === user.email)) user.email = null;
  } else if (isRemoved) user.email = null;
  else if (op === 'add' && user.email !== null) user.email = chosenAmong(addressesIn(value)) ?? user.email;
  else user.email = addressAmong(value);
}

interface Address {
  address: string;
  isPrimary: boolean;
  isWork: boolean;
}

function addressesIn(value: unknown): Address[] {
  const list = Array.isArray(value) ? value : [value];
  if (list.length > EMAILS_MAX) throw badRequest('invalidValue', `emails has at most ${EMAILS_MAX} elements.`);
  return list.flatMap((element) => {
    const fields = isObject(element) ? lowered(element) : new Map([['value', element]]);
    if (isUnassigned(fields.get('value'))) return [];
    const isPrimary = String(fields.get('primary')).toLowerCase() === 'true';
    const isWork = String(fields.get('type')).toLowerCase() === 'work';
    return [{ address: addressOf(fields.get('value')), isPrimary, isWork }];
  });
}

function chosenAmong(addresses: readonly Address[]): string | undefined {
  return (addresses.find(({ isPrimary }) => isPrimary) ?? addresses.find(({ isWork }) => isWork))?.address;
}

function addressAmong(value: unknown): string | null {
  const addresses = addressesIn(value);
  return chosenAmong(addresses) ?? addresses[0]?.address ?? null;
}

function addressOf(value: unknown): string {
  if (typeof value !== 'string' || problemsIn(emailText, value, '').length > 0) {
    throw badRequest(
      'invalidValue',
      'emails must contain e-mail addresses, with a domain of ASCII characters and letters of one script before it.',
    );
  }
  return canonicalEmail(value);
}

/** Whether a filter such as `type eq "work"` means the address of the account, which is primary and of type work. */
function selectsAccountAddress(filter: Filter, address: string | null): boolean {
  if (filter.kind === 'some') return false;
  if (filter.kind === 'and') return filter.parts.every((part) => selectsAccountAddress(part, address));
  if (filter.kind === 'or') return filter.parts.some((part) => selectsAccountAddress(part, address));
  if (filter.kind === 'not') return !selectsAccountAddress(filter.filter, address);
  if (filter.kind === 'pr') return ['type', 'primary', 'value'].includes(filter.attribute);
  if (filter.kind !== 'eq') throw badRequest('invalidPath', 'In a path elements are selected by eq.');
  const value = String(filter.value).toLowerCase();
  if (filter.attribute === 'type') return value === 'work';
  if (filter.attribute === 'primary') return value === 'true';
  return filter.attribute === 'value' && value === address;
}

/** The address of the account: a provider that gives none has addresses as user names. */
export function accountAddress({ email, userName }: UserAttributes): string {
  if (email !== null) return email;
  if (problemsIn(emailText, userName, '').length === 0) return canonicalEmail(userName);
  throw badRequest('invalidValue', 'Send an e-mail address in emails, or as userName.');
}

/** The name of the account. */
export function accountName({ displayName, formatted, givenName, familyName, userName }: UserAttributes): string {
  const whole = `${givenName} ${familyName}`.trim().slice(0, NAME_LENGTH_MAX);
  return [displayName, formatted, whole].find((name) => name !== '') ?? userName.slice(0, NAME_LENGTH_MAX);
}
