import { CompiledQuery } from 'kysely';
import type { Tx } from '../storage/database.ts';
import type { PostgresDatabase } from '../storage/postgres.ts';
import { type AuditStore, COLUMNS } from './audit-store.ts';
import { type LinkedEntry, link } from './chain.ts';
import type { AuditEntry } from './entry.ts';
import { type Heads, headRow } from './heads.ts';

const TYPES: Partial<Record<(typeof COLUMNS)[number], string>> = { at: 'bigint', status: 'integer' };
/** One statement of one shape whatever the size of the batch: prepared once, one round trip, one commit. */
const INSERT = `insert into audit_entries (${COLUMNS.join(', ')})
  select * from unnest(${COLUMNS.map((column, i) => `$${i + 1}::${TYPES[column] ?? 'text'}[]`).join(', ')})`;
const UPDATE_LINKS = `update audit_entries e set seq = v.seq, hash = decode(v.hash, 'hex')
  from unnest($2::text[], $3::bigint[], $4::text[]) as v(id, seq, hash) where e.tenant_id = $1 and e.id = v.id`;
const SEAL_BATCH = 2000;
const SEAL_TENANTS = 100;

export class PostgresAuditStore implements AuditStore {
  readonly #database: PostgresDatabase;
  readonly #heads: Heads;

  constructor(database: PostgresDatabase, heads: Heads) {
    this.#database = database;
    this.#heads = heads;
  }

  async append(entries: AuditEntry[]): Promise<void> {
    await this.#database.write(
      INSERT,
      COLUMNS.map((column) => entries.map((entry) => entry[column])),
    );
  }

  async appendIn(tx: Tx, entry: AuditEntry): Promise<void> {
    await tx
      .insertInto('audit_entries')
      .values({ ...entry, seq: null, hash: null })
      .execute();
  }

  async seal(): Promise<number> {
    const tenants = await this.#database.read
      .selectFrom('audit_entries')
      .select('tenant_id')
      .distinct()
      .where('seq', 'is', null)
      .limit(SEAL_TENANTS)
      .execute();
    let sealed = 0;
    for (const { tenant_id } of tenants) sealed += await this.#sealTenant(tenant_id);
    return sealed;
  }

  /** The lock on the head makes nodes take turns; who finds it taken leaves the work to the one who has it. */
  async #sealTenant(tenantId: string): Promise<number> {
    const key = await this.#heads.key(tenantId);
    return this.#database.transaction(async (tx) => {
      const head = await tx
        .selectFrom('audit_heads')
        .select(['seq', 'hash'])
        .where('tenant_id', '=', tenantId)
        .forUpdate()
        .skipLocked()
        .executeTakeFirst();
      if (head === undefined) return 0;
      const entries = await tx
        .selectFrom('audit_entries')
        .select(COLUMNS)
        .where('tenant_id', '=', tenantId)
        .where('seq', 'is', null)
        .orderBy('id')
        .limit(SEAL_BATCH)
        .execute();
      if (entries.length === 0) return 0;
      await this.#writeLinks(tx, tenantId, link(head, entries), key);
      return entries.length;
    });
  }

  async #writeLinks(
    tx: Tx,
    tenantId: string,
    linked: LinkedEntry[],
    key: Parameters<typeof headRow>[2],
  ): Promise<void> {
    const columns = [linked.map((e) => e.id), linked.map((e) => e.seq), linked.map((e) => e.hash.toString('hex'))];
    await tx.executeQuery(CompiledQuery.raw(UPDATE_LINKS, [tenantId, ...columns]));
    const { tenant_id: _, ...change } = headRow(tenantId, linked[linked.length - 1] as LinkedEntry, key);
    await tx.updateTable('audit_heads').set(change).where('tenant_id', '=', tenantId).execute();
  }
}
