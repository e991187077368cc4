import type { Linked } from '../../kernel/feature/links.ts';
import { isProvisioned } from '../users/index.ts';

/** What it needs of other features. */
export const accountLinkNeeds = { isProvisioned };
export type AccountLinkParts = Linked<typeof accountLinkNeeds>;
