import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Context } from '../../kernel/request/context.ts';
import { effectiveSecrets } from '../environments/index.ts';
import { type MarkedRow, markAt, markBelow, markOf, secretsAt, secretsBelow } from '../secrets/reading/index.ts';
import type { PlannedTemplate, TypedRow } from '../secrets/references/index.ts';
import { isLive } from '../vaults/index.ts';
import { findVaultById, type VaultRow, vaultDigest } from '../vaults/storage/index.ts';
import { MAPPINGS_MAX, type WithheldReason } from './schemas.ts';
import type { PolicyRow } from './store.ts';

/** A policy with its pairs of key and path already parsed. */
export interface LoadedPolicy {
  row: PolicyRow;
  mappings: readonly (readonly [key: string, path: string])[];
}

export interface PlannedRow extends TypedRow {
  vault_id: string;
  vault: string;
}

/** One value that is delivered; of a template with all that it is made of. */
export interface Entry {
  key: string;
  row: PlannedRow;
  template?: PlannedTemplate;
}

export interface Found {
  entries: readonly Entry[];
  /** Why the entries are not all that the policy names. */
  problem: WithheldReason | null;
}

/** The vaults and secrets that policies name. Those of mappings are read together, one statement for each vault. */
export class Sources {
  readonly #ctx: Context;
  readonly #vaults = new Map<string, VaultRow | undefined>();
  readonly #secrets = new Map<string, Map<string, MarkedRow>>();
  /** What was read below the prefixes, in the order of the policies. */
  readonly #below: string[] = [];
  #isComposed = false;

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  async load(policies: readonly LoadedPolicy[]): Promise<void> {
    const { database, tenantId } = this.#ctx;
    for (const [vaultId, paths] of pathsByVault(policies)) {
      this.#vaults.set(vaultId, await findVaultById(database.read, tenantId, vaultId));
      this.#secrets.set(vaultId, await secretsAt(database.read, { tenantId, vaultId }, paths));
    }
  }

  /** Equal to `markNow` for as long as the vaults and secrets are as they were read; null with composed environments, which it does not cover. */
  mark(): string | null {
    if (this.#isComposed) return null;
    const vaults = [...this.#vaults].map(([vaultId, vault]) => [
      vaultMark(vault),
      markOf(this.#secrets.get(vaultId)?.values() ?? []),
    ]);
    return digestOf(vaults, this.#below);
  }

  secretsOf(policy: LoadedPolicy): Promise<Found> | Found {
    const { vault_id, environment_id } = policy.row;
    if (environment_id !== null) return this.#ofEnvironment(environment_id);
    const vault = this.#vaults.get(vault_id ?? '');
    if (!isLive(vault)) return { entries: [], problem: 'vault_missing' };
    if (vault.is_zero_knowledge === 1) return { entries: [], problem: 'zero_knowledge' };
    return policy.row.prefix === null ? this.#mapped(vault, policy.mappings) : this.#ofPrefix(vault, policy.row.prefix);
  }

  #mapped(vault: VaultRow, mappings: LoadedPolicy['mappings']): Found {
    const secrets = this.#secrets.get(vault.vault_id);
    const entries = mappings.flatMap(([key, path]) => {
      const row = secrets?.get(path);
      return row === undefined ? [] : [{ key, row: located(vault, row) }];
    });
    return { entries, problem: entries.length < mappings.length ? 'secret_missing' : null };
  }

  async #ofPrefix(vault: VaultRow, prefix: string): Promise<Found> {
    const { database, tenantId } = this.#ctx;
    const within = { tenantId, vaultId: vault.vault_id };
    const rows = await secretsBelow(database.read, within, prefix, MAPPINGS_MAX + 1);
    this.#below.push(markOf(rows));
    const entries = rows.map((row) => ({ key: keyBelow(prefix, row.path), row: located(vault, row) }));
    return { entries, problem: rows.length > MAPPINGS_MAX ? 'too_large' : null };
  }

  async #ofEnvironment(environmentId: number): Promise<Found> {
    this.#isComposed = true;
    const { database, tenantId } = this.#ctx;
    const effective = await effectiveSecrets(database.read, tenantId, environmentId);
    if (effective === null) return { entries: [], problem: 'environment_missing' };
    const entries = effective.map((row) => ({ key: row.key_name, row }));
    const isSealed = effective.some(({ is_zero_knowledge }) => is_zero_knowledge === 1);
    return { entries, problem: isSealed ? 'zero_knowledge' : null };
  }
}

/** The mark of the vaults and secrets as they are now, without reading the rows of secrets. The policies name no composed environment. */
export async function markNow({ database, tenantId }: Context, policies: readonly LoadedPolicy[]): Promise<string> {
  const { read } = database;
  const live = new Set<string>();
  const vaults: string[][] = [];
  for (const [vaultId, paths] of pathsByVault(policies)) {
    const vault = await findVaultById(read, tenantId, vaultId);
    if (isDelivering(vault)) live.add(vaultId);
    vaults.push([vaultMark(vault), await markAt(read, { tenantId, vaultId }, paths)]);
  }
  const below: string[] = [];
  for (const { vault_id, prefix } of policies.map(({ row }) => row)) {
    if (vault_id === null || prefix === null || !live.has(vault_id)) continue;
    below.push(await markBelow(read, { tenantId, vaultId: vault_id }, prefix, MAPPINGS_MAX + 1));
  }
  return digestOf(vaults, below);
}

function pathsByVault(policies: readonly LoadedPolicy[]): Map<string, string[]> {
  const paths = new Map<string, Set<string>>();
  for (const { row, mappings } of policies) {
    if (row.vault_id === null) continue;
    const named = paths.get(row.vault_id) ?? new Set();
    for (const [, path] of mappings) named.add(path);
    paths.set(row.vault_id, named);
  }
  return new Map([...paths].map(([vaultId, named]) => [vaultId, [...named]]));
}

function isDelivering(vault: VaultRow | undefined): vault is VaultRow {
  return isLive(vault) && vault.is_zero_knowledge === 0;
}

function vaultMark(vault: VaultRow | undefined): string {
  return vault === undefined ? '' : vaultDigest(vault);
}

function digestOf(vaults: readonly string[][], below: readonly string[]): string {
  return sha256(JSON.stringify([vaults, below])).toString('hex');
}

/** Written out, because spreading the rows of a driver takes most of the time of a fetch that finds nothing new. */
function located({ vault_id, name }: VaultRow, row: TypedRow): PlannedRow {
  const { secret_id, type, version, protection, path, environment, tags, sealed_bytes } = row;
  return { secret_id, type, version, protection, path, environment, tags, sealed_bytes, vault_id, vault: name };
}

/** The rest of the path as a key: a dot for each slash, and an underscore for what a key cannot have. */
export function keyBelow(prefix: string, path: string): string {
  const rest = path.slice(prefix.length + 1);
  // Kubernetes refuses keys that begin with two dots.
  return rest
    .replaceAll('/', '.')
    .replaceAll(/[^-._A-Za-z0-9]/g, '_')
    .replace(/^\.\./, '__');
}
