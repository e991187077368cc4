import type { CallOptions, Connection } from './connection.ts';
import { opensPassphraseCheck, sealPassphraseCheck, WrongPassphraseError } from './passphrase-check.ts';
import type { Schemas } from './routes.ts';
import type { Secrets } from './secrets.ts';
import { openUnderFirst, sealZeroKnowledge, ZeroKnowledgeError, type ZeroKnowledgeSecret } from './zero-knowledge.ts';
import { openNewest, type ServedSecret } from './zero-knowledge-client.ts';
import { type Binding, UNBOUND } from './zero-knowledge-location.ts';

type Check = Schemas['GetPassphraseCheckOutput'];

export interface PassphraseChangeOptions extends CallOptions {
  /** Called after each secret. */
  onProgress?: (done: { path: string; count: number }) => void;
}

export interface PassphraseChange {
  /** Secrets whose newest value is sealed under the new passphrase now. */
  resealed: string[];
  /** These were already: the change was begun before. */
  unchanged: string[];
  /** Neither passphrase opens these. The change is not over while there are some: write or delete them, and repeat it. */
  refused: string[];
}

/** The caller may not read or store the check, or the service is older than checks. */
const UNKNOWN_CHECK: readonly string[] = ['INSUFFICIENT_PRIVILEGE', 'VAULT_OUT_OF_SCOPE', 'NOT_FOUND'];

/** Knows, for one client, which passphrases were found to be those of zero-knowledge vaults. */
export class VaultPassphrases {
  readonly #connection: Connection;
  readonly #secrets: Secrets;
  /** By vault, what was compared last: it takes a second to derive a key from a passphrase. */
  readonly #verified = new Map<string, { check: string; secret: ZeroKnowledgeSecret }>();

  constructor(connection: Connection, secrets: Secrets) {
    this.#connection = connection;
    this.#secrets = secrets;
  }

  /**
   * Refuses a passphrase that is not the vault's. The first one becomes the vault's. It is not compared for a caller without access to the
   * check, such as one with access to some paths of the vault only.
   */
  async require(vault: string, secret: ZeroKnowledgeSecret, options: CallOptions): Promise<void> {
    try {
      const stored = await this.#read(vault, options);
      if (stored.check === null) await this.#begin(vault, secret, options);
      else await this.#compare(vault, secret, stored);
    } catch (error) {
      if (!UNKNOWN_CHECK.includes((error as { code?: string }).code ?? '')) throw error;
    }
  }

  /** Seals every value of the vault under another passphrase. It can be repeated after an interruption, and continues. */
  async change(
    vault: string,
    { from, to }: { from: ZeroKnowledgeSecret; to: ZeroKnowledgeSecret },
    { onProgress, ...options }: PassphraseChangeOptions,
  ): Promise<PassphraseChange> {
    const changing = await this.#beginChange(vault, { from, to }, options);
    const report: PassphraseChange = { resealed: [], unchanged: [], refused: [] };
    for await (const { path } of this.#secrets.list(vault, options)) {
      report[await this.#reseal({ vault, path }, { from, to }, options)].push(path);
      const count = report.resealed.length + report.unchanged.length + report.refused.length;
      onProgress?.({ path, count });
    }
    if (report.refused.length === 0 && changing.former !== null) {
      await this.#write(vault, { check: changing.check as string, expected_version: changing.version }, options);
    }
    return report;
  }

  /** The vault has no check yet, because it is new or its values are older than checks: then one of them decides. */
  async #begin(vault: string, secret: ZeroKnowledgeSecret, options: CallOptions): Promise<void> {
    for await (const { path } of this.#secrets.list(vault, options)) {
      const { value, version } = await this.#secrets.get(vault, path, options);
      if (await opensInAnyForm({ value, version }, secret, { vault, path })) break;
      throw new WrongPassphraseError(vault);
    }
    const check = await sealPassphraseCheck(vault, secret);
    try {
      await this.#write(vault, { check, expected_version: 0 }, options);
    } catch (error) {
      if ((error as { code?: string }).code !== 'VERSION_CONFLICT') throw error;
      // Somebody else stored the first value in the same moment, and chose the passphrase by it.
      return this.require(vault, secret, options);
    }
    this.#verified.set(vault, { check, secret });
  }

  async #compare(vault: string, secret: ZeroKnowledgeSecret, { check, former }: Check): Promise<void> {
    const last = this.#verified.get(vault);
    if (check === null || (last?.check === check && isSame(last.secret, secret))) return;
    if (await opensPassphraseCheck(check, vault, secret)) {
      this.#verified.set(vault, { check, secret });
      return;
    }
    throw new WrongPassphraseError(vault, former !== null && (await opensPassphraseCheck(former, vault, secret)));
  }

  async #beginChange(
    vault: string,
    { from, to }: { from: ZeroKnowledgeSecret; to: ZeroKnowledgeSecret },
    options: CallOptions,
  ): Promise<Check> {
    const stored = await this.#read(vault, options);
    if (stored.check !== null && stored.former !== null) {
      const areBoth =
        (await opensPassphraseCheck(stored.check, vault, to)) &&
        (await opensPassphraseCheck(stored.former, vault, from));
      if (!areBoth) throw new WrongPassphraseError(vault);
      return stored;
    }
    await this.require(vault, from, options);
    const present = await this.#read(vault, options);
    const check = await sealPassphraseCheck(vault, to);
    return this.#write(vault, { check, former: present.check, expected_version: present.version }, options);
  }

  async #reseal(
    { vault, path }: { vault: string; path: string },
    { from, to }: { from: ZeroKnowledgeSecret; to: ZeroKnowledgeSecret },
    options: CallOptions,
  ): Promise<keyof PassphraseChange> {
    for (;;) {
      const { value, version } = await this.#secrets.get(vault, path, options);
      if (await opens({ value, version }, to, { vault, path })) return 'unchanged';
      try {
        const opened = await openNewest({ value, version }, from, { vault, path });
        const envelope = await sealZeroKnowledge(opened.value, to, { vault, path, version: version + 1 });
        await this.#secrets.set(vault, path, envelope, { ...options, expectedVersion: version });
        return 'resealed';
      } catch (error) {
        if (error instanceof ZeroKnowledgeError) return 'refused';
        if ((error as { code?: string }).code !== 'VERSION_CONFLICT') throw error;
      }
    }
  }

  #read(vault: string, options: CallOptions): Promise<Check> {
    return this.#connection.call('GET /v1/vaults/{vault}/passphrase-check', { path: { vault } }, options);
  }

  #write(vault: string, body: Schemas['PutPassphraseCheckInput'], options: CallOptions): Promise<Check> {
    const route = 'PUT /v1/vaults/{vault}/passphrase-check';
    return this.#connection.call(route, { path: { vault }, body }, options);
  }
}

async function opens(
  served: ServedSecret,
  secret: ZeroKnowledgeSecret,
  location: { vault: string; path: string },
): Promise<boolean> {
  try {
    await openNewest(served, secret, location);
    return true;
  } catch (error) {
    if (error instanceof ZeroKnowledgeError) return false;
    throw error;
  }
}

/** Also an envelope of an earlier release, which is bound to less. Its value is not used, so it does not matter of which secret it is. */
async function opensInAnyForm(
  served: ServedSecret,
  secret: ZeroKnowledgeSecret,
  location: { vault: string; path: string },
): Promise<boolean> {
  if (await opens(served, secret, location)) return true;
  try {
    await openUnderFirst<Binding>(served.value, secret, [location, UNBOUND]);
    return true;
  } catch (error) {
    if (error instanceof ZeroKnowledgeError) return false;
    throw error;
  }
}

function isSame(a: ZeroKnowledgeSecret, b: ZeroKnowledgeSecret): boolean {
  if ('passphrase' in a) return 'passphrase' in b && a.passphrase === b.passphrase;
  return 'key' in b && a.key.length === b.key.length && a.key.every((byte, at) => byte === b.key[at]);
}
