import { Audit } from './audit.ts';
import type { Auth } from './auth.ts';
import { type CallOptions, Connection, type ConnectionOptions } from './connection.ts';
import { Environments } from './environments.ts';
import { CofferError } from './errors.ts';
import { type PagedRoute, pages } from './pages.ts';
import { type CacheOptions, ReadCache } from './read-cache.ts';
import type { AnyInput, Route, RouteInput, RouteOutput } from './routes.ts';
import type { Secret } from './secret.ts';
import { Secrets } from './secrets.ts';
import type { PassphraseChange, PassphraseChangeOptions, VaultPassphrases } from './vault-passphrases.ts';
import { Vaults } from './vaults.ts';
import type { SecretLocation, VersionStore } from './version-store.ts';
import type { ZeroKnowledgeSecret } from './zero-knowledge.ts';

export interface CofferOptions extends Omit<ConnectionOptions, 'url' | 'auth'> {
  /** COFFER_URL unless given, where there is an environment. */
  url?: string;
  /** A token in COFFER_TOKEN unless given. */
  auth?: Auth;
  /** Off unless given. */
  cache?: CacheOptions;
  /** Stores the newest versions of zero-knowledge secrets; in memory unless given. */
  zeroKnowledgeVersions?: VersionStore;
}

/** A client of one Coffer service. */
export class Coffer {
  readonly secrets: Secrets;
  readonly vaults: Vaults;
  readonly environments: Environments;
  readonly audit: Audit;
  readonly #connection: Connection;
  #passphrases: VaultPassphrases | null = null;
  #zeroKnowledgeVersions: VersionStore | null;

  constructor({ cache, zeroKnowledgeVersions, url, auth, ...options }: CofferOptions = {}) {
    const given = { url: url ?? fromEnvironment('COFFER_URL', 'url'), auth: auth ?? tokenFromEnvironment() };
    const connection = new Connection({ ...options, ...given });
    const byCertificate = 'certificate' in given.auth ? given.auth.certificate.clientId : null;
    this.secrets = new Secrets(
      connection,
      cache === undefined ? null : new ReadCache<Secret>(cache, ({ value }) => value.length),
      byCertificate,
    );
    this.vaults = new Vaults(connection);
    this.environments = new Environments(connection);
    this.audit = new Audit(connection);
    this.#connection = connection;
    this.#zeroKnowledgeVersions = zeroKnowledgeVersions ?? null;
  }

  /** Calls any endpoint, with the types of the API reference. A change is repeated only if it has an `idempotencyKey`. */
  call<R extends Route>(route: R, input: RouteInput<R>, options: CallOptions = {}): Promise<RouteOutput<R>> {
    return this.#connection.call(route, input, options);
  }

  /** The answer as it came, of a route that does not answer JSON. */
  async text(route: Route, input: AnyInput = {}, options: CallOptions = {}): Promise<string> {
    return (await this.#connection.text(route, input, options)).text;
  }

  /** Everything that a list has, page by page as it is consumed. */
  pages<R extends PagedRoute>(
    route: R,
    input: RouteInput<R>,
    options: CallOptions = {},
  ): AsyncGenerator<RouteOutput<R>> {
    return pages(this.#connection, route, input as AnyInput, options);
  }

  /** Encrypts a text under a key of the service; the envelope can be stored anywhere. */
  async encrypt(key: string, plaintext: string, options: CallOptions & { aad?: string } = {}): Promise<string> {
    const { aad, ...call } = options;
    const body = { plaintext, ...(aad !== undefined && { aad }) };
    const route = 'POST /eaas/keys/{name}/encrypt';
    return (await this.call(route, { path: { name: key }, body }, { ...call, isRead: true })).envelope;
  }

  async decrypt(key: string, envelope: string, options: CallOptions & { aad?: string } = {}): Promise<string> {
    const { aad, ...call } = options;
    const body = { envelope, ...(aad !== undefined && { aad }) };
    const route = 'POST /eaas/keys/{name}/decrypt';
    return (await this.call(route, { path: { name: key }, body }, { ...call, isRead: true })).plaintext;
  }

  /**
   * Seals a value here and stores it in a zero-knowledge vault. Neither the value nor the passphrase leaves this process. The first value of a vault
   * decides its passphrase; another one is refused from then on.
   */
  // biome-ignore lint/complexity/useMaxParams: programs of others call it
  async seal(
    vault: string,
    path: string,
    value: string,
    secret: ZeroKnowledgeSecret,
    /** `newest`: the version that is there, 0 if there is none. Without it the secret is read to know. */
    { newest: known, ...options }: CallOptions & { newest?: number } = {},
  ) {
    const client = await this.#zeroKnowledge(secret);
    const newest = known ?? (await this.#newestVersion({ vault, path }, options));
    const version = newest + 1;
    const envelope = await client.seal(value, { vault, path, version });
    await (await this.#vaultPassphrases()).require(vault, secret, options);
    const stored = await this.secrets.set(vault, path, envelope, { ...options, expectedVersion: newest });
    await client.written({ vault, path, version });
    return stored;
  }

  /** Reads a value of a zero-knowledge vault and opens it here. */
  async open(vault: string, path: string, secret: ZeroKnowledgeSecret, options: CallOptions = {}): Promise<string> {
    const client = await this.#zeroKnowledge(secret);
    const served = await this.secrets.get(vault, path, options);
    const { value } = await client.open({ value: served.value, version: served.version }, { vault, path });
    return value;
  }

  /** Seals the newest values of a zero-knowledge vault under another passphrase or key. If it is interrupted, repeat it: it continues. */
  async changePassphrase(
    vault: string,
    secrets: { from: ZeroKnowledgeSecret; to: ZeroKnowledgeSecret },
    options: PassphraseChangeOptions = {},
  ): Promise<PassphraseChange> {
    return (await this.#vaultPassphrases()).change(vault, secrets, options);
  }

  async #newestVersion({ vault, path }: SecretLocation, options: CallOptions): Promise<number> {
    try {
      return (await this.secrets.get(vault, path, options)).version;
    } catch (error) {
      if ((error as { code?: string }).code === 'SECRET_NOT_FOUND') return 0;
      throw error;
    }
  }

  async #vaultPassphrases(): Promise<VaultPassphrases> {
    const { VaultPassphrases } = await import('./vault-passphrases.ts');
    this.#passphrases ??= new VaultPassphrases(this.#connection, this.secrets);
    return this.#passphrases;
  }

  /** Loaded when it is first used: most programs have no zero-knowledge vault. */
  async #zeroKnowledge(secret: ZeroKnowledgeSecret) {
    const { ZeroKnowledgeClient } = await import('./zero-knowledge-client.ts');
    const { InProcessVersionStore } = await import('./version-store.ts');
    this.#zeroKnowledgeVersions ??= new InProcessVersionStore();
    return new ZeroKnowledgeClient(secret, { versions: this.#zeroKnowledgeVersions });
  }
}

function fromEnvironment(name: string, option: string): string {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  const value = process?.env?.[name];
  if (value === undefined || value === '') {
    throw new CofferError(`Give ${option}, or set ${name}.`, { code: 'INVALID_ARGUMENT' });
  }
  return value;
}

function tokenFromEnvironment(): Auth {
  return { token: fromEnvironment('COFFER_TOKEN', 'auth') };
}
