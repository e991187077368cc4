import type { MacKey } from '../crypto/mac-key.ts';
import type { Tx } from '../storage/database.ts';
import type { AnyAuthenticatedTable } from './authenticated-table.ts';
import { RowFindings } from './row-verification.ts';

/**
 * Authenticates the rows of a tenant under a new key. A row that was not authentic gets no new MAC: it stays refused and is reported. The content
 * of rows does not change, so the audit log, whose digests have no key, needs no entry for them.
 */
export async function renewMacs(
  tx: Tx,
  tables: readonly AnyAuthenticatedTable[],
  tenantId: string,
  { from, to, onRows }: { from: MacKey | undefined; to: MacKey; onRows?(checked: number): void },
): Promise<RowFindings> {
  const findings = new RowFindings();
  for (const table of tables) {
    for await (const rows of table.walk(tx, tenantId)) {
      const renewed: { row: (typeof rows)[number]; mac: Buffer }[] = [];
      for (const row of rows) {
        findings.checked++;
        const isAuthentic = from !== undefined && table.isAuthenticWith(from, row);
        if (isAuthentic) renewed.push({ row, mac: table.mac(to, row) });
        else findings.add({ table: table.name, row: table.keyText(row), problem: 'forged' });
      }
      await table.writeMacs(tx, renewed);
      onRows?.(findings.checked);
    }
  }
  return findings;
}
