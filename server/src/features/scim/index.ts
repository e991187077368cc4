export { SCIM_GROUPS } from './group-store.ts';
export { SCIM_TOKENS } from './token-store.ts';
export { SCIM_USERS } from './user-store.ts';
