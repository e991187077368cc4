import type { Context } from '../../kernel/request/context.ts';
import { findConnection } from '../app-connections/index.ts';
import { connectionResources } from '../app-connections/storage/index.ts';
import { attributesOf, secretResource } from '../secrets/index.ts';
import type { AssessedRow } from '../secrets/storage/index.ts';
import type { VaultRow } from '../vaults/storage/index.ts';
import type { Step } from './schemas.ts';

type Vault = Pick<VaultRow, 'name' | 'environment'>;

/** Whether the caller may know the secret at the end of a path. */
export function mayKnowSecret(ctx: Context, vault: Vault, row: AssessedRow): boolean {
  return ctx.access.may('secrets:read_metadata', secretResource(vault.name, row.path), attributesOf(row));
}

/** Whether the caller may know every other link. */
export async function mayKnowLinks(ctx: Context, vault: Vault, steps: readonly Step[]): Promise<boolean> {
  const connection = steps.find(({ kind, type }) => kind === 'grant' && type === 'connection');
  const names = connection === undefined ? [] : await namesOfConnection(ctx, connection.id);
  return steps.every((step) => mayKnowLink(ctx, vault, step, names));
}

/** Whether the caller may know one link. `connection` has all names that policies may use for the connection of the path. */
export function mayKnowLink(
  ctx: Context,
  vault: Vault,
  { kind, type, id, name }: Pick<Step, 'kind' | 'type' | 'id' | 'name'>,
  connection: readonly string[],
): boolean {
  const { access } = ctx;
  switch (`${kind} ${type}`) {
    case 'principal user':
      return access.may('users:read', `user/${id}`);
    case 'credential token':
      return access.may('tokens:read', `token/${id}`);
    case 'credential federation':
      return access.mayByAny(['federations:read'], connection);
    case 'credential workload_method':
      return access.may('workload_methods:read', `workload-method/${id}`);
    case 'grant membership':
      return access.may('members:list', `vault/${vault.name}`, { environment: vault.environment });
    case 'grant connection':
      return access.mayByAny(['app_connections:read'], connection);
    case 'grant group':
      return access.mayByAny(['groups:read'], [`group/${id}`, `group/${name}`]);
    case 'grant policy':
      return access.may('policies:read', `policy/${id}`);
    default:
      return true;
  }
}

/** All names that policies may use for it; none if it was removed, so that nobody may know it. */
async function namesOfConnection(ctx: Context, clientId: string): Promise<string[]> {
  const row = await findConnection(ctx.database.read, ctx.tenantId, clientId);
  return row === undefined ? [] : connectionResources(row);
}
