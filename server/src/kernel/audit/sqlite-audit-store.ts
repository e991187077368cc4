import type { PurposeKey } from '../crypto/keyring.ts';
import type { Tx } from '../storage/database.ts';
import type { Connection, SqliteDatabase } from '../storage/sqlite.ts';
import type { AuditStore } from './audit-store.ts';
import { type ChainHead, link } from './chain.ts';
import type { AuditEntry } from './entry.ts';
import { type Heads, headRow } from './heads.ts';
import { newSegment, segmentRow, tenantOf } from './segment.ts';

const INSERT = 'insert into audit_segments (tenant_id, id, entries, first_seq, hashes) values (?, ?, ?, ?, ?)';
const SELECT_HEAD = 'select seq, hash from audit_heads where tenant_id = ?';
const UPDATE_HEAD = 'update audit_heads set seq = ?, hash = ?, mac = ?, mac_key_version = ? where tenant_id = ?';

/** One writer, so the order is known at once: entries are linked as they are inserted. */
export class SqliteAuditStore implements AuditStore {
  readonly #database: SqliteDatabase;
  readonly #heads: Heads;

  constructor(database: SqliteDatabase, heads: Heads) {
    this.#database = database;
    this.#heads = heads;
  }

  async append(entries: AuditEntry[]): Promise<void> {
    const byTenant = Map.groupBy(entries, (entry) => entry.tenant_id);
    const keys = new Map<string, PurposeKey>();
    for (const tenantId of byTenant.keys()) keys.set(tenantId, await this.#heads.key(tenantId));
    await this.#database.exclusively((writer) => {
      for (const [tenantId, group] of byTenant) appendLinked(writer, tenantId, group, keys.get(tenantId) as PurposeKey);
    });
  }

  async appendIn(tx: Tx, entries: AuditEntry[], headKey: PurposeKey): Promise<void> {
    const tenantId = tenantOf(entries);
    const segment = newSegment(entries);
    const head = await tx
      .selectFrom('audit_heads')
      .select(['seq', 'hash'])
      .where('tenant_id', '=', tenantId)
      .executeTakeFirst();
    const links = head === undefined ? null : link(head, tenantId, segment.texts);
    await tx
      .insertInto('audit_segments')
      .values(segmentRow(tenantId, segment, links))
      .execute();
    if (links === null) return;
    const { tenant_id, ...change } = headRow(tenantId, links.head, headKey);
    await tx.updateTable('audit_heads').set(change).where('tenant_id', '=', tenant_id).execute();
  }

  async seal(): Promise<number> {
    return 0;
  }
}

function appendLinked(writer: Connection, tenantId: string, entries: AuditEntry[], key: PurposeKey): void {
  const segment = newSegment(entries);
  const head = writer.all(SELECT_HEAD, [tenantId])[0] as ChainHead | undefined;
  const links = head === undefined ? null : link(head, tenantId, segment.texts);
  const row = segmentRow(tenantId, segment, links);
  writer.run(INSERT, [row.tenant_id, row.id, row.entries, row.first_seq, row.hashes]);
  if (links === null) return;
  const { seq, hash, mac, mac_key_version } = headRow(tenantId, links.head, key);
  writer.run(UPDATE_HEAD, [seq, hash, mac, mac_key_version, tenantId]);
}
