import type { StatementSync } from 'node:sqlite';
import type { PurposeKey } from '../crypto/keyring.ts';
import type { Tx } from '../storage/database.ts';
import type { Connection, SqliteDatabase } from '../storage/sqlite.ts';
import { type AuditStore, COLUMNS } from './audit-store.ts';
import { type ChainHead, type LinkedEntry, link } from './chain.ts';
import type { AuditEntry } from './entry.ts';
import { type Heads, headRow } from './heads.ts';

const INSERT = `insert into audit_entries (${COLUMNS.join(', ')}, seq, hash) values (${'?, '.repeat(COLUMNS.length)}?, ?)`;
const SELECT_HEAD = 'select seq, hash from audit_heads where tenant_id = ?';
const UPDATE_HEAD = 'update audit_heads set seq = ?, hash = ?, mac = ?, mac_key_version = ? where tenant_id = ?';

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

  async appendIn(tx: Tx, entry: AuditEntry, headKey: PurposeKey): Promise<void> {
    const head = await tx
      .selectFrom('audit_heads')
      .select(['seq', 'hash'])
      .where('tenant_id', '=', entry.tenant_id)
      .executeTakeFirst();
    if (head === undefined) {
      await tx
        .insertInto('audit_entries')
        .values({ ...entry, seq: null, hash: null })
        .execute();
      return;
    }
    const linked = link(head, [entry])[0] as LinkedEntry;
    await tx.insertInto('audit_entries').values(linked).execute();
    const { tenant_id, ...change } = headRow(entry.tenant_id, linked, headKey);
    await tx.updateTable('audit_heads').set(change).where('tenant_id', '=', tenant_id).execute();
  }

  async seal(): Promise<number> {
    return 0;
  }
}

function appendLinked(writer: Connection, tenantId: string, entries: AuditEntry[], key: PurposeKey): void {
  const insert = writer.prepare(INSERT);
  const head = writer.all(SELECT_HEAD, [tenantId])[0] as ChainHead | undefined;
  if (head === undefined) {
    for (const entry of entries) insertEntry(insert, entry, null, null);
    return;
  }
  const linked = link(head, entries);
  for (const entry of linked) insertEntry(insert, entry, entry.seq, entry.hash);
  const { seq, hash, mac, mac_key_version } = headRow(tenantId, linked[linked.length - 1] as LinkedEntry, key);
  writer.run(UPDATE_HEAD, [seq, hash, mac, mac_key_version, tenantId]);
}

function insertEntry(insert: StatementSync, e: AuditEntry, seq: number | null, hash: Buffer | null): void {
  insert.run(
    e.tenant_id,
    e.id,
    e.at,
    e.actor_kind,
    e.actor_id,
    e.actor_name,
    e.actor_key,
    e.action,
    e.resource,
    e.vault,
    e.decision,
    e.status,
    e.ip,
    e.user_agent,
    e.request_id,
    e.reason,
    e.details,
    seq,
    hash,
  );
}
