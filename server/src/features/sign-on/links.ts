import { type Linked, port, removalOf } from '../../kernel/feature/links.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { IdentityRow } from './storage/identity-store.ts';

/** The names, at the provider, of the groups that a person has by SCIM. */
export const provisionedGroups = port<(db: Reader, identity: IdentityRow) => Promise<string[]>>('provisionedGroups');

export const signOnProviderRemoved = removalOf<[tx: Tx, tenantId: string, name: string]>('signOnProvider');

/** What it needs of other features. */
export const signOnNeeds = { provisionedGroups };
export type SignOnParts = Linked<typeof signOnNeeds>;
