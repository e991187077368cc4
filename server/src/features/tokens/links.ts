import { type Linked, port } from '../../kernel/feature/links.ts';
import type { OpaqueTokenResolver, TokenResolver } from './bearer.ts';

/** One for each kind of token that machines have. */
export const machineTokenResolvers = port<() => readonly TokenResolver[]>('machineTokenResolvers');

/** For tokens that are no JWT: whatever starts with the prefix belongs to the feature that issues them. */
export const opaqueTokenResolver = port<() => OpaqueTokenResolver>('opaqueTokenResolver');

/** What it needs of other features. */
export const tokenNeeds = { machineTokenResolvers, opaqueTokenResolver };
export type TokenParts = Linked<typeof tokenNeeds>;
