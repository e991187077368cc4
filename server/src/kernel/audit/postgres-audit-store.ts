import { randomBytes } from 'node:crypto';
import { CompiledQuery } from 'kysely';
import type { MacKey } from '../crypto/keyring.ts';
import { newId } from '../ids.ts';
import type { Tx } from '../storage/database.ts';
import type { PostgresDatabase } from '../storage/postgres.ts';
import { PreparedQuery } from '../storage/prepared-query.ts';
import { SYSTEM_TENANT } from '../storage/tables.ts';
import type { AuditStore } from './audit-store.ts';
import { type ChainHead, type Links, link } from './chain.ts';
import type { AuditEntry } from './entry.ts';
import { type Heads, headRow } from './heads.ts';
import { type NewSegment, newSegment, segmentText, tenantOf, textsOf } from './segment.ts';

/** One statement of one shape however many tenants a batch has: prepared once, one round trip, one commit. */
const INSERT = `insert into audit_segments (tenant_id, id, entries)
  select * from unnest($1::text[], $2::text[], $3::text[])`;
const INSERT_WITH_CHANGE = new PreparedQuery<{ tenantId: string; id: string; entries: string }, never>(
  (db, parameter) =>
    db
      .insertInto('audit_segments')
      .values({
        tenant_id: parameter('tenantId'),
        id: parameter('id'),
        entries: parameter('entries'),
        first_seq: null,
        hashes: null,
      })
      .$castTo<never>(),
);
const INSERT_ONE = 'insert into audit_segments (tenant_id, id, entries) values ($1, $2, $3)';
const UPDATE_LINKS = `update audit_segments s set first_seq = v.first_seq, hashes = decode(v.hashes, 'hex')
  from unnest($2::text[], $3::bigint[], $4::text[]) as v(id, first_seq, hashes) where s.tenant_id = $1 and s.id = v.id`;
/** As much as a few entries, of what cannot be compressed: it needs room where entries do. */
const PROBE_BYTES = 1350;
const SEAL_BATCH = 500;
const SEAL_TENANTS = 100;
/** Of segments that wait to be linked: what another node links is never asked for again, and must go too. */
const OWN_ENTRIES_MAX = 20_000;

/** Several nodes insert, so the order is known only after commit: entries are linked then. */
export class PostgresAuditStore implements AuditStore {
  readonly #database: PostgresDatabase;
  readonly #heads: Heads;
  /** What this node inserted and will soon link, by segment: it need not be read back. */
  readonly #own = new Map<string, readonly string[]>();
  #ownEntries = 0;

  constructor(database: PostgresDatabase, heads: Heads) {
    this.#database = database;
    this.#heads = heads;
  }

  async append(entries: AuditEntry[]): Promise<void> {
    const columns: [string[], string[], string[]] = [[], [], []];
    const segments: NewSegment[] = [];
    for (const [tenantId, group] of Map.groupBy(entries, (entry) => entry.tenant_id)) {
      const segment = newSegment(group);
      const { id, texts } = segment;
      segments.push(segment);
      columns[0].push(tenantId);
      columns[1].push(id);
      columns[2].push(segmentText(texts));
    }
    // A text in a list is quoted once more, character by character: not where there is only one.
    const isOne = columns[0].length === 1;
    await this.#database.write(isOne ? INSERT_ONE : INSERT, isOne ? columns.flat() : columns);
    for (const { id, texts } of segments) {
      this.#own.set(id, texts);
      this.#ownEntries += texts.length;
    }
    for (const id of this.#own.keys()) {
      if (this.#ownEntries <= OWN_ENTRIES_MAX) break;
      this.#forget(id);
    }
  }

  #forget(id: string): void {
    this.#ownEntries -= this.#own.get(id)?.length ?? 0;
    this.#own.delete(id);
  }

  async appendIn(tx: Tx, entries: AuditEntry[]): Promise<void> {
    const { id, texts } = newSegment(entries);
    await INSERT_WITH_CHANGE.run(tx, { tenantId: tenantOf(entries), id, entries: segmentText(texts) });
  }

  /** Written and committed like entries, and gone again before anybody can see it. */
  async tryAgain(): Promise<void> {
    const row = { tenant_id: SYSTEM_TENANT, id: newId('audit'), first_seq: null, hashes: null };
    const entries = randomBytes(PROBE_BYTES).toString('base64');
    await this.#database.transaction(async (tx) => {
      await tx
        .insertInto('audit_segments')
        .values({ ...row, entries })
        .execute();
      await tx.deleteFrom('audit_segments').where('tenant_id', '=', row.tenant_id).where('id', '=', row.id).execute();
    });
  }

  async settle(): Promise<void> {}

  async close(): Promise<void> {}

  async seal(): Promise<boolean> {
    const tenants = await this.#database.read
      .selectFrom('audit_segments')
      .select('tenant_id')
      .distinct()
      .where('first_seq', 'is', null)
      .limit(SEAL_TENANTS)
      .execute();
    const sealed: number[] = [];
    for (const { tenant_id } of tenants) sealed.push(await this.#sealTenant(tenant_id));
    // Tenants whose head is not authentic are found again and again, and nothing of theirs is sealed: they alone are no reason to go on.
    return sealed.includes(SEAL_BATCH) || (tenants.length === SEAL_TENANTS && sealed.some((count) => count > 0));
  }

  /** The lock on the head makes nodes take turns; who finds it taken leaves the work to the one who has it. */
  async #sealTenant(tenantId: string): Promise<number> {
    const key = await this.#heads.key(tenantId);
    const linked = await this.#database.transaction(async (tx) => {
      const head = await tx
        .selectFrom('audit_heads')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .forUpdate()
        .skipLocked()
        .executeTakeFirst();
      if (head === undefined || !(await this.#heads.isAuthentic(head))) return [];
      const rows = await tx
        .selectFrom('audit_segments')
        .select('id')
        .where('tenant_id', '=', tenantId)
        .where('first_seq', 'is', null)
        .orderBy('id')
        .limit(SEAL_BATCH)
        .execute();
      const segments = await this.#segments(
        tx,
        tenantId,
        rows.map(({ id }) => id),
      );
      if (segments.length > 0) await writeLinks(tx, tenantId, head, segments, key);
      return segments;
    });
    for (const { id } of linked) this.#forget(id);
    return linked.length;
  }

  async #segments(tx: Tx, tenantId: string, ids: readonly string[]): Promise<NewSegment[]> {
    // All at once: what is kept may be forgotten while others are read.
    const found = new Map(ids.map((id) => [id, this.#own.get(id)]));
    const others = ids.filter((id) => found.get(id) === undefined);
    if (others.length > 0) {
      const rows = await tx
        .selectFrom('audit_segments')
        .select(['id', 'entries'])
        .where('tenant_id', '=', tenantId)
        .where('id', 'in', others)
        .execute();
      for (const row of rows) found.set(row.id, textsOf(row));
    }
    return ids.map((id) => {
      const texts = found.get(id);
      if (texts === undefined) throw new Error('a segment of the audit log is gone before it was linked');
      return { id, texts };
    });
  }
}

async function writeLinks(
  tx: Tx,
  tenantId: string,
  head: ChainHead,
  segments: readonly NewSegment[],
  key: MacKey,
): Promise<void> {
  let end = head;
  const linked = segments.map((segment): Links => {
    const links = link(end, tenantId, segment.texts);
    end = links.head;
    return links;
  });
  const ids = segments.map((segment) => segment.id);
  const places = linked.map((links) => links.firstSeq);
  const hashes = linked.map((links) => links.hashes.toString('hex'));
  await tx.executeQuery(CompiledQuery.raw(UPDATE_LINKS, [tenantId, ids, places, hashes]));
  const { tenant_id: _, ...change } = headRow(tenantId, end, key);
  await tx.updateTable('audit_heads').set(change).where('tenant_id', '=', tenantId).execute();
}
