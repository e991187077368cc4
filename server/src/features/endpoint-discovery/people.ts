/** Somebody who is, or was, a user of the tenant. */
export interface KnownPerson {
  userId: string;
  email: string;
  /** `former`: disabled or deleted. */
  status: 'active' | 'invited' | 'former';
  /** Whether they are a member of a vault, themselves or by a group. */
  isMember: boolean;
  /** Whether they reach vaults by their role. */
  isAdmin: boolean;
}

/** Finds the people whom names on hosts may mean. */
export class People {
  readonly all: readonly KnownPerson[];
  readonly #byId: ReadonlyMap<string, KnownPerson>;
  readonly #byEmail: ReadonlyMap<string, readonly KnownPerson[]>;
  readonly #byLocalPart: ReadonlyMap<string, readonly KnownPerson[]>;

  constructor(all: readonly KnownPerson[]) {
    this.all = all;
    this.#byId = new Map(all.map((person) => [person.userId, person]));
    this.#byEmail = Map.groupBy(all, ({ email }) => email);
    this.#byLocalPart = Map.groupBy(all, ({ email }) => localPart(email));
  }

  withId(userId: string): KnownPerson | undefined {
    return this.#byId.get(userId);
  }

  /** By the part of their e-mail address before the @. */
  named(username: string): readonly KnownPerson[] {
    return this.#byLocalPart.get(username.toLowerCase()) ?? [];
  }

  /** By an address in a comment, by the name before its @, or by a comment that is one word. An address is more certain than a name. */
  inComment(comment: string): readonly KnownPerson[] {
    const words = comment
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    const addresses = words.filter((word) => word.includes('@'));
    const exact = addresses.flatMap((address) => this.#byEmail.get(address) ?? []);
    if (exact.length > 0) return exact;
    const names = words.length === 1 ? words.map(localPart) : addresses.map(localPart);
    return names.flatMap((name) => this.#byLocalPart.get(name) ?? []);
  }
}

function localPart(text: string): string {
  const at = text.indexOf('@');
  return at === -1 ? text : text.slice(0, at);
}

/** An account with the keys that let somebody in. */
export interface KeyedAccount {
  userId: string | null;
  username: string;
  keys: readonly { comment: string }[];
}

/** Whose account it is: as linked, else by its name, else by the comments of its keys. */
export function ownersOf(people: People, { userId, username, keys }: KeyedAccount): readonly KnownPerson[] {
  if (userId !== null) {
    const linked = people.withId(userId);
    return linked === undefined ? [] : [linked];
  }
  const named = people.named(username);
  return named.length > 0 ? named : keys.flatMap(({ comment }) => people.inComment(comment));
}

/** Nobody with access to vaults owns the account. Admins reach every vault by their role. */
export function isOrphan(people: People, account: KeyedAccount): boolean {
  if (account.keys.length === 0) return false;
  return !ownersOf(people, account).some(
    ({ status, isMember, isAdmin }) => status === 'active' && (isMember || isAdmin),
  );
}

/** Somebody who left and whose key this is, unless it may as well be that of somebody who is still there. */
export function formerOwner(people: People, comment: string): KnownPerson | undefined {
  const meant = people.inComment(comment);
  if (meant.some(({ status }) => status !== 'former')) return undefined;
  return meant[0];
}
