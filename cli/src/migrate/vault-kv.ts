import { CommandError } from '../failure.ts';
import { env } from '../settings.ts';
import { isObject, textOf } from './exact-json.ts';
import { inParallel } from './parallel.ts';
import type { Reading, Skipped, SourceEntry, SourceVersion } from './source.ts';
import { refusedBySource, type SourceApi, sourceApi } from './source-api.ts';

export interface VaultKvOptions {
  /** Where the KV engine is mounted. */
  mount: string;
  /** Only this folder, or everything. */
  folder: string;
  versions: 'all' | 'newest';
  /** Its version, where the token may not ask. */
  kv: '1' | '2' | null;
}

const AT_ONCE = 8;
const DEPTH_MAX = 64;

/** The settings that the command lines of both know. OpenBao's also reads those of Vault. */
export const PRODUCTS = {
  vault: { name: 'Vault', prefixes: ['VAULT'] },
  openbao: { name: 'OpenBao', prefixes: ['BAO', 'VAULT'] },
} as const;

/** Reads a KV engine by its API, with all versions that can be read. */
export async function readVaultKv(product: keyof typeof PRODUCTS, options: VaultKvOptions): Promise<Reading> {
  const { name, prefixes } = PRODUCTS[product];
  const setting = (suffix: string) => prefixes.map((prefix) => env(`${prefix}_${suffix}`)).find(Boolean);
  const [address, token, namespace] = [setting('ADDR'), setting('TOKEN'), setting('NAMESPACE')];
  if (address === undefined || token === undefined) {
    const missing = `${prefixes[0]}_${address === undefined ? 'ADDR' : 'TOKEN'}`;
    throw new CommandError(
      `Set ${missing} in the environment: it says ${address === undefined ? `where ${name} is` : 'who you are there'}.`,
    );
  }
  const api = sourceApi({
    name,
    address,
    addressVariable: `${prefixes[0]}_ADDR`,
    caFile: setting('CACERT'),
    headers: {
      'x-vault-token': token,
      'x-vault-request': 'true',
      ...(namespace && { 'x-vault-namespace': namespace }),
    },
  });
  const engine = new Engine(name, api, options);
  return engine.read();
}

const names = (path: string) => path.split('/').filter((name) => name !== '');
const encoded = (segments: readonly string[]) => segments.map(encodeURIComponent).join('/');

class Engine {
  readonly #name: string;
  readonly #api: SourceApi;
  readonly #options: VaultKvOptions;
  readonly #mount: string[];
  readonly #entries: SourceEntry[] = [];
  readonly #skipped: Skipped[] = [];

  constructor(name: string, api: SourceApi, options: VaultKvOptions) {
    this.#name = name;
    this.#api = api;
    this.#options = options;
    this.#mount = names(options.mount);
  }

  async read(): Promise<Reading> {
    const isSecond = (this.#options.kv ?? (await this.#kvVersion())) === '2';
    const found = await this.#walk(isSecond);
    await inParallel(found, AT_ONCE, (path) => (isSecond ? this.#readSecond(path) : this.#readFirst(path)));
    return { entries: this.#entries.toSorted((a, b) => (a.origin < b.origin ? -1 : 1)), skipped: this.#skipped };
  }

  async #kvVersion(): Promise<'1' | '2'> {
    const { mount } = this.#options;
    const { status, body } = await this.#api(`/v1/sys/internal/ui/mounts/${encoded(this.#mount)}`);
    const data = isObject(body) && isObject(body['data']) ? body['data'] : null;
    if (status !== 200 || data === null)
      throw refusedBySource(
        this.#name,
        status,
        `the question what ${mount} is`,
        'Check --mount and the token; if it may not know, give --kv 1 or --kv 2.',
      );
    if (data['type'] !== 'kv' && data['type'] !== 'generic')
      throw new CommandError(`${mount} is not a KV engine of ${this.#name}. Give the mount of one with --mount.`);
    return isObject(data['options']) && data['options']['version'] === '2' ? '2' : '1';
  }

  /** The paths of all entries, folder by folder. */
  async #walk(isSecond: boolean): Promise<string[][]> {
    const found: string[][] = [];
    let folders = [names(this.#options.folder)];
    for (let depth = 0; folders.length > 0; depth++) {
      if (depth > DEPTH_MAX)
        throw new CommandError(`Folders are nested more than ${DEPTH_MAX} deep. Give one with --path.`);
      const next: string[][] = [];
      await inParallel(folders, AT_ONCE, async (folder) => {
        const keys = await this.#list(folder, isSecond, depth === 0);
        for (const key of keys) (key.endsWith('/') ? next : found).push([...folder, key.replace(/\/$/, '')]);
      });
      folders = next;
    }
    return found;
  }

  async #list(folder: readonly string[], isSecond: boolean, isFirst: boolean): Promise<string[]> {
    const below = encoded([...this.#mount, ...(isSecond ? ['metadata'] : []), ...folder]);
    const { status, body } = await this.#api(`/v1/${below}/?list=true`);
    if (status === 404) return [];
    const keys = isObject(body) && isObject(body['data']) ? body['data']['keys'] : null;
    if (status === 200 && Array.isArray(keys)) return keys.filter((key) => typeof key === 'string' && key !== '');
    if (isFirst || status !== 403)
      throw refusedBySource(this.#name, status, 'the list of entries', 'Check the token, --mount and --path.');
    this.#skipped.push({ from: `${this.#origin(folder)}/`, reason: 'you may not list this folder' });
    return [];
  }

  #origin(path: readonly string[]): string {
    return [...this.#mount, ...path].join('/');
  }

  /** KV version 1 has no history. */
  async #readFirst(path: readonly string[]): Promise<void> {
    const { status, body } = await this.#api(`/v1/${encoded([...this.#mount, ...path])}`);
    const keys = isObject(body) ? body['data'] : null;
    if (status !== 200 || !isObject(keys)) return this.#leave(path, reasonOf(status));
    this.#take(path, [{ label: 'the only version', data: { keys } }], {});
  }

  async #readSecond(path: readonly string[]): Promise<void> {
    const { status, body } = await this.#api(`/v1/${encoded([...this.#mount, 'metadata', ...path])}`);
    const data = isObject(body) ? body['data'] : null;
    const versions = isObject(data) && isObject(data['versions']) ? data['versions'] : null;
    if (status !== 200 || versions === null) {
      if (status !== 403) return this.#leave(path, reasonOf(status));
      // Many tokens may read values and not what is around them.
      return this.#readNewestAlone(path);
    }
    const numbers = Object.keys(versions)
      .map(Number)
      .toSorted((a, b) => a - b);
    const newest = numbers.at(-1);
    if (newest === undefined) return this.#leave(path, 'it has no version');
    const wanted = this.#options.versions === 'all' ? numbers : [newest];
    const readable: SourceVersion[] = [];
    for (const number of wanted) {
      const version = await this.#readVersion(path, number);
      if ('keys' in version) readable.push({ label: `version ${number}`, data: version });
      else if (number === newest) return this.#leave(path, `its newest version ${version.reason}`);
      else this.#skipped.push({ from: `${this.#origin(path)}, version ${number}`, reason: `it ${version.reason}` });
    }
    const first = numbers[0] ?? 1;
    if (this.#options.versions === 'all' && first > 1)
      this.#skipped.push({
        from: `${this.#origin(path)}, versions 1 to ${first - 1}`,
        reason: `${this.#name} no longer has them`,
      });
    this.#take(path, readable, metadataOf(isObject(data) ? data['custom_metadata'] : null));
  }

  async #readNewestAlone(path: readonly string[]): Promise<void> {
    const version = await this.#readVersion(path, null);
    if (!('keys' in version)) return this.#leave(path, `its newest version ${version.reason}`);
    this.#skipped.push({ from: `${this.#origin(path)}, older versions`, reason: 'you may not read which there are' });
    this.#take(path, [{ label: 'the newest version', data: { keys: version.keys } }], version.metadata);
  }

  /** The data of one version, or why there is none. */
  async #readVersion(
    path: readonly string[],
    number: number | null,
  ): Promise<{ keys: object; metadata: Record<string, string> } | { reason: string }> {
    const query = number === null ? '' : `?version=${number}`;
    const { status, body } = await this.#api(`/v1/${encoded([...this.#mount, 'data', ...path])}${query}`);
    const data = isObject(body) ? body['data'] : null;
    const about = isObject(data) && isObject(data['metadata']) ? data['metadata'] : {};
    if (status === 200 && isObject(data) && isObject(data['data']))
      return { keys: data['data'], metadata: metadataOf(about['custom_metadata']) };
    if (about['destroyed'] === true) return { reason: 'is destroyed' };
    return { reason: status === 404 ? 'is deleted' : `cannot be read (${status})` };
  }

  #take(path: readonly string[], versions: SourceVersion[], metadata: Record<string, string>): void {
    const newest = versions.at(-1)?.data;
    if (newest !== undefined && 'keys' in newest && Object.keys(newest.keys).length === 0)
      this.#leave(path, 'its newest version has no keys');
    else this.#entries.push({ origin: this.#origin(path), names: [...path], versions, metadata, tags: [] });
  }

  #leave(path: readonly string[], reason: string): void {
    this.#skipped.push({ from: this.#origin(path), reason });
  }
}

function reasonOf(status: number): string {
  return status === 403 ? 'you may not read it' : `it cannot be read (${status})`;
}

function metadataOf(custom: unknown): Record<string, string> {
  return isObject(custom) ? Object.fromEntries(Object.entries(custom).map(([key, value]) => [key, textOf(value)])) : {};
}
