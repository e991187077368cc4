import type { Reader } from '../../../kernel/storage/database.ts';
import type { VaultRow } from './vault-store.ts';

export type NamedVault = Pick<VaultRow, 'vault_id' | 'name' | 'environment' | 'tags' | 'status' | 'log_reads'>;

const NAMED = ['vault_id', 'name', 'environment', 'tags', 'status', 'log_reads'] as const;

/** Deleted ones too. */
export function vaultsById(db: Reader, tenantId: string, ids: readonly string[]): Promise<NamedVault[]> {
  return db.selectFrom('vaults').select(NAMED).where('tenant_id', '=', tenantId).where('vault_id', 'in', ids).execute();
}

/** The members of a vault, and those added since all of them were last reviewed. */
export interface MemberReview {
  vault_id: string;
  name: string;
  /** The last review, or the creation of the vault if there was none. */
  since: number;
  members: number;
  added: number;
}

/** Live vaults with members, ordered by name. */
export async function memberReviews(
  db: Reader,
  tenantId: string,
  after: string,
  limit: number,
): Promise<MemberReview[]> {
  const reviews = db
    .selectFrom('vault_members')
    .select(['vault_id', (eb) => eb.fn.max('reviewed_at').as('reviewed_at')])
    .where('tenant_id', '=', tenantId)
    .groupBy('vault_id');
  const rows = await db
    .selectFrom('vaults')
    .innerJoin(reviews.as('reviews'), 'reviews.vault_id', 'vaults.vault_id')
    .innerJoin('vault_members', (join) =>
      join
        .onRef('vault_members.tenant_id', '=', 'vaults.tenant_id')
        .onRef('vault_members.vault_id', '=', 'vaults.vault_id'),
    )
    .select(['vaults.vault_id', 'vaults.name'])
    .select((eb) => [
      eb.fn.coalesce('reviews.reviewed_at', 'vaults.created_at').as('since'),
      eb.fn.countAll<number>().as('members'),
      eb.fn
        .sum<number>(
          eb
            .case()
            .when('vault_members.added_at', '>', eb.fn.coalesce('reviews.reviewed_at', 'vaults.created_at'))
            .then(1)
            .else(0)
            .end(),
        )
        .as('added'),
    ])
    .where('vaults.tenant_id', '=', tenantId)
    .where('vaults.status', '<>', 'deleted')
    .where('vaults.name', '>', after)
    .groupBy(['vaults.vault_id', 'vaults.name', 'reviews.reviewed_at', 'vaults.created_at'])
    .orderBy('vaults.name')
    .limit(limit)
    .execute();
  return rows.map(({ vault_id, name, since, members, added }) => ({
    vault_id,
    name,
    since: Number(since),
    members: Number(members),
    added: Number(added),
  }));
}
