export { bulkDecrypt, type DecidedRow, type Opened } from './bulk-decrypt.ts';
export { decryptSample } from './decrypt-sample.ts';
export type { BulkRow } from './list-store.ts';
export { visibleSecrets } from './listing.ts';
export { type MarkedRow, markAt, markBelow, markOf, secretsAt, secretsBelow } from './located-store.ts';
export { type Scanned, scannedPage } from './scanned-page.ts';
export { secretById, visibleAttributes } from './secret-by-id.ts';
export type { SecretReader } from './secret-reader.ts';
