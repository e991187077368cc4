import { randomBytes } from 'node:crypto';
import { CompiledQuery } from 'kysely';
import type { Logger } from 'pino';
import type { Keyring, MacKey } from '../crypto/keyring.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Clock, MINUTE_MS } from '../platform/clock.ts';
import { CofferError } from '../platform/errors.ts';
import { newId, timeOfId } from '../platform/ids.ts';
import type { Tx } from '../storage/database.ts';
import type { PostgresDatabase } from '../storage/postgres.ts';
import { PreparedQuery } from '../storage/prepared-query.ts';
import { type AuditSegmentsTable, SYSTEM_TENANT } from '../storage/tables.ts';
import type { AuditStore } from './audit-store.ts';
import { type ChainHead, type Links, link } from './chain.ts';
import type { AuditEntry } from './entry.ts';
import { type Heads, headRow } from './heads.ts';
import { type Gap, type NumberedSegment, sortSegments } from './linkable.ts';
import { isNodeRow, isSignedByNode, NodeSegments, nodeRow, REFUSED, type Unlinked } from './node-segments.ts';
import { newSegment, segmentText, tenantOf, textsOf } from './segment.ts';
import { systemEntry } from './system-entry.ts';
import { LOST_ACTION, TAMPERING_ACTION } from './tampering.ts';

/** The statement has one shape for any number of tenants, so it is prepared once and takes one round trip and one commit. */
const COLUMNS = 'tenant_id, id, entries, node_id, node_no, voids, mac, mac_key_version';
const INSERT = `insert into audit_segments (${COLUMNS}) select tenant_id, id, entries, node_id, node_no, voids, decode(mac, 'hex'), mac_key_version
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
      first_seq: null,
      hashes: null,
    })
    .$castTo<never>(),
);
const INSERT_ONE = `insert into audit_segments (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8)`;
/** It names the ids twice, because PostgreSQL may otherwise read the whole log of the tenant to join it with them. */
const UPDATE_LINKS = `update audit_segments s set first_seq = v.first_seq, hashes = decode(v.hashes, 'hex')
  from unnest($2::text[], $3::bigint[], $4::text[]) as v(id, first_seq, hashes)
  where s.tenant_id = $1 and s.id = any ($2::text[]) and s.id = v.id`;
/** As large as a few entries and not compressible, so that it needs as much disk space as real entries. */
const PROBE_BYTES = 1350;
const LINK_BATCH = 500;
const LINK_TENANTS = 100;
/** Limit for the entries of cached segments. Segments that another node links are never looked up again, so they must be evicted too. */
const OWN_ENTRIES_MAX = 20_000;
/** The entries of a segment that only lists void numbers. It is deleted instead of linked. */
const EMPTY = '[]';
const REPORTED_MAX = 20;
/** A node locks a head only briefly. If a head stays locked longer, something other than a node holds the lock. */
const STUCK_MS = MINUTE_MS;
const STUCK =
  'Find out who holds a lock on this tenant’s row in audit_heads, or has edited its rows in audit_heads or keys. Until new entries are linked, they can be removed without detection.';
const TAMPERED =
  'Somebody wrote to the database directly, bypassing the service: entries that no node wrote were refused, or entries that a node wrote were removed. Find out who could write to it, and run "coffer server verify".';

const CRASHED =
  'The node ended before it committed the changes for which it had reserved these audit segment numbers. Nothing of these changes was stored, and no caller received a response. If no node crashed or was killed at that time, find out who could write to the database.';

/** A segment that is not linked yet, with its entries serialized as they are hashed. */
type PendingSegment = NumberedSegment & { texts: readonly string[] };

interface Outcome {
  linked: readonly PendingSegment[];
  refused: readonly string[];
  missing: readonly Gap[];
  lost: readonly Gap[];
}

const NOTHING_LINKED: Outcome = { linked: [], refused: [], missing: [], lost: [] };

/**
 * Several nodes insert, so the order is known only after the commit, and entries are linked then. Each node authenticates and numbers the segments
 * it inserts: a segment that no node wrote is refused, and a deleted segment leaves a gap that is detected.
 */
export class PostgresAuditStore implements AuditStore {
  readonly #database: PostgresDatabase;
  readonly #heads: Heads;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #nodes: NodeSegments;
  /** Segments that this node inserted and will soon link, by tenant and segment. They need not be read back. */
  readonly #own = new Map<string, PendingSegment>();
  #ownEntries = 0;
  /** The last tenant of the previous round. */
  #lastTenant = '';
  /** Tenants whose segments cannot be linked, since when, and whether that was logged. */
  readonly #stuck = new Map<string, { since: number; isReported: boolean }>();

  constructor(parts: {
    database: PostgresDatabase;
    heads: Heads;
    keyring: Keyring;
    clock: Clock;
    log: Logger;
    metrics: Metrics;
    nodeId: string;
  }) {
    this.#database = parts.database;
    this.#heads = parts.heads;
    this.#keyring = parts.keyring;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#metrics = parts.metrics;
    this.#nodes = new NodeSegments(parts.nodeId);
  }

  async append(entries: AuditEntry[]): Promise<void> {
    const groups = [...Map.groupBy(entries, (entry) => entry.tenant_id)];
    const keys = await Promise.all(groups.map(([tenantId]) => this.#heads.key(tenantId)));
    const segments = groups.map(([tenantId, group], i) => {
      const { id, texts } = newSegment(group);
      const { markVoid, ...row } = this.#signed(tenantId, id, segmentText(texts), keys[i] as MacKey);
      return { row, texts, markVoid };
    });
    try {
      await this.#insert(segments.map(({ row }) => row));
    } catch (error) {
      for (const { markVoid } of segments) markVoid();
      throw error;
    }
    for (const { row, texts } of segments) {
      const { tenant_id, id, node_id, node_no, voids } = row;
      this.#own.set(ownSlot(tenant_id, id), { id, node_id, node_no, voids, texts });
      this.#ownEntries += texts.length;
    }
    for (const slot of this.#own.keys()) {
      if (this.#ownEntries <= OWN_ENTRIES_MAX) break;
      this.#evict(slot);
    }
  }

  #signed(tenantId: string, id: string, entries: string, key: MacKey): Unlinked & { markVoid(): void } {
    return { tenant_id: tenantId, id, entries, ...this.#nodes.sign(tenantId, id, entries, key) };
  }

  /** Texts in an array parameter are quoted once more, character by character, so a single segment uses a statement without arrays. */
  async #insert(segments: readonly Unlinked[]): Promise<void> {
    const [one, ...others] = segments;
    if (one !== undefined && others.length === 0) return this.#database.write(INSERT_ONE, columnsOf(one));
    const rows = segments.map(columnsOf);
    const columns = Array.from({ length: 8 }, (_, column) => rows.map((row) => row[column]));
    columns[6] = segments.map(({ mac }) => Buffer.from(mac ?? []).toString('hex'));
    await this.#database.write(INSERT, columns);
  }

  #evict(slot: string): void {
    this.#ownEntries -= this.#own.get(slot)?.texts.length ?? 0;
    this.#own.delete(slot);
  }

  async appendIn(tx: Tx, entries: AuditEntry[], headKey: MacKey): Promise<void> {
    const { id, texts } = newSegment(entries);
    const { markVoid, ...row } = this.#signed(tenantOf(entries), id, segmentText(texts), headKey);
    tx.onRollback.push(markVoid);
    INSERT_WITH_CHANGE.send(tx, row);
  }

  /** Writes and commits a row like real entries, and deletes it in the same transaction so that nobody can see it. */
  async probeWrite(): Promise<void> {
    const id = newId('audit');
    const entries = randomBytes(PROBE_BYTES).toString('base64');
    const unsigned = { node_id: null, node_no: null, voids: null, mac: null, mac_key_version: null };
    const row = { tenant_id: SYSTEM_TENANT, id, entries, first_seq: null, hashes: null, ...unsigned };
    await this.#database.transaction(async (tx) => {
      await tx.insertInto('audit_segments').values(row).execute();
      await tx.deleteFrom('audit_segments').where('tenant_id', '=', row.tenant_id).where('id', '=', row.id).execute();
    });
  }

  async linkLagMs(): Promise<number> {
    const oldest = await this.#database.read
      .selectFrom('audit_segments')
      .select((eb) => eb.fn.min('id').as('id'))
      .where('first_seq', 'is', null)
      .executeTakeFirst();
    return oldest?.id == null ? 0 : Math.max(0, this.#clock.now() - timeOfId(oldest.id));
  }

  async settle(): Promise<void> {}

  async close(): Promise<void> {}

  async link(): Promise<boolean> {
    await this.#insertVoids();
    const tenants = await this.#tenantsWithPending();
    const linked: number[] = [];
    for (const { tenant_id } of tenants) {
      linked.push((await this.#unlessStuck(tenant_id, () => this.#linkTenant(tenant_id))) ?? 0);
    }
    // Tenants whose head is not authentic are found in every round although their segments cannot be linked, so they alone must not start another
    // round.
    return linked.includes(LINK_BATCH) || (tenants.length === LINK_TENANTS && linked.some((count) => count > 0));
  }

  /** Tenants are visited in the order of their ids, so that those that cannot be linked do not block others forever. */
  async #tenantsWithPending(): Promise<{ tenant_id: string }[]> {
    const found = await this.#database.read
      .selectFrom('audit_segments')
      .innerJoin('tenants', 'tenants.tenant_id', 'audit_segments.tenant_id')
      .select('audit_segments.tenant_id')
      .distinct()
      .where('first_seq', 'is', null)
      .where('audit_segments.tenant_id', '>', this.#lastTenant)
      .orderBy('audit_segments.tenant_id')
      .limit(LINK_TENANTS)
      .execute();
    this.#lastTenant = found.length === LINK_TENANTS ? (found.at(-1)?.tenant_id ?? '') : '';
    return found;
  }

  /** A tenant whose keys or head were edited, or whose head is locked (`work` returns null), must not prevent others from being linked. */
  async #unlessStuck<T>(tenantId: string, work: () => Promise<T | null>): Promise<T | null> {
    let problem = 'the head of the log is locked or was deleted';
    try {
      const done = await work();
      if (done !== null) {
        if (this.#stuck.delete(tenantId)) this.#metrics.logsStuck.set(this.#stuck.size);
        return done;
      }
    } catch (error) {
      if (error instanceof CofferError) throw error;
      problem = String(error);
    }
    this.#recordStuck(tenantId, problem);
    return null;
  }

  #recordStuck(tenantId: string, problem: string): void {
    const now = performance.now();
    const stuck = this.#stuck.get(tenantId) ?? { since: now, isReported: false };
    this.#stuck.set(tenantId, stuck);
    if (stuck.isReported || now - stuck.since < STUCK_MS) return;
    stuck.isReported = true;
    this.#metrics.logsStuck.set(this.#stuck.size);
    this.#log.error({ tenant: tenantId, problem, what_to_do: STUCK }, 'new entries of the audit log cannot be linked');
  }

  /** Inserts void numbers of rolled-back transactions that no other segment has listed yet. Otherwise linking would wait for them. */
  async #insertVoids(): Promise<void> {
    const tenants = this.#nodes.tenantsWithVoids();
    if (tenants.length === 0) return;
    const rows = await this.#database.read
      .selectFrom('audit_heads')
      .select('tenant_id')
      .where('tenant_id', 'in', tenants)
      .execute();
    const withLog = new Set(rows.map(({ tenant_id }) => tenant_id));
    for (const tenantId of tenants) {
      // The rolled-back transaction would have created the tenant.
      if (!withLog.has(tenantId)) this.#nodes.evict(tenantId);
      else await this.#unlessStuck(tenantId, () => this.#insertVoidsOf(tenantId));
    }
  }

  async #insertVoidsOf(tenantId: string): Promise<true> {
    const key = await this.#heads.key(tenantId);
    const { markVoid, ...row } = this.#signed(tenantId, newId('audit', this.#clock.now()), EMPTY, key);
    try {
      await this.#insert([row]);
      return true;
    } catch (error) {
      markVoid();
      throw error;
    }
  }

  /** The lock on the head serializes nodes. A node that finds it locked leaves the work to the holder and returns null. */
  async #linkTenant(tenantId: string): Promise<number | null> {
    const key = await this.#heads.key(tenantId);
    const outcome = await this.#database.transaction(async (tx): Promise<Outcome | null> => {
      const head = await tx
        .selectFrom('audit_heads')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .forUpdate()
        .skipLocked()
        .executeTakeFirst();
      if (head === undefined) return null;
      if (!(await this.#heads.isAuthentic(head))) return NOTHING_LINKED;
      const { authentic, refused } = await this.#pendingSegments(tx, tenantId);
      const before = await this.#linkedBefore(tx, tenantId, authentic, key);
      const sorted = sortSegments(authentic, before, { now: this.#clock.now(), ownNode: this.#nodes.nodeId });
      const linked = sorted.linkable.filter(({ texts }) => texts.length > 0);
      if (linked.length > 0) await writeLinks(tx, tenantId, head, linked, key);
      const refusedIds = [...refused, ...sorted.repeated.map(({ id }) => id)];
      await setRefused(tx, tenantId, refusedIds);
      await deleteEmpty(tx, tenantId, sorted.linkable);
      for (const [node, no] of sorted.linkedNo) await writeNode(tx, nodeRow(tenantId, node, no, key));
      return { linked: sorted.linkable, refused: refusedIds, missing: sorted.missing, lost: sorted.lost };
    });
    if (outcome === null) return null;
    for (const { id } of outcome.linked) this.#evict(ownSlot(tenantId, id));
    await this.#report(tenantId, outcome);
    return outcome.linked.length;
  }

  /**
   * The unlinked segments, divided by whether a node wrote them. A tenant whose rows are not authenticated yet may have segments without a signature.
   */
  async #pendingSegments(tx: Tx, tenantId: string): Promise<{ authentic: PendingSegment[]; refused: string[] }> {
    const rows = await tx
      .selectFrom('audit_segments')
      .select('id')
      .where('tenant_id', '=', tenantId)
      .where('first_seq', 'is', null)
      .orderBy('id')
      .limit(LINK_BATCH)
      .execute();
    // The cache is read before the query below, since another request may evict a segment during it.
    const cached = rows.map(({ id }) => ({ id, own: this.#own.get(ownSlot(tenantId, id)) }));
    const others = cached.filter(({ own }) => own === undefined).map(({ id }) => id);
    const read = await this.#read(tx, tenantId, others);
    const authentic: PendingSegment[] = [];
    const refused: string[] = [];
    for (const { id, own } of cached) {
      const segment = own ?? read.get(id);
      if (segment === undefined) refused.push(id);
      else authentic.push(segment);
    }
    return { authentic, refused };
  }

  /** Loads these segments and leaves out those that no node wrote. */
  async #read(tx: Tx, tenantId: string, ids: readonly string[]): Promise<Map<string, PendingSegment>> {
    const found = new Map<string, PendingSegment>();
    if (ids.length === 0) return found;
    const rows = await tx
      .selectFrom('audit_segments')
      .select(['tenant_id', 'id', 'entries', 'node_id', 'node_no', 'voids', 'mac', 'mac_key_version'])
      .where('tenant_id', '=', tenantId)
      .where('id', 'in', ids)
      .execute();
    for (const row of rows) {
      const isUnsignedLegacy = row.mac === null && !this.#keyring.isAuthenticated(tenantId);
      if (isUnsignedLegacy || (await isSignedByNode(this.#keyring, row)))
        found.set(row.id, { ...row, texts: textsOf(row) });
    }
    return found;
  }

  async #linkedBefore(
    tx: Tx,
    tenantId: string,
    segments: readonly PendingSegment[],
    key: MacKey,
  ): Promise<Map<string, number>> {
    const nodes = [...new Set(segments.map(({ node_id }) => node_id ?? ''))];
    if (nodes.length === 0) return new Map();
    const rows = await tx
      .selectFrom('audit_nodes')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('node_id', 'in', nodes)
      .execute();
    const linked = new Map<string, number>();
    for (const row of rows) if (await isNodeRow(this.#keyring, row, key)) linked.set(row.node_id, row.linked_no);
    return linked;
  }

  /** Reports to the service log and to the tenant's own audit log. */
  async #report(tenantId: string, { refused, missing, lost }: Outcome): Promise<void> {
    const facts = { tenantId, actorId: 'job:link-audit', resource: 'audit', now: this.#clock.now() } as const;
    if (refused.length > 0 || missing.length > 0) {
      this.#metrics.refusedSegments.inc(refused.length + missing.length);
      const details = {
        refused: refused.slice(0, REPORTED_MAX),
        refused_count: refused.length,
        missing: missing.slice(0, REPORTED_MAX),
      };
      this.#log.error({ tenant: tenantId, ...details, what_to_do: TAMPERED }, 'the audit log was tampered with');
      const entry = systemEntry({ ...facts, action: TAMPERING_ACTION, status: 500, details });
      await this.append([{ ...entry, decision: 'error', reason: 'the audit log was tampered with' }]);
    }
    if (lost.length > 0) {
      const details = { lost: lost.slice(0, REPORTED_MAX) };
      this.#log.warn({ tenant: tenantId, ...details, what_to_do: CRASHED }, 'a node ended with uncommitted changes');
      await this.append([systemEntry({ ...facts, action: LOST_ACTION, status: 200, details })]);
    }
  }
}

function columnsOf({ tenant_id, id, entries, node_id, node_no, voids, mac, mac_key_version }: Unlinked): unknown[] {
  return [tenant_id, id, entries, node_id, node_no, voids, mac, mac_key_version];
}

function ownSlot(tenantId: string, id: string): string {
  return `${tenantId} ${id}`;
}

async function setRefused(tx: Tx, tenantId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .updateTable('audit_segments')
    .set({ first_seq: REFUSED } satisfies Partial<AuditSegmentsTable>)
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .execute();
}

async function deleteEmpty(tx: Tx, tenantId: string, segments: readonly PendingSegment[]): Promise<void> {
  const ids = segments.filter(({ texts }) => texts.length === 0).map(({ id }) => id);
  if (ids.length === 0) return;
  await tx.deleteFrom('audit_segments').where('tenant_id', '=', tenantId).where('id', 'in', ids).execute();
}

async function writeNode(tx: Tx, row: ReturnType<typeof nodeRow>): Promise<void> {
  const { linked_no, mac, mac_key_version } = row;
  await tx
    .insertInto('audit_nodes')
    .values(row)
    .onConflict((c) => c.columns(['tenant_id', 'node_id']).doUpdateSet({ linked_no, mac, mac_key_version }))
    .execute();
}

async function writeLinks(
  tx: Tx,
  tenantId: string,
  head: ChainHead,
  segments: readonly PendingSegment[],
  key: MacKey,
): Promise<void> {
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
