import { CompiledQuery, sql } from 'kysely';
import type { Keyring, MacKey } from '../../keys/keyring.ts';
import type { Tx } from '../../storage/database.ts';
import type { PostgresDatabase } from '../../storage/postgres.ts';
import { PreparedQuery } from '../../storage/prepared-query.ts';
import { SCHEMA_VERSION } from '../../storage/schema-version.ts';
import type { AuditSegmentsTable } from '../../storage/tables.ts';
import { type ChainHead, type Links, link } from '../chain/chain.ts';
import { headRow } from '../chain/heads.ts';
import { isNodeRow, type nodeRow, type PASSED_TOMBSTONE, type REFUSED, type Unlinked } from './node-segments.ts';

/** The statement has one shape for any number of tenants, so it is prepared once and takes one round trip and one commit. */
const COLUMNS = 'tenant_id, id, entries, node_id, node_no, voids, mac, mac_key_version, schema_version';
const INSERT = `insert into audit_segments (${COLUMNS}) select tenant_id, id, entries, node_id, node_no, voids, decode(mac, 'hex'), mac_key_version, ${SCHEMA_VERSION}
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::integer[])
  as v(tenant_id, id, entries, node_id, node_no, voids, mac, mac_key_version)`;
const INSERT_WITH_CHANGE = new PreparedQuery<Unlinked, never>((db, parameter) =>
  db
    .insertInto('audit_segments')
    .values({
      tenant_id: parameter('tenant_id'),
      id: parameter('id'),
      entries: parameter('entries'),
      node_id: parameter('node_id'),
      node_no: parameter('node_no'),
      voids: parameter('voids'),
      mac: parameter('mac'),
      mac_key_version: parameter('mac_key_version'),
      schema_version: SCHEMA_VERSION,
      first_seq: null,
      hashes: null,
    })
    .$castTo<never>(),
);
const INSERT_ONE = `insert into audit_segments (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, ${SCHEMA_VERSION})`;
/** It names the ids twice, because PostgreSQL may otherwise read the whole log of the tenant to join it with them. */
const UPDATE_LINKS = `update audit_segments s set first_seq = v.first_seq, hashes = decode(v.hashes, 'hex'), schema_version = ${SCHEMA_VERSION}
  from unnest($2::text[], $3::bigint[], $4::text[]) as v(id, first_seq, hashes)
  where s.tenant_id = $1 and s.id = any ($2::text[]) and s.id = v.id`;

/** Columns that prove which node wrote a segment, and what they cover. */
const SIGNED = ['tenant_id', 'id', 'entries', 'node_id', 'node_no', 'voids', 'mac', 'mac_key_version'] as const;

/** Texts in an array parameter are quoted once more, character by character, so a single segment uses a statement without arrays. */
export async function insertSegments(database: PostgresDatabase, segments: readonly Unlinked[]): Promise<void> {
  const [one, ...others] = segments;
  if (one !== undefined && others.length === 0) return database.write(INSERT_ONE, columnsOf(one));
  const rows = segments.map(columnsOf);
  const columns = Array.from({ length: 8 }, (_, column) => rows.map((row) => row[column]));
  columns[6] = segments.map(({ mac }) => Buffer.from(mac ?? []).toString('hex'));
  await database.write(INSERT, columns);
}

function columnsOf({ tenant_id, id, entries, node_id, node_no, voids, mac, mac_key_version }: Unlinked): unknown[] {
  return [tenant_id, id, entries, node_id, node_no, voids, mac, mac_key_version];
}

/** Nobody waits for the insert: the commit fails if it does. */
export function sendSegment(tx: Tx, segment: Unlinked): void {
  INSERT_WITH_CHANGE.send(tx, segment);
}

/** Waits for a transaction that has inserted this key, and returns whether it was not committed, so that the tombstone is. */
export async function insertTombstone(tx: Tx, row: Unlinked): Promise<boolean> {
  const inserted = await tx
    .insertInto('audit_segments')
    .values({ ...row, schema_version: SCHEMA_VERSION, first_seq: null, hashes: null })
    .onConflict((c) => c.columns(['tenant_id', 'id']).doNothing())
    .executeTakeFirst();
  return Number(inserted.numInsertedOrUpdatedRows) === 1;
}

export async function limitLockWait(tx: Tx, ms: number): Promise<void> {
  await sql`set local lock_timeout = ${sql.lit(ms)}`.execute(tx);
}

/** The ids of the oldest segments that are not linked, in order. */
export async function unlinkedIds(tx: Tx, tenantId: string, limit: number): Promise<string[]> {
  const rows = await tx
    .selectFrom('audit_segments')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('first_seq', 'is', null)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Unlinked segments of these nodes, those with the lowest numbers first. */
export async function unlinkedIdsOfNodes(
  tx: Tx,
  tenantId: string,
  nodes: readonly string[],
  limit: number,
): Promise<string[]> {
  const rows = await tx
    .selectFrom('audit_segments')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('first_seq', 'is', null)
    .where('node_id', 'in', nodes)
    .orderBy('node_no')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

export async function segmentsById(tx: Tx, tenantId: string, ids: readonly string[]): Promise<Unlinked[]> {
  if (ids.length === 0) return [];
  return tx
    .selectFrom('audit_segments')
    .select(SIGNED)
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .execute();
}

/** How far the segments of each of these nodes are linked. */
export async function linkedNumbers(
  tx: Tx,
  { keyring, key }: { keyring: Keyring; key: MacKey },
  tenantId: string,
  nodes: readonly string[],
): Promise<Map<string, number>> {
  if (nodes.length === 0) return new Map();
  const rows = await tx
    .selectFrom('audit_nodes')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('node_id', 'in', nodes)
    .execute();
  const linked = new Map<string, number>();
  for (const row of rows) if (await isNodeRow(keyring, row, key)) linked.set(row.node_id, row.linked_no);
  return linked;
}

export async function writeNode(tx: Tx, row: ReturnType<typeof nodeRow>): Promise<void> {
  const { linked_no, mac, mac_key_version } = row;
  await tx
    .insertInto('audit_nodes')
    .values(row)
    .onConflict((c) => c.columns(['tenant_id', 'node_id']).doUpdateSet({ linked_no, mac, mac_key_version }))
    .execute();
}

/** Takes segments out of those that wait, without a place in the chain. */
export async function setAside(
  tx: Tx,
  tenantId: string,
  ids: readonly string[],
  as: typeof REFUSED | typeof PASSED_TOMBSTONE,
): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .updateTable('audit_segments')
    .set({ first_seq: as, schema_version: null } satisfies Partial<AuditSegmentsTable>)
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .execute();
}

export async function deleteSegments(tx: Tx, tenantId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.deleteFrom('audit_segments').where('tenant_id', '=', tenantId).where('id', 'in', ids).execute();
}

export async function writeLinks(
  tx: Tx,
  { tenantId, head }: { tenantId: string; head: ChainHead },
  segments: readonly { id: string; texts: readonly string[] }[],
  key: MacKey,
): Promise<void> {
  if (segments.length === 0) return;
  let end = head;
  const linked = segments.map((segment): Links => {
    const links = link(end, tenantId, segment.texts);
    end = links.head;
    return links;
  });
  const ids = segments.map((segment) => segment.id);
  const firstSeqs = linked.map((links) => links.firstSeq);
  const hashes = linked.map((links) => links.hashes.toString('hex'));
  await tx.executeQuery(CompiledQuery.raw(UPDATE_LINKS, [tenantId, ids, firstSeqs, hashes]));
  const { tenant_id: _, ...change } = headRow(tenantId, end, key);
  await tx.updateTable('audit_heads').set(change).where('tenant_id', '=', tenantId).execute();
}
