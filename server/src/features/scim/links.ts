import type { Linked } from '../../kernel/feature/links.ts';
import { revokeTokensOf } from '../users/index.ts';

/** What it needs of other features. */
export const scimNeeds = { revokeTokensOf };
export type ScimParts = Linked<typeof scimNeeds>;
