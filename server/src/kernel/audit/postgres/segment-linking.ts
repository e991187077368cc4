import type { Keyring, MacKey } from '../../keys/keyring.ts';
import type { Tx } from '../../storage/database.ts';
import type { PostgresDatabase } from '../../storage/postgres.ts';
import type { Heads } from '../chain/heads.ts';
import { textsOf } from '../chain/segment.ts';
import { type Gap, type NumberedSegment, type OpenNumber, type Sorted, sortSegments } from './linkable.ts';
import { isSignedByNode, isTombstone, type NodeSegments, nodeRow, PASSED_TOMBSTONE, REFUSED } from './node-segments.ts';
import {
  deleteSegments,
  linkedNumbers,
  segmentsById,
  setAside,
  unlinkedIds,
  unlinkedIdsOfNodes,
  writeLinks,
  writeNode,
} from './postgres-segments.ts';

export const LINK_BATCH = 500;
/** If more segments wait than one batch has, a number may look missing that is only further back. */
const NODE_BATCH = 2000;
/** Limit for the entries of cached segments. Segments that another node links are never looked up again, so they must be evicted too. */
const OWN_ENTRIES_MAX = 20_000;

/** A segment that is not linked yet, with its entries serialized as they are hashed. */
export type PendingSegment = NumberedSegment & { texts: readonly string[] };

export interface Linked {
  /** How many segments have left those that wait. */
  count: number;
  refused: readonly string[];
  missing: readonly Gap[];
  /** Numbers that segments wait for. */
  open: readonly OpenNumber[];
}

const NOTHING_LINKED: Linked = { count: 0, refused: [], missing: [], open: [] };

/** Links the segments of a tenant into its chain, under a lock on the head. */
export class SegmentLinking {
  readonly #database: PostgresDatabase;
  readonly #heads: Heads;
  readonly #keyring: Keyring;
  readonly #nodes: NodeSegments;
  /** Segments that this node inserted and will soon link, by tenant and segment. They need not be read back. */
  readonly #own = new Map<string, PendingSegment>();
  #ownEntries = 0;

  constructor(parts: {
    database: PostgresDatabase;
    heads: Heads;
    keyring: Keyring;
    nodes: NodeSegments;
  }) {
    this.#database = parts.database;
    this.#heads = parts.heads;
    this.#keyring = parts.keyring;
    this.#nodes = parts.nodes;
  }

  /** Caches a segment that this node has just committed. */
  add(tenantId: string, segment: PendingSegment): void {
    this.#own.set(ownSlot(tenantId, segment.id), segment);
    this.#ownEntries += segment.texts.length;
    for (const slot of this.#own.keys()) {
      if (this.#ownEntries <= OWN_ENTRIES_MAX) break;
      this.#evict(slot);
    }
  }

  #evict(slot: string): void {
    this.#ownEntries -= this.#own.get(slot)?.texts.length ?? 0;
    this.#own.delete(slot);
  }

  /** The lock on the head serializes nodes. A node that finds it locked leaves the work to the holder and returns null, unless it waits. */
  async link(tenantId: string, { waits }: { waits: boolean }): Promise<Linked | null> {
    const key = await this.#heads.key(tenantId);
    const done = await this.#database.transaction(async (tx) => {
      const row = tx.selectFrom('audit_heads').selectAll().where('tenant_id', '=', tenantId).forUpdate();
      const head = await (waits ? row : row.skipLocked()).executeTakeFirst();
      if (head === undefined) return null;
      if (!(await this.#heads.isAuthentic(head))) return { ...NOTHING_LINKED, linkable: [] };
      const { sorted, refused } = await this.#sort(tx, tenantId, key);
      const { linkable, repeated } = sorted;
      const entries = linkable.filter(({ texts }) => texts.length > 0);
      const empty = linkable.filter(({ texts }) => texts.length === 0);
      await writeLinks(tx, { tenantId, head }, entries, key);
      const refusedIds = [...refused, ...idsOf(repeated.filter((one) => !isTombstone(one)))];
      await setAside(tx, tenantId, refusedIds, REFUSED);
      await setAside(tx, tenantId, idsOf([...empty, ...repeated].filter(isTombstone)), PASSED_TOMBSTONE);
      // The others only list numbers.
      await deleteSegments(tx, tenantId, idsOf(empty.filter((one) => !isTombstone(one))));
      for (const [node, no] of sorted.linkedNo) await writeNode(tx, nodeRow(tenantId, node, no, key));
      return { count: linkable.length, refused: refusedIds, missing: sorted.missing, open: sorted.open, linkable };
    });
    if (done === null) return null;
    const { linkable, ...linked } = done;
    this.#heads.hasMoved(tenantId);
    for (const { id } of linkable) this.#evict(ownSlot(tenantId, id));
    return linked;
  }

  /** What this node knows of its own numbers is read first, since they may be committed while the segments are read. */
  async #sort(
    tx: Tx,
    tenantId: string,
    key: MacKey,
  ): Promise<{ sorted: Sorted<PendingSegment>; refused: readonly string[] }> {
    const known = this.#nodes.known(tenantId);
    const ids = await unlinkedIds(tx, tenantId, LINK_BATCH);
    const first = await this.#load(tx, tenantId, ids);
    const sort = async (segments: readonly PendingSegment[], isComplete: boolean) => {
      const nodes = nodesOf(segments);
      const before = await linkedNumbers(tx, { keyring: this.#keyring, key }, tenantId, nodes);
      return sortSegments(segments, before, { nodeId: this.#nodes.nodeId, ...known, isComplete });
    };
    const sorted = await sort(first.authentic, ids.length < LINK_BATCH);
    if (ids.length < LINK_BATCH || (sorted.missing.length === 0 && sorted.open.length === 0))
      return { sorted, refused: first.refused };
    const more = await unlinkedIdsOfNodes(tx, tenantId, nodesOf(first.authentic), NODE_BATCH);
    const second = await this.#load(tx, tenantId, more);
    return {
      sorted: await sort(second.authentic, more.length < NODE_BATCH),
      refused: [...new Set([...first.refused, ...second.refused])],
    };
  }

  /**
   * Segments, divided by whether a node wrote them. A tenant whose rows are not authenticated yet may have segments without a signature.
   */
  async #load(
    tx: Tx,
    tenantId: string,
    ids: readonly string[],
  ): Promise<{ authentic: PendingSegment[]; refused: string[] }> {
    // The cache is read before the query below, since another request may evict a segment during it.
    const cached = ids.map((id) => ({ id, own: this.#own.get(ownSlot(tenantId, id)) }));
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
    for (const row of await segmentsById(tx, tenantId, ids)) {
      const isUnsignedLegacy = row.mac === null && !this.#keyring.isAuthenticated(tenantId);
      if (isUnsignedLegacy || (await isSignedByNode(this.#keyring, row)))
        found.set(row.id, { ...row, texts: textsOf(row) });
    }
    return found;
  }
}

function nodesOf(segments: readonly PendingSegment[]): string[] {
  return [...new Set(segments.map(({ node_id }) => node_id ?? ''))];
}

function idsOf(segments: readonly PendingSegment[]): string[] {
  return segments.map(({ id }) => id);
}

function ownSlot(tenantId: string, id: string): string {
  return `${tenantId} ${id}`;
}
