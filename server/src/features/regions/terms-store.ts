import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { type Authenticated, SYSTEM_TENANT } from '../../kernel/storage/tables.ts';
import { type Operation, parsedValue } from './crdt/operation.ts';

export interface RegionsTermsTables {
  region_terms: Authenticated<TermRow>;
}

/** A region that was the primary one of a tenant before the present one. */
interface TermRow {
  tenant_id: string;
  served_id: string;
  region: string;
}

export const REGION_TERMS = new AuthenticatedTable<'region_terms', TermRow>('region_terms', {
  key: ['served_id', 'region'],
  covered: [],
  isListedAtUpgrade: false,
});

/** Notes which regions a register of a tenant named that another one replaces: only the last register stays in the directory. */
export async function noteTerms(tx: Tx, replaced: Operation): Promise<void> {
  const { previous } = parsedValue(replaced as Operation & { kind: 'primary' });
  for (const region of new Set([replaced.origin, previous]))
    if (region !== null) await putTerm(tx, replaced.key, region);
}

async function putTerm(tx: Tx, servedId: string, region: string): Promise<void> {
  const row = await REGION_TERMS.signed(tx, { tenant_id: SYSTEM_TENANT, served_id: servedId, region });
  const { row_mac } = row;
  await tx
    .insertInto('region_terms')
    .values(row)
    .onConflict((c) => c.columns(['tenant_id', 'served_id', 'region']).doUpdateSet({ row_mac }))
    .execute();
}

/** The regions that were the primary one of a tenant before, as far as this region saw. */
export async function formerRegions(db: Reader, servedId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('region_terms')
    .selectAll()
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('served_id', '=', servedId)
    .execute();
  return (await REGION_TERMS.authenticOf(db, rows)).map(({ region }) => region);
}
