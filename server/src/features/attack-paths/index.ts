export { CREDENTIAL_TYPES, type Entry, loadEntries } from './credentials.ts';
export { type AttackPath, LINK_ACTIONS } from './schemas.ts';
export { read as readPath } from './service.ts';
export { mayKnowLink, mayKnowSecret } from './visibility.ts';
