export { type Grant, VaultGrants, type VaultRole, VaultRoleChoice, vaultsToAddTo } from './edit.tsx';
export { membersTexts } from './texts.ts';
