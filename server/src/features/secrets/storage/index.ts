export { type AssessedRow, assessedSecrets } from './assessed-store.ts';
export { type FoundByPath, type PathMatch, type PathPosition, pathSearch } from './path-search-store.ts';
export { SECRETS, type SummaryRow } from './tables.ts';
export { fortressVaults, idsByPath, type LocatedRow, locateSecrets } from './tenant-wide-store.ts';
export { secretsById, type WatchedRow, watchedSecretAt, watchedSecrets } from './watched-store.ts';
