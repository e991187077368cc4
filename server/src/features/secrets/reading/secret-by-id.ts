import type { ResourceAttributes } from '../../../kernel/auth/call.ts';
import type { Context } from '../../../kernel/request/context.ts';
import type { Reader } from '../../../kernel/storage/database.ts';
import { parseSecretPath } from '../../../kernel/wire/secret-path.ts';
import { isLive, vaultAttributes } from '../../vaults/index.ts';
import { findVault, findVaultById } from '../../vaults/storage/index.ts';
import { attributesOf, NO_VAULT } from '../authorization.ts';
import { findSecret, findSecretById, findSecretByNo } from '../storage/secret-store.ts';

const RESOURCE = /^vault\/([A-Za-z0-9][A-Za-z0-9._-]{0,62})(?:\/(.+))?$/;
const NOTHING_KNOWN: ResourceAttributes = {};

/** The attributes of a vault or secret that policies decide on, by its resource name, as far as the caller may see them. */
export async function visibleAttributes(ctx: Context, resource: string): Promise<ResourceAttributes> {
  const [, name, path] = RESOURCE.exec(resource) ?? [];
  if (name === undefined || (path !== undefined && !parseSecretPath(path).ok)) return NOTHING_KNOWN;
  const { read } = ctx.database;
  const vault = await findVault(read, ctx.tenantId, name);
  if (!isLive(vault)) return NOTHING_KNOWN;
  const ofVault = vaultAttributes(vault);
  const seesVault = ctx.access.may('vaults:read', `vault/${name}`, ofVault);
  if (path === undefined) return seesVault ? ofVault : NOTHING_KNOWN;
  const secret = await findSecret(read, ctx.tenantId, vault.vault_id, path);
  // A request for a missing secret is decided on with the vault's environment.
  if (secret === undefined) return seesVault ? { environment: vault.environment } : NOTHING_KNOWN;
  const attributes = attributesOf(secret);
  const seesSecret = ['secrets:read', 'secrets:read_metadata'].some((action) =>
    ctx.access.may(action, resource, attributes),
  );
  return seesSecret ? attributes : NOTHING_KNOWN;
}

const NUMBER_FORM = /^[1-9]\d{0,14}$/;

/** The location of a secret, or its location when it was deleted. */
export interface SecretById extends ResourceAttributes {
  secretId: string;
  vault: string;
  path: string;
  isDeleted: boolean;
}

/** Finds a secret by either of its ids, anywhere in the tenant. It does not check the caller's permission. */
export async function secretById(db: Reader, tenantId: string, text: string): Promise<SecretById | undefined> {
  const row = NUMBER_FORM.test(text)
    ? await findSecretByNo(db, tenantId, Number(text))
    : await findSecretById(db, tenantId, text);
  // The query also runs if there is no secret, so that response time does not reveal whether there is one.
  const vault = await findVaultById(db, tenantId, row?.vault_id ?? NO_VAULT);
  if (row === undefined || vault === undefined) return undefined;
  const isDeleted = row.deleted_no !== 0 || vault.status === 'deleted';
  return { secretId: row.secret_id, vault: vault.name, path: row.path, isDeleted, ...attributesOf(row) };
}
