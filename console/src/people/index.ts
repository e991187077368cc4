export {
  type Directory,
  type Group,
  loadActorNames,
  loadConnections,
  loadGroups,
  loadUsers,
  type PrincipalKind,
  type User,
  useDirectory,
} from './data.ts';
export { roleTexts } from './role-texts.ts';
