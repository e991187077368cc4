/** A pattern must be able to name the longest secret path (1,024) in a vault with the longest name (63) exactly. */
export const MAX_RESOURCE_PATTERN_CHARS = 1_280;
/** Longer than a pattern, because percent-encoding in `literalResource` may triple the length of names. */
export const MAX_RESOURCE_CHARS = 4_096;
export const MAX_ACTION_HALF_CHARS = 64;
export const MAX_ACTION_CHARS = 2 * MAX_ACTION_HALF_CHARS + 1;

export const MAX_POLICY_STATEMENTS = 100;
export const MAX_STATEMENT_ACTIONS = 64;
export const MAX_STATEMENT_RESOURCES = 64;
export const MAX_POLICY_DOCUMENT_BYTES = 32 * 1_024;
export const MAX_SID_CHARS = 64;

/** For all policies of one principal together, as `matching-cost.ts` counts it: a decision takes a few milliseconds at most. */
export const MAX_PRINCIPAL_COST = 50_000;

/** For the paths of one connection, which are also its ceiling. */
export const MAX_SCOPE_COST = 10_000;

export const MAX_CONDITION_MEMBERS = 64;
export const MAX_TAG_CHARS = 256;
/** `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128` */
export const MAX_CIDR_CHARS = 49;

export const MAX_SCOPE_ENTRIES = 64;
export const MAX_VAULT_NAME_CHARS = 63;

/** The simulation endpoint accepts any action name, so the cache of a policy must not grow with the number of actions. */
export const MAX_INDEXED_ACTIONS = 128;
/** The limit over all actions: a policy with many statements caches fewer actions. */
export const MAX_INDEXED_STATEMENTS = 2_048;
