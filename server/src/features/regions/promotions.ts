import type { Logger } from 'pino';
import type { Clock } from '../../kernel/base/clock.ts';
import type { Database, Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { type Contacts, quorums, waitMs } from './contacts.ts';
import type { Directory } from './directory.ts';
import {
  deletePendingPromotion,
  findCells,
  findPromotion,
  operationOf,
  type PromotionRow,
  pendingPromotions,
  putPromotion,
} from './directory-store.ts';
import type { Exchange } from './exchange.ts';
import type { RegionStatements } from './region-statements.ts';
import { publishedHead, replicaOf } from './replica.ts';
import type { RegionConfig } from './settings.ts';

/** The lease of each region that has noted an epoch. */
type NotedBy = Record<string, number>;

const PROMOTIONS_AT_ONCE = 50;

/** Makes this region the primary region of tenants, and starts to handle them once no other region can. */
export class Promotions {
  readonly #config: RegionConfig;
  readonly #database: Database;
  readonly #directory: Directory;
  readonly #contacts: Contacts;
  readonly #statements: RegionStatements;
  readonly #exchange: Exchange;
  readonly #log: Logger;
  readonly #clock: Clock;
  /** When this process first saw that enough regions had noted the epoch of a tenant, by its monotonic clock. */
  readonly #waitingSince = new Map<string, { epoch: number; at: number }>();

  constructor(parts: {
    config: RegionConfig;
    database: Database;
    directory: Directory;
    contacts: Contacts;
    statements: RegionStatements;
    exchange: Exchange;
    log: Logger;
    clock: Clock;
  }) {
    this.#config = parts.config;
    this.#database = parts.database;
    this.#directory = parts.directory;
    this.#contacts = parts.contacts;
    this.#statements = parts.statements;
    this.#exchange = parts.exchange;
    this.#log = parts.log;
    this.#clock = parts.clock;
  }

  /** For a tenant that is created here: no other region can know it. */
  async assignNew(tx: Tx, tenant: { tenant_id: string; name: string }, now: number): Promise<void> {
    await this.#take(tx, tenant, {
      epoch: 1,
      previous: null,
      reason: 'created',
      replica: null,
      begun_at: now,
      active_at: now,
    });
  }

  /** Takes the next epoch. Other regions learn of it after the commit, and until enough of them have, nothing of the tenant is handled here. */
  async begin(
    tx: Tx,
    tenant: { tenant_id: string; name: string },
    next: Pick<PromotionRow, 'epoch' | 'previous' | 'reason' | 'replica' | 'begun_at'>,
  ): Promise<void> {
    await raiseEpoch(tx, tenant.tenant_id);
    await this.#take(tx, tenant, { ...next, active_at: null });
  }

  async #take(
    tx: Tx,
    { tenant_id, name }: { tenant_id: string; name: string },
    next: Pick<PromotionRow, 'epoch' | 'previous' | 'reason' | 'replica' | 'begun_at' | 'active_at'>,
  ): Promise<void> {
    const { epoch, previous } = next;
    await this.#directory.write(tx, { kind: 'tenant', key: tenant_id, value: { name } });
    await this.#directory.write(tx, { kind: 'primary', key: tenant_id, value: { epoch, previous } });
    const noted_by = JSON.stringify({ [this.#config.name]: this.#config.leaseMs } satisfies NotedBy);
    await putPromotion(tx, { promoted_id: tenant_id, ...next, noted_by, noted_at: null });
  }

  /** Continues the promotions that are not active yet. Any node may do it, at any time. */
  async advance(): Promise<void> {
    for (const pending of await pendingPromotions(this.#database.read, PROMOTIONS_AT_ONCE))
      await this.#advance(pending);
  }

  async #advance(pending: PromotionRow): Promise<void> {
    const { name, peers } = this.#config;
    const [cell] = await findCells(this.#database.read, 'primary', [pending.promoted_id]);
    if (cell === undefined) return;
    if (cell.origin !== name) {
      // Another region has taken a later epoch meanwhile. Left here, it would take the turn of others.
      await this.#database.transaction((tx) => deletePendingPromotion(tx, pending));
      return;
    }
    // A region that was removed from the configuration since does not count.
    const isConfigured = (region: string) => region === name || peers.some((peer) => peer.name === region);
    const noted = new Map(Object.entries(JSON.parse(pending.noted_by) as NotedBy).filter(([n]) => isConfigured(n)));
    let head: { seq: number; hash: string } | null = null;
    const hadNoted = pending.previous !== null && noted.has(pending.previous);
    await Promise.all(
      peers
        .filter((peer) => !noted.has(peer.name))
        .map(async (peer) => {
          try {
            const { results, heads, lease_ms } = await this.#exchange.push(peer, [operationOf(cell)]);
            if (results[0] === 'superseded') return;
            noted.set(peer.name, lease_ms);
            if (peer.name === pending.previous) head = heads[0] ?? null;
          } catch (error) {
            this.#log.warn(
              { region: peer.name, problem: (error as Error).message },
              'a region could not be told of a promotion; retrying',
            );
          }
        }),
    );
    const now = this.#clock.now();
    const isEnough = noted.size >= quorums(peers.length + 1).toPromote;
    const noted_at = isEnough ? (pending.noted_at ?? now) : null;
    // The region before may itself have waited for one that still serves: only if every region has noted the epoch has every other stopped.
    const hasStopped = pending.previous === null || noted.size === peers.length + 1;
    const isOver = isEnough && this.#waited(pending) >= waitMs([...noted.values()]);
    const isActive = isEnough && (hasStopped || isOver);
    const replica = hadNoted ? pending.replica : await this.#replicaOf(pending, head);
    await this.#store({
      ...pending,
      replica,
      noted_by: JSON.stringify(Object.fromEntries(noted)),
      noted_at,
      active_at: isActive ? now : null,
    });
  }

  /**
   * How long this process has known that enough regions have noted an epoch. The wait must not depend on a clock that somebody can set, so it
   * begins again in each process: a node that starts, or learns of it from another node, waits too long rather than too short.
   */
  #waited({ promoted_id, epoch }: PromotionRow): number {
    const known = this.#waitingSince.get(promoted_id);
    const since = known?.epoch === epoch ? known : { epoch, at: this.#contacts.elapsed() };
    this.#waitingSince.set(promoted_id, since);
    return this.#contacts.elapsed() - since.at;
  }

  /**
   * How far the data here is behind, once the former region can add nothing more: by what it said when it noted the promotion, or else by what it
   * had published. It is computed until then, because what the former region acknowledged after the promotion began counts too.
   */
  async #replicaOf(
    { promoted_id, previous }: PromotionRow,
    head: { seq: number; hash: string } | null,
  ): Promise<string | null> {
    if (previous === null) return null;
    const { read } = this.#database;
    const last = head === null ? null : { ...head, at: this.#clock.now() };
    const known = last ?? (await publishedHead(this.#statements, read, promoted_id, previous));
    return JSON.stringify(await replicaOf(read, promoted_id, known));
  }

  async #store(next: PromotionRow): Promise<void> {
    const { tenant_id: _, ...row } = next;
    const isActive = row.active_at !== null;
    await this.#database.transaction(async (tx) => {
      if (isActive) await raiseEpoch(tx, row.promoted_id);
      const current = await findPromotion(tx, row.promoted_id);
      if (current?.epoch !== row.epoch || current.active_at !== null) return;
      await putPromotion(tx, row);
    });
    if (!isActive) return;
    this.#waitingSince.delete(row.promoted_id);
    this.#log.info({ tenant: row.promoted_id, epoch: row.epoch }, 'this region is now the primary region');
  }
}
