import type { PurposeKey } from '../crypto/keyring.ts';
import type { Tx } from '../storage/database.ts';
import type { Connection, SqliteDatabase } from '../storage/sqlite.ts';
import type { Tables } from '../storage/tables.ts';
import { type AuditStore, COLUMNS } from './audit-store.ts';
import { type ChainHead, GENESIS_HASH, type LinkedEntry, link } from './chain.ts';
import type { AuditEntry } from './entry.ts';
import { type Heads, headRow } from './heads.ts';

const INSERT = `insert into audit_entries (${COLUMNS.join(', ')}, seq, hash) values (${'?, '.repeat(COLUMNS.length)}?, ?)`;
const SELECT_HEAD = 'select seq, hash from audit_heads where tenant_id = ?';
const UPSERT_HEAD = `insert into audit_heads (tenant_id, seq, hash, mac, mac_key_version) values (?, ?, ?, ?, ?)
  on conflict (tenant_id) do update set seq = excluded.seq, hash = excluded.hash, mac = excluded.mac,
  mac_key_version = excluded.mac_key_version`;

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
    const linked = link(head ?? FIRST, [entry])[0] as LinkedEntry;
    await tx.insertInto('audit_entries').values(linked).execute();
    const row = headRow(entry.tenant_id, linked, headKey);
    const { tenant_id: _, ...change } = row;
    await tx
      .insertInto('audit_heads')
      .values(row)
      .onConflict((c) => c.column('tenant_id').doUpdateSet(change))
      .execute();
  }

  async seal(): Promise<number> {
    return 0;
  }
}

const FIRST: ChainHead = { seq: 0, hash: GENESIS_HASH };

function appendLinked(writer: Connection, tenantId: string, entries: AuditEntry[], key: PurposeKey): void {
  const head = (writer.all(SELECT_HEAD, [tenantId])[0] as ChainHead | undefined) ?? FIRST;
  const insert = writer.prepare(INSERT);
  let last: ChainHead = head;
  for (const e of link(head, entries)) {
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
      e.seq,
      e.hash,
    );
    last = e;
  }
  const row: Tables['audit_heads'] = headRow(tenantId, last, key);
  writer.run(UPSERT_HEAD, [row.tenant_id, row.seq, row.hash, row.mac, row.mac_key_version]);
}
