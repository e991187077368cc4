import { InProcessVersionStore, type SecretLocation, type VersionStore } from './version-store.ts';
import {
  openUnderFirst,
  type SealOptions,
  sealZeroKnowledge,
  textOf,
  ZeroKnowledgeError,
  type ZeroKnowledgeSecret,
} from './zero-knowledge.ts';
import { refuseUnversioned, type ZeroKnowledgeLocation } from './zero-knowledge-location.ts';

/** A secret as the service returns it. Nothing in it is trusted. */
export interface ServedSecret {
  /** The envelope. */
  value: string;
  version: number;
}

export interface OpenedSecret<T> {
  value: T;
  /** The version the value was sealed for. After a rollback this is an older one. */
  sealedVersion: number;
}

export interface ClientOptions extends SealOptions {
  /** In memory by default. */
  versions?: VersionStore;
}

/** The service returned an older value than it did before. */
export class ZeroKnowledgeVersionError extends Error {
  override readonly name = 'ZeroKnowledgeVersionError';
  readonly sealedVersion: number;
  readonly highestVersion: number;

  constructor({ vault, path }: SecretLocation, sealedVersion: number, highestVersion: number) {
    super(
      `The value of ${path} in ${vault} was sealed for version ${sealedVersion}, but version ${highestVersion} was seen before: the secret was rolled back. ` +
        'If that was intended, seal the older value again as a new version.',
    );
    this.sealedVersion = sealedVersion;
    this.highestVersion = highestVersion;
  }
}

/** A metadata change creates a version without resealing the value. At most this many versions are tried. */
export const VERSIONS_SEARCHED_MAX = 256;

/**
 * Seals and opens the values of one installation's zero-knowledge vaults. Vault, path and version are bound into every envelope, and a value older
 * than one seen before is refused.
 */
export class ZeroKnowledgeClient {
  readonly #secret: ZeroKnowledgeSecret;
  readonly #versions: VersionStore;
  readonly #options: SealOptions;

  constructor(secret: ZeroKnowledgeSecret, { versions = new InProcessVersionStore(), ...options }: ClientOptions = {}) {
    this.#secret = secret;
    this.#versions = versions;
    this.#options = options;
  }

  /** Seals what becomes `version` of the secret: 1 for a new one, otherwise the newest plus one. Send `expected_version` with it. */
  async seal(value: string | Uint8Array, location: Required<ZeroKnowledgeLocation>): Promise<string> {
    refuseUnversioned(location);
    return sealZeroKnowledge(value, this.#secret, location, this.#options);
  }

  /** Opens the newest version of a secret. `requested` is the location of the request, never what the response claims. */
  async open(served: ServedSecret, requested: SecretLocation): Promise<OpenedSecret<string>> {
    const { value, sealedVersion } = await this.openBytes(served, requested);
    return { value: textOf(value), sealedVersion };
  }

  async openBytes(served: ServedSecret, requested: SecretLocation): Promise<OpenedSecret<Uint8Array>> {
    const opened = await openNewest(served, this.#secret, requested);
    const highestVersion = await this.#versions.raise(requested, opened.sealedVersion);
    if (!(opened.sealedVersion >= highestVersion)) {
      throw new ZeroKnowledgeVersionError(requested, opened.sealedVersion, highestVersion);
    }
    return opened;
  }

  /** Opens a secret at one location and seals it for another: an envelope that is only moved does not open there. */
  async reseal(served: ServedSecret, from: SecretLocation, to: Required<ZeroKnowledgeLocation>): Promise<string> {
    const { value } = await this.openBytes(served, from);
    return this.seal(value, to);
  }

  /** Call this after a successful write: from then on the previous value is refused, even if the new one was never read. */
  async written(location: Required<ZeroKnowledgeLocation>): Promise<void> {
    refuseUnversioned(location);
    await this.#versions.raise(location, location.version);
  }
}

/**
 * Finds the version the value was sealed for, from the served one downwards. The served number is only a starting point: the envelope authenticates
 * the real one.
 */
export async function openNewest(
  served: ServedSecret,
  secret: ZeroKnowledgeSecret,
  { vault, path }: SecretLocation,
): Promise<OpenedSecret<Uint8Array>> {
  const { value: envelope, version } = (served ?? {}) as ServedSecret;
  if (!Number.isSafeInteger(version) || version < 1) throw new ZeroKnowledgeError();
  const count = Math.min(version, VERSIONS_SEARCHED_MAX);
  const candidates = Array.from({ length: count }, (_, back) => ({ vault, path, version: version - back }));
  const { value, binding } = await openUnderFirst(envelope, secret, candidates);
  return { value, sealedVersion: binding.version };
}
