import type { Random } from '../support/random.ts';
import type { Operation } from './document.ts';

/** What one answer told: ids, names and other short things, by field, together with what the request named. */
export type Sighting = Readonly<Record<string, string | number>>;

const SIGHTINGS_MAX = 600;
/** The likeliest to be there still. */
const NEWEST = 12;
const ITEMS_LEARNT = 4;
const TEXT_MAX = 8192;

/** Fields that take what another field told, by either's name. A path's own parameters need no line. */
const SOURCES: Record<string, readonly string[]> = {
  user: ['users.id', 'email'],
  group: ['groups.id', 'groups.name'],
  policy: ['policies.name'],
  vault: ['vaults.name', 'vault'],
  vaults: ['vaults.name', 'vault'],
  to_vault: ['vaults.name', 'vault'],
  vault_ids: ['vaults.id'],
  secret: ['path'],
  to_path: ['path'],
  prefix: ['path'],
  id: ['secrets.id', 'secret_id'],
  app_connection: ['client_id', 'app-connections.id'],
  app_connection_id: ['app-connections.id'],
  connection: ['client_id', 'app-connections.id'],
  method_id: ['methods.id'],
  parent_id: ['environments.id'],
  csr_pem: ['certificate_signing_request'],
  external_ca_pem: ['certificate'],
  tenant: ['tenants.name'],
  actor: ['users.id'],
  cursor: ['next_cursor'],
  from_seq: ['seq'],
  to_version: ['version'],
  expected_version: ['version'],
  current_password: ['password'],
};

/** What a path's parameter can be filled with: what was told in its collection, or under its own name. */
export function sourcesOf(path: string, name: string): readonly string[] {
  const collection = collectionBefore(path, `{${name}}`);
  const own = name === 'name' ? [`${collection}.name`] : sourcesOfField(name);
  return name.endsWith('_id') ? [`${collection}.id`, ...own] : own;
}

function collectionBefore(path: string, parameter: string): string {
  return (
    path
      .slice(0, path.indexOf(`/${parameter}`))
      .split('/')
      .at(-1) ?? ''
  );
}

/** Where an operation's answers belong: `vaults` for `/v1/vaults` and for `/v1/vaults/{vault}`. */
function collectionOf({ path }: Operation): string {
  return path.split('/').findLast((part) => part !== '' && !part.startsWith('{')) ?? '';
}

/** Everything seen of one tenant, the newest last, within bounds. */
export class Pool {
  readonly #random: Random;
  readonly #protected: ReadonlySet<string>;
  #seen: Sighting[] = [];

  constructor(random: Random, isProtected: ReadonlySet<string>) {
    this.#random = random;
    this.#protected = isProtected;
  }

  /** What an accepted request sent and what it was told, as one: a secret's path is worth little without its vault. */
  learn(operation: Operation, params: Record<string, string>, body: unknown, answer: unknown): void {
    const context: Record<string, string | number> = {};
    for (const [name, text] of Object.entries(params)) {
      if (name === 'name') context[`${collectionBefore(operation.path, '{name}')}.name`] = text;
      else context[name] = text;
    }
    const told = { ...short(body), ...short(answer) };
    this.#add(operation, context, told);
    // The log also names what was requested and never existed.
    if (operation.noun === 'audit') return;
    for (const list of Object.values(Object(answer)).filter((one) => Array.isArray(one))) {
      for (const item of list.slice(0, ITEMS_LEARNT)) this.#add(operation, context, short(item));
    }
  }

  #add(operation: Operation, context: Sighting, told: Record<string, string | number>): void {
    const collection = collectionOf(operation);
    const all: Record<string, string | number> = { ...context, ...told };
    if (told['id'] !== undefined) all[`${collection}.id`] = told['id'];
    if (told['name'] !== undefined) all[`${collection}.name`] = told['name'];
    for (const [field, value] of Object.entries(all)) {
      if (!this.#protected.has(String(value))) continue;
      // The caller must stay the same: nothing may be done to them, nor to their tenant.
      if (/(^|\.)(id|name|email|client_id)$/.test(field)) return;
      delete all[field];
    }
    this.#seen.push(all);
    if (this.#seen.length > SIGHTINGS_MAX) this.#seen = this.#seen.slice(-Math.floor(SIGHTINGS_MAX * 0.75));
  }

  /** What somebody knows from the start. */
  know(sighting: Sighting): void {
    this.#seen.push(sighting);
  }

  /** It was there once. */
  remove(sighting: Sighting): void {
    this.#seen = this.#seen.filter((one) => one !== sighting);
  }

  /** One sighting in which each need can be met; the newest are the likeliest to be there still. */
  find(needs: readonly (readonly string[])[]): Sighting | null {
    const newest = this.#fitting(needs, NEWEST);
    if (newest.length === 0) return null;
    return this.#random.pick(this.#random.chance(0.7) ? newest : this.#fitting(needs, SIGHTINGS_MAX));
  }

  /** The newest of them, the very newest last. */
  #fitting(needs: readonly (readonly string[])[], atMost: number): Sighting[] {
    const fits: Sighting[] = [];
    for (let at = this.#seen.length - 1; at >= 0 && fits.length < atMost; at--) {
      const one = this.#seen[at] as Sighting;
      if (needs.every((sources) => sources.some((name) => named(one, name) !== undefined))) fits.push(one);
    }
    return fits.reverse();
  }

  /** Something that a field by this name could mean, from any sighting. */
  any(field: string): string | number | null {
    const sources = sourcesOfField(field);
    const found = this.find([sources]);
    return found === null ? null : valueIn(found, sources);
  }
}

/** Fields are also called what every object has, such as `constructor`: that is not meant. */
export function named<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

export function valueIn(sighting: Sighting, sources: readonly string[]): string | number | null {
  for (const name of sources) {
    const value = named(sighting, name);
    if (value !== undefined) return value;
  }
  return null;
}

export function sourcesOfField(field: string): readonly string[] {
  return [...(named(SOURCES, field) ?? []), field];
}

function short(value: unknown): Record<string, string | number> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  const remaining = Object.entries(value).filter(([, inner]) => {
    return typeof inner === 'number' || (typeof inner === 'string' && inner.length <= TEXT_MAX);
  });
  return Object.fromEntries(remaining) as Record<string, string | number>;
}
