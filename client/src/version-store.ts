import type { ZeroKnowledgeLocation } from './zero-knowledge-location.ts';

/** Stores the highest version seen of each secret. Implement it with a file or a database to persist them beyond the process. */
export interface VersionStore {
  /**
   * Stores the version if it is higher than the stored one, and returns the highest, atomically: two concurrent reads must not undo each other. It
   * must throw if it cannot read its storage, because a missing version would let an old value pass.
   */
  raise(location: SecretLocation, version: number): number | Promise<number>;
}

export type SecretLocation = Pick<ZeroKnowledgeLocation, 'vault' | 'path'>;

/** Evicting a location would let its old values pass again, so a full store refuses instead. */
export const LOCATIONS_MAX = 100_000;

/** Keeps the versions in memory, until the process ends. */
export class InProcessVersionStore implements VersionStore {
  readonly #versions = new Map<string, number>();

  raise(location: SecretLocation, version: number): number {
    const key = keyOf(location);
    const highest = Math.max(version, this.#versions.get(key) ?? 0);
    if (!this.#versions.has(key) && this.#versions.size >= LOCATIONS_MAX) {
      throw new RangeError(
        `the store is full (${LOCATIONS_MAX} locations): use one store per vault, or implement your own VersionStore`,
      );
    }
    this.#versions.set(key, highest);
    return highest;
  }

  /** For a secret that was deleted and created again on purpose: its versions start with 1 again. */
  delete(location: SecretLocation): void {
    this.#versions.delete(keyOf(location));
  }
}

function keyOf({ vault, path }: SecretLocation): string {
  return JSON.stringify([vault, path]);
}
