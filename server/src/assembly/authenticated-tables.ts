import { KERNEL_TABLES } from '../kernel/feature/kernel-tables.ts';
import type { AnyAuthenticatedTable } from '../kernel/integrity/authenticated-table.ts';
import { FEATURES } from './features.ts';

/** Every table with authenticated rows, for the upgrade, the rekey and the verification. */
export const AUTHENTICATED_TABLES: readonly AnyAuthenticatedTable[] = [
  ...(KERNEL_TABLES.authenticated as unknown as readonly AnyAuthenticatedTable[]),
  ...FEATURES.flatMap((feature) => feature.authenticatedTables),
];
