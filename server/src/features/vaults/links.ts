import { type Linked, port, removalOf } from '../../kernel/feature/links.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { secondFactorSince } from '../users/index.ts';
import type { SecretIds } from './service.ts';
import type { VaultRow } from './storage/vault-store.ts';

/** The secrets in a vault that the caller may see, at most `SECRET_IDS_MAX` of each kind. */
export const secretIdsInVault = port<(ctx: Context, vault: VaultRow) => Promise<SecretIds>>('secretIdsInVault');

/** Names of attached policies that affect this vault or its secrets. */
export const policiesTouchingVault =
  port<(db: Reader, tenantId: string, vault: string) => Promise<string[]>>('policiesTouchingVault');

/** Destroys what is in a vault, but at most `limit` secrets, and returns how many secrets; 0 when none is left. */
export const vaultContentsRemoved = removalOf<[tx: Tx, tenantId: string, vaultId: string, limit: number], number>(
  'vaultContents',
);

/** What it needs of other features. */
export const vaultNeeds = { policiesTouchingVault, secondFactorSince, secretIdsInVault };
export type VaultParts = Linked<typeof vaultNeeds>;
