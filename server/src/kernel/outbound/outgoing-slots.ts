import { fairShare } from '../fairness/fair-share.ts';

/** Concurrent calls of one tenant to one host, so that a slow host blocks no more than these. */
const PER_OWNER_AND_HOST_MAX = 32;
/** Concurrent calls of one tenant, so that many slow hosts block no more than these. */
const PER_OWNER_MAX = 64;
/** Concurrent calls of all tenants to one host, which many may share, such as those of a cloud provider. */
const PER_HOST_MAX = 256;
/** Concurrent calls in total, as many as a process can handle. */
const AT_ONCE_MAX = 1024;

/** Which calls to hosts that tenants choose may be under way at once. While many are, each tenant may make fewer. */
export class OutgoingSlots {
  readonly #used = new Map<string, number>();

  /** Takes a slot and returns the function that frees it; null if there is none for this tenant and host. */
  enter(owner: string, host: string): (() => void) | null {
    const [ofBoth, ofOwner, ofHost, all] = [`owner ${owner} host ${host}`, `owner ${owner}`, `host ${host}`, 'all'];
    const [freeAtHost, free] = [PER_HOST_MAX - this.#count(ofHost), AT_ONCE_MAX - this.#count(all)];
    if (freeAtHost <= 0 || free <= 0) return null;
    if (this.#count(ofBoth) >= Math.min(PER_OWNER_AND_HOST_MAX, fairShare(freeAtHost))) return null;
    if (this.#count(ofOwner) >= Math.min(PER_OWNER_MAX, fairShare(free))) return null;
    const names = [ofBoth, ofOwner, ofHost, all];
    for (const name of names) this.#used.set(name, this.#count(name) + 1);
    let isHeld = true;
    return () => {
      if (isHeld) for (const name of names) this.#free(name);
      isHeld = false;
    };
  }

  #count(name: string): number {
    return this.#used.get(name) ?? 0;
  }

  #free(name: string): void {
    const left = this.#count(name) - 1;
    if (left <= 0) this.#used.delete(name);
    else this.#used.set(name, left);
  }
}
