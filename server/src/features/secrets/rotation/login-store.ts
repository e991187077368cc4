import type { Reader } from '../../../kernel/storage/database.ts';
import type { SecretRow } from '../storage/tables.ts';

/** What is needed to open a secret that holds a login. */
const LOGIN = [
  's.tenant_id',
  's.secret_id',
  's.secret_no',
  's.vault_id',
  's.path',
  's.environment',
  's.protection',
  's.rotation',
  's.data_key',
  's.sealed_version',
  's.sealed',
  'v.name as vault_name',
] as const;
export type LoginRow = Pick<
  SecretRow,
  | 'tenant_id'
  | 'secret_id'
  | 'secret_no'
  | 'vault_id'
  | 'path'
  | 'environment'
  | 'protection'
  | 'rotation'
  | 'data_key'
  | 'sealed_version'
  | 'sealed'
> & { vault_name: string };

/** Secrets of the type database in live vaults that are not zero-knowledge. */
function logins(db: Reader) {
  return db
    .selectFrom('secrets as s')
    .innerJoin('vaults as v', (join) =>
      join.onRef('v.tenant_id', '=', 's.tenant_id').onRef('v.vault_id', '=', 's.vault_id'),
    )
    .select(LOGIN)
    .where('s.type', '=', 'database')
    .where('s.deleted_no', '=', 0)
    .where('v.status', '<>', 'deleted')
    .where('v.is_zero_knowledge', '=', 0);
}

/** Of one tenant, those that a backend rotates, oldest first. */
export function rotatedLogins(db: Reader, tenantId: string, afterNo: number, limit: number): Promise<LoginRow[]> {
  return logins(db)
    .where('s.tenant_id', '=', tenantId)
    .where('s.rotation', 'like', '%"backend"%')
    .where('s.secret_no', '>', afterNo)
    .orderBy('s.secret_no')
    .limit(limit)
    .execute();
}

/** Of every tenant. */
export function everyLogin(
  db: Reader,
  after: Pick<LoginRow, 'tenant_id' | 'secret_id'>,
  limit: number,
): Promise<LoginRow[]> {
  return logins(db)
    .where((eb) =>
      eb.or([
        eb('s.tenant_id', '>', after.tenant_id),
        eb.and([eb('s.tenant_id', '=', after.tenant_id), eb('s.secret_id', '>', after.secret_id)]),
      ]),
    )
    .orderBy('s.tenant_id')
    .orderBy('s.secret_id')
    .limit(limit)
    .execute();
}
