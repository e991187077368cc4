import type { Logger } from 'pino';
import { SECOND_MS } from '../../base/clock.ts';
import { CofferError } from '../../base/errors.ts';
import { LOST_ACTION } from '../../integrity/tampering.ts';
import type { Keyring, MacKey } from '../../keys/keyring.ts';
import type { Tx } from '../../storage/database.ts';
import type { PostgresDatabase } from '../../storage/postgres.ts';
import type { TimeSources } from '../../time/sources.ts';
import type { Heads } from '../chain/heads.ts';
import type { AuditEntry } from '../entry/entry.ts';
import { systemEntry } from '../entry/system-entry.ts';
import type { Gap, OpenNumber } from './linkable.ts';
import { type NodeSegments, tombstone } from './node-segments.ts';
import { deleteSegments, insertTombstone, limitLockWait, linkedNumbers } from './postgres-segments.ts';

/**
 * How long a node waits, by its own monotonic clock, for a segment that another node may still commit. It decides nothing: a tombstone that comes
 * too early makes the other node's commit fail, and its caller is told so.
 */
export const OPEN_WAIT_MS = 60 * SECOND_MS;
/** A transaction that has inserted the segment and is still running decides. It is waited for only briefly, because other logs wait meanwhile. */
const LOCK_WAIT_MS = SECOND_MS;
const RETRY_MS = SECOND_MS;
const REPORTED_MAX = 20;
const LOST =
  'The node ended, or was stopped for over a minute, before it committed the changes for which it had reserved these audit segment numbers. They cannot be committed any more, and no caller was told that they were. If no node crashed, was killed or lost its database at that time, find out who could write to the database.';

type Numbered = readonly [no: number, id: string];

/**
 * Declares segments lost whose outcome is unknown, by a row under the same key. The database decides: either the segment is committed or its
 * tombstone, never both, however late the segment arrives.
 */
export class Tombstones {
  readonly #database: PostgresDatabase;
  readonly #heads: Heads;
  readonly #keyring: Keyring;
  readonly #nodes: NodeSegments;
  readonly #time: TimeSources;
  readonly #log: Logger;
  readonly #appendIn: (tx: Tx, entries: AuditEntry[], headKey: MacKey) => Promise<void>;
  /** Open numbers of other nodes, by tenant, with the elapsed time at which this node first saw them. */
  readonly #waiting = new Map<string, Map<string, number>>();
  /** When the next attempt is due, by tenant and node. */
  readonly #retryAt = new Map<string, number>();

  constructor(parts: {
    database: PostgresDatabase;
    heads: Heads;
    keyring: Keyring;
    nodes: NodeSegments;
    time: TimeSources;
    log: Logger;
    appendIn(tx: Tx, entries: AuditEntry[], headKey: MacKey): Promise<void>;
  }) {
    this.#database = parts.database;
    this.#heads = parts.heads;
    this.#keyring = parts.keyring;
    this.#nodes = parts.nodes;
    this.#time = parts.time;
    this.#log = parts.log;
    this.#appendIn = parts.appendIn;
  }

  /** For segments that this node sent, and of which the database did not say whether they were committed. */
  async insertOwn(): Promise<void> {
    for (const [tenantId, segments] of this.#nodes.unknown()) {
      // The creation of a tenant whose outcome is unknown may leave no log.
      if ((await this.#heads.row(this.#database.read, tenantId)) === undefined) continue;
      await this.#attempt(tenantId, this.#nodes.nodeId, async () => {
        const lost = await this.#insert(tenantId, this.#nodes.nodeId, segments);
        this.#nodes.settle(
          tenantId,
          segments.map(([no]) => no),
        );
        if (lost.length === 0) return;
        const facts = { tenant: tenantId, segments: lost.length };
        this.#log.warn(facts, 'audit entries whose requests had failed were not stored, and are not stored later');
      });
    }
  }

  /** For numbers that linking has waited for too long. `open` has all of this tenant that it waits for now. */
  async insertForOthers(tenantId: string, open: readonly OpenNumber[]): Promise<void> {
    const now = this.#time.elapsed();
    const before = this.#waiting.get(tenantId);
    const since = new Map(open.map(({ node, no }) => [`${node} ${no}`, before?.get(`${node} ${no}`) ?? now]));
    if (since.size === 0) this.#waiting.delete(tenantId);
    else this.#waiting.set(tenantId, since);
    const overdue = open.filter(
      ({ node, no, id }) =>
        node !== this.#nodes.nodeId && id !== null && now - (since.get(`${node} ${no}`) ?? now) >= OPEN_WAIT_MS,
    );
    for (const [node, numbers] of Map.groupBy(overdue, (one) => one.node)) {
      const segments = numbers.map(({ no, id }): Numbered => [no, String(id)]);
      await this.#attempt(tenantId, node, async () => {
        const lost = gapsOf(node, await this.#insert(tenantId, node, segments));
        if (lost.length === 0) return;
        this.#log.warn({ tenant: tenantId, lost, what_to_do: LOST }, 'a node left changes uncommitted');
      });
    }
  }

  async #attempt(tenantId: string, node: string, insert: () => Promise<void>): Promise<void> {
    const name = `${tenantId} ${node}`;
    if ((this.#retryAt.get(name) ?? 0) > this.#time.elapsed()) return;
    try {
      await insert();
      this.#retryAt.delete(name);
    } catch (error) {
      // The transaction that has inserted the segment still runs, or the database is unavailable.
      if (!(error instanceof CofferError)) throw error;
      this.#retryAt.set(name, this.#time.elapsed() + RETRY_MS);
    }
  }

  /** Returns the numbers that are lost now. Any other was committed. */
  async #insert(tenantId: string, node: string, segments: readonly Numbered[]): Promise<number[]> {
    const key = await this.#heads.key(tenantId);
    return this.#database.transaction(async (tx) => {
      await limitLockWait(tx, LOCK_WAIT_MS);
      const inserted: Numbered[] = [];
      for (const segment of segments) {
        if (await insertTombstone(tx, tombstone(tenantId, node, segment, key))) inserted.push(segment);
      }
      // A segment that was linked before, and merged with others since, has left its key.
      const linkedNo = (await linkedNumbers(tx, { keyring: this.#keyring, key }, tenantId, [node])).get(node) ?? 0;
      const [linked, lost] = [inserted.filter(([no]) => no <= linkedNo), inserted.filter(([no]) => no > linkedNo)];
      await deleteSegments(
        tx,
        tenantId,
        linked.map(([, id]) => id),
      );
      const numbers = lost.map(([no]) => no);
      if (numbers.length > 0 && node !== this.#nodes.nodeId) await this.#record(tx, tenantId, { node, numbers }, key);
      return numbers;
    });
  }

  async #record(
    tx: Tx,
    tenantId: string,
    { node, numbers }: { node: string; numbers: readonly number[] },
    key: MacKey,
  ): Promise<void> {
    const entry = systemEntry({
      tenantId,
      actorId: 'job:link-audit',
      action: LOST_ACTION,
      resource: 'audit',
      status: 200,
      details: { lost: gapsOf(node, numbers).slice(0, REPORTED_MAX) },
      now: this.#time.now(),
    });
    await this.#appendIn(tx, [entry], key);
  }
}

function gapsOf(node: string, numbers: readonly number[]): Gap[] {
  const gaps: Gap[] = [];
  for (const no of numbers.toSorted((a, b) => a - b)) {
    const last = gaps.at(-1);
    if (last?.to === no - 1) last.to = no;
    else gaps.push({ node, from: no, to: no });
  }
  return gaps;
}
