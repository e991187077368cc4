import { AuthenticatedTable, type RowFilter } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';

export interface ScimTokenTables {
  scim_tokens: Authenticated<TokenRow>;
}

export interface TokenRow {
  tenant_id: string;
  token_id: string;
  /** The name of the provider. */
  provider: string;
  /** The issuer of the provider when the token was made. If the provider has another one since, the token ends. */
  issuer_hash: Uint8Array;
  description: string;
  token_hash: Uint8Array;
  /** The previous token, while both are accepted. */
  former_token_hash: Uint8Array | null;
  former_token_until: number | null;
  expires_at: number;
  created_by: string;
  created_at: number;
}

export const SCIM_TOKENS = new AuthenticatedTable<'scim_tokens', TokenRow>('scim_tokens', {
  key: ['token_id'],
  covered: [
    'provider',
    'issuer_hash',
    'description',
    'token_hash',
    'former_token_hash',
    'former_token_until',
    'expires_at',
    'created_by',
    'created_at',
  ],
});

type TokenKey = Pick<TokenRow, 'tenant_id' | 'provider' | 'token_id'>;

function hasKey({ tenant_id, provider, token_id }: TokenKey): RowFilter<'scim_tokens'> {
  return (eb) => eb.and({ tenant_id, provider, token_id });
}

export async function insertToken(tx: Tx, row: TokenRow): Promise<void> {
  await SCIM_TOKENS.insert(tx, row);
}

/** Oldest first. There are few. */
export async function tokensOf(db: Reader, tenantId: string, provider: string): Promise<TokenRow[]> {
  const rows = await db
    .selectFrom('scim_tokens')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('provider', '=', provider)
    .orderBy('token_id')
    .execute();
  return SCIM_TOKENS.checkedAll(db, rows);
}

/** Searches all tenants for this token, also if it was replaced. Forged rows are ignored: they could only let somebody in. */
export async function findByToken(db: Reader, hash: Uint8Array): Promise<TokenRow | undefined> {
  const rows = await db
    .selectFrom('scim_tokens')
    .selectAll()
    .where((eb) => eb.or([eb('token_hash', '=', hash), eb('former_token_hash', '=', hash)]))
    .execute();
  const authentic = await SCIM_TOKENS.authenticOf(db, rows);
  return authentic.length === 1 ? authentic[0] : undefined;
}

export async function lockToken(tx: Tx, key: TokenKey): Promise<TokenRow | undefined> {
  const [row] = await SCIM_TOKENS.lockedWhere(tx, hasKey(key));
  return row;
}

export function replaceToken(
  tx: Tx,
  row: TokenRow,
  change: Pick<TokenRow, 'token_hash' | 'former_token_hash' | 'former_token_until'>,
): Promise<TokenRow> {
  return SCIM_TOKENS.update(tx, row, change);
}

export async function deleteToken(tx: Tx, key: TokenKey): Promise<void> {
  await SCIM_TOKENS.deleteWhere(tx, hasKey(key));
}

export async function deleteTokensOf(tx: Tx, tenantId: string, provider: string): Promise<void> {
  await SCIM_TOKENS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, provider }));
}
