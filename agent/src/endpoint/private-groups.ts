import type { LocalAccount } from './passwd.ts';

/** Groups that have one account alone as their member, as `useradd` makes them for each account. */
export class PrivateGroups {
  readonly #primary = new Map<number, Set<number>>();
  readonly #members = new Map<number, string[]>();
  readonly #names = new Map<number, string>();

  constructor(entries: readonly LocalAccount[], groupFile: Buffer) {
    for (const { username, uid, gid } of entries) {
      this.#primary.set(gid, (this.#primary.get(gid) ?? new Set()).add(uid));
      if (!this.#names.has(uid)) this.#names.set(uid, username);
    }
    for (const line of groupFile.toString('utf8').split('\n')) {
      const [, , gid = '', members = ''] = line.split(':');
      if (!/^\d{1,10}$/.test(gid) || this.#members.has(Number(gid))) continue;
      const names = members.split(',').map((name) => name.trim());
      this.#members.set(
        Number(gid),
        names.filter((name) => name !== ''),
      );
    }
  }

  /** Debian's rule for a file of `owner` that its group may write: nobody but the account is in the group. */
  isOf(uid: number, gid: number, owner: number): boolean {
    const members = this.#members.get(gid);
    if (members === undefined) return false;
    const primary = this.#primary.get(gid) ?? new Set();
    const isForeign =
      [...primary].some((one) => one !== uid) || members.some((name) => name !== this.#names.get(owner));
    return !isForeign && members.length <= 1 && primary.size + members.length > 0;
  }
}
