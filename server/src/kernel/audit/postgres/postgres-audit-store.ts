import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { newId, timeOfId } from '../../base/ids.ts';
import { TAMPERING_ACTION } from '../../integrity/tampering.ts';
import type { Keyring, MacKey } from '../../keys/keyring.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Tx } from '../../storage/database.ts';
import type { PostgresDatabase } from '../../storage/postgres.ts';
import { isRefusedByServer } from '../../storage/postgres-errors.ts';
import { SCHEMA_VERSION } from '../../storage/schema-version.ts';
import { SYSTEM_TENANT } from '../../storage/tables.ts';
import type { TimeSources } from '../../time/sources.ts';
import type { Heads } from '../chain/heads.ts';
import { newSegments, segmentText, tenantOf } from '../chain/segment.ts';
import type { AuditEntry } from '../entry/entry.ts';
import { systemEntry } from '../entry/system-entry.ts';
import type { AuditStore } from '../log/audit-store.ts';
import { NO_ENTRIES, NodeSegments, type Signed, type Unlinked } from './node-segments.ts';
import { insertSegments, sendSegment } from './postgres-segments.ts';
import { LINK_BATCH, type Linked, SegmentLinking } from './segment-linking.ts';
import { StuckLogs } from './stuck-logs.ts';
import { Tombstones } from './tombstones.ts';

/** As large as a few entries and not compressible, so that it needs as much disk space as real entries. */
const PROBE_BYTES = 1350;
const LINK_TENANTS = 100;
const REPORTED_MAX = 20;
const TAMPERED =
  'Somebody wrote to the database directly, bypassing the service: entries that no node wrote were refused, or entries that a node wrote were removed. Find out who could write to it, and run "coffer server verify".';

/**
 * Several nodes insert, so the order is known only after the commit, and entries are linked then. Each node authenticates and numbers the segments
 * it inserts: a segment that no node wrote is refused, and a deleted segment leaves a gap that is detected.
 */
export class PostgresAuditStore implements AuditStore {
  readonly #database: PostgresDatabase;
  readonly #heads: Heads;
  readonly #time: TimeSources;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #nodes: NodeSegments;
  readonly #linking: SegmentLinking;
  readonly #tombstones: Tombstones;
  readonly #stuck: StuckLogs;
  /** The last tenant of the previous round. */
  #lastTenant = '';
  #isIdle = false;

  constructor(parts: {
    database: PostgresDatabase;
    heads: Heads;
    keyring: Keyring;
    time: TimeSources;
    log: Logger;
    metrics: Metrics;
    nodeId: string;
  }) {
    const { database, heads, keyring, time, log, metrics } = parts;
    this.#database = database;
    this.#heads = heads;
    this.#time = time;
    this.#log = log;
    this.#metrics = metrics;
    const nodes = new NodeSegments(parts.nodeId);
    this.#nodes = nodes;
    this.#linking = new SegmentLinking({ database, heads, keyring, nodes });
    const appendIn = this.appendIn.bind(this);
    this.#tombstones = new Tombstones({ database, heads, keyring, nodes, time, log, appendIn });
    this.#stuck = new StuckLogs({ database, elapsed: () => time.elapsed(), log, metrics });
  }

  async append(entries: AuditEntry[]): Promise<void> {
    const groups = [...Map.groupBy(entries, (entry) => entry.tenant_id)];
    const keys = await Promise.all(groups.map(([tenantId]) => this.#heads.key(tenantId)));
    const segments = groups.flatMap(([tenantId, group], i) =>
      newSegments(group).map(({ id, texts }) => ({
        ...this.#signed(tenantId, id, segmentText(texts), keys[i] as MacKey),
        texts,
      })),
    );
    await this.#insert(segments);
    for (const { row, texts } of segments) {
      const { tenant_id, id, node_id, node_no, voids } = row;
      this.#linking.add(tenant_id, { id, node_id, node_no, voids, texts });
    }
  }

  #signed(tenantId: string, id: string, entries: string, key: MacKey): { row: Unlinked; end: Signed['end'] } {
    const { end, ...origin } = this.#nodes.sign(tenantId, id, entries, key);
    return { row: { tenant_id: tenantId, id, entries, ...origin }, end };
  }

  /** If the database does not say whether it has committed, the segments may still be committed later, so they are not void yet. */
  async #insert(segments: readonly { row: Unlinked; end: Signed['end'] }[]): Promise<void> {
    try {
      await insertSegments(
        this.#database,
        segments.map(({ row }) => row),
      );
    } catch (error) {
      for (const { end } of segments) end(isRefusedByServer(error) ? 'rolled back' : 'unknown');
      throw error;
    }
    for (const { end } of segments) end('committed');
  }

  async appendIn(tx: Tx, entries: AuditEntry[], headKey: MacKey): Promise<void> {
    const tenantId = tenantOf(entries);
    for (const { id, texts } of newSegments(entries)) {
      const { row, end } = this.#signed(tenantId, id, segmentText(texts), headKey);
      tx.onEnd.push(end);
      sendSegment(tx, row);
    }
  }

  /** Writes and commits a row like real entries, and deletes it in the same transaction so that nobody can see it. */
  async probeWrite(): Promise<void> {
    const id = newId('audit');
    const entries = randomBytes(PROBE_BYTES).toString('base64');
    const unsigned = { node_id: null, node_no: null, voids: null, mac: null, mac_key_version: null };
    const unlinked = { first_seq: null, hashes: null, schema_version: SCHEMA_VERSION };
    const row = { tenant_id: SYSTEM_TENANT, id, entries, ...unlinked, ...unsigned };
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
    return oldest?.id == null ? 0 : Math.max(0, this.#time.now() - timeOfId(oldest.id));
  }

  async settle(): Promise<void> {}

  async close(): Promise<void> {}

  get isIdle(): boolean {
    return this.#isIdle;
  }

  async link(): Promise<boolean> {
    this.#isIdle = false;
    const hasUnsettled = this.#nodes.unknown().length > 0 || this.#nodes.tenantsWithVoids().length > 0;
    await this.#tombstones.insertOwn();
    await this.#insertVoids();
    const tenants = await this.#tenantsWithPending();
    this.#isIdle = tenants.length === 0 && !hasUnsettled;
    const linked: number[] = [];
    for (const { tenant_id } of tenants) linked.push((await this.#linkTenant(tenant_id))?.count ?? 0);
    // Tenants whose head is not authentic are found in every round although their segments cannot be linked, so they alone must not start another
    // round.
    return (
      linked.some((count) => count >= LINK_BATCH) ||
      (tenants.length === LINK_TENANTS && linked.some((count) => count > 0))
    );
  }

  async linkAll(tenantId: string): Promise<ReadonlySet<string>> {
    for (;;) {
      const linked = await this.#linkTenant(tenantId, { waits: true });
      if (linked === null || linked.count < LINK_BATCH) return new Set(linked?.open.map(({ node }) => node));
    }
  }

  async #linkTenant(tenantId: string, { waits } = { waits: false }): Promise<Linked | null> {
    return this.#stuck.unlessStuck(tenantId, async () => {
      const linked = await this.#linking.link(tenantId, { waits });
      if (linked === null) return null;
      await this.#report(tenantId, linked);
      await this.#tombstones.insertForOthers(tenantId, linked.open);
      return linked;
    });
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
      else await this.#stuck.unlessStuck(tenantId, () => this.#insertVoidsOf(tenantId));
    }
  }

  async #insertVoidsOf(tenantId: string): Promise<true> {
    const key = await this.#heads.key(tenantId);
    await this.#insert([this.#signed(tenantId, newId('audit', this.#time.now()), NO_ENTRIES, key)]);
    return true;
  }

  /** Reports to the service log and to the tenant's own audit log. */
  async #report(tenantId: string, { refused, missing }: Linked): Promise<void> {
    if (refused.length === 0 && missing.length === 0) return;
    this.#metrics.refusedSegments.inc(refused.length + missing.length);
    const details = {
      refused: refused.slice(0, REPORTED_MAX),
      refused_count: refused.length,
      missing: missing.slice(0, REPORTED_MAX),
    };
    this.#log.error({ tenant: tenantId, ...details, what_to_do: TAMPERED }, 'the audit log was tampered with');
    const facts = { tenantId, actorId: 'job:link-audit', resource: 'audit', now: this.#time.now() } as const;
    const entry = systemEntry({ ...facts, action: TAMPERING_ACTION, status: 500, details });
    await this.append([{ ...entry, decision: 'error', reason: 'the audit log was tampered with' }]);
  }
}
