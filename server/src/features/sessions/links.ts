import { type Linked, port } from '../../kernel/feature/links.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { hasSignOnIdentity } from '../users/index.ts';

/** Whether people of the tenant can log in only with an OpenID provider, except users who are exempt. */
export const requiresSignOn = port<(db: Reader, tenantId: string) => Promise<boolean>>('requiresSignOn');

/** What it needs of other features. */
export const sessionNeeds = { hasSignOnIdentity, requiresSignOn };
export type SessionParts = Linked<typeof sessionNeeds>;
