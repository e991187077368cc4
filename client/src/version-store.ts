import type { ZeroKnowledgeLocation } from './zero-knowledge-location.ts';

/** Stores the highest version that was seen of each secret. Implement it over a file or a database to keep them beyond the process. */
export interface VersionStore {
  /**
   * Stores the version if it is higher than the stored one, and answers the highest, in one step: two reads at the same time must not undo each
   * other. A store that cannot be read must throw; an empty answer would let an old value pass.
   */
  raise(location: SecretLocation, version: number): number | Promise<number>;
}

export type SecretLocation = Pick<ZeroKnowledgeLocation, 'vault' | 'path'>;

/** Evicting one would let its old values pass again, so a full store refuses instead. */
export const LOCATIONS_MAX = 100_000;

/** For as long as the process runs. */
export class InProcessVersionStore implements VersionStore {
  readonly #versions = new Map<string, number>();

  raise(location: SecretLocation, version: number): number {
    const key = keyOf(location);
    const highest = Math.max(version, this.#versions.get(key) ?? 0);
    if (!this.#versions.has(key) && this.#versions.size >= LOCATIONS_MAX) {
      throw new RangeError(`${LOCATIONS_MAX} locations are stored: use one store for each vault, or one of your own`);
    }
    this.#versions.set(key, highest);
    return highest;
  }

  /** For a secret that was deleted and made anew on purpose: its versions begin with 1 again. */
  delete(location: SecretLocation): void {
    this.#versions.delete(keyOf(location));
  }
}

function keyOf({ vault, path }: SecretLocation): string {
  return JSON.stringify([vault, path]);
}
