import { type Operation, parsedValue } from './crdt/operation.ts';
import type { Directory } from './directory.ts';
import { activePromotions, type CellRow, elementsOf, findCells, listCells, operationOf } from './directory-store.ts';
import type { RegionKernel } from './links.ts';
import type { RegionConfig } from './settings.ts';

const HEADS_AT_ONCE = 200;
const SIGNED_AT_ONCE = 1000;

/** What this region tells the others by itself, again and again. Every node does it: what another node has published is not published again. */
export class Publication {
  readonly #kernel: RegionKernel;
  readonly #config: RegionConfig;
  readonly #directory: Directory;
  /** How far it was looked for cells that must be signed again; null once all were found. */
  #signedUpTo: number | null = 0;
  /** Where the next heads are looked for, and when this pass over all tenants began. */
  #heads = { after: '', begunAt: 0 };

  constructor(kernel: RegionKernel, config: RegionConfig, directory: Directory) {
    this.#kernel = kernel;
    this.#config = config;
    this.#directory = directory;
  }

  async publish(): Promise<void> {
    if (this.#directory.takeRenumbered()) this.#signedUpTo = 0;
    if (this.#signedUpTo !== null) this.#signedUpTo = await this.#directory.signAgain(this.#signedUpTo, SIGNED_AT_ONCE);
    await this.#publishKeys();
    await this.#publishHeads();
  }

  /** The keys that verify the tokens of this region. */
  async #publishKeys(): Promise<void> {
    const { database, signingKeys } = this.#kernel;
    const keys = await signingKeys.publicKeys();
    const own = (await elementsOf(database.read, 'public_key', this.#config.name)).map(operationOf);
    const known = new Set(own.map(({ key }) => key));
    const added = keys.filter(({ kid }) => !known.has(kid));
    const removed = own.filter(({ key }) => !keys.some(({ kid }) => kid === key));
    if (added.length + removed.length === 0) return;
    await database.transaction(async (tx) => {
      const writes = added.map(({ kid, issuer, jwk, verifiesUntil }) => ({
        kind: 'public_key' as const,
        key: kid,
        value: { issuer, jwk, verifies_until: verifiesUntil },
      }));
      await this.#directory.write(tx, ...writes);
      await this.#directory.remove(tx, removed);
    });
  }

  /**
   * How far the audit logs of this region's tenants have come, so that a promotion elsewhere can say what is missing there. If many have moved, the
   * rest follows next time. Once all tenants had their turn, the other regions learn as of when they know everything.
   */
  async #publishHeads(): Promise<void> {
    const { audit, database, clock } = this.#kernel;
    let { after, begunAt } = this.#heads;
    if (after === '') {
      begunAt = clock.now();
      // What was acknowledged before, and is not linked yet, belongs to what is known as of then.
      await audit.link();
    }
    const moved: { key: string; seq: number; hash: string }[] = [];
    let isPassDone = false;
    while (moved.length < HEADS_AT_ONCE && !isPassDone) {
      const rows = await listCells(database.read, 'primary', after, HEADS_AT_ONCE);
      const last = rows.at(-1);
      isPassDone = last === undefined;
      after = last?.cell_key ?? '';
      moved.push(...(await this.#movedOf(rows)));
    }
    const at = clock.now();
    await database.transaction(async (tx) => {
      for (const { key, seq, hash } of moved)
        await this.#directory.write(tx, { kind: 'head', key, value: { seq, hash, at } });
      const all = { kind: 'published', key: this.#config.name, value: { at: begunAt } } as const;
      if (isPassDone) await this.#directory.write(tx, all);
    });
    // Only now: if the transaction fails, the same tenants have their turn again.
    this.#heads = { after, begunAt };
  }

  /** The tenants whose heads differ from what is published. Another node of this region may have published them. */
  async #movedOf(rows: readonly CellRow[]): Promise<{ key: string; seq: number; hash: string }[]> {
    const { read } = this.#kernel.database;
    const own = rows.filter(({ origin }) => origin === this.#config.name).map(({ cell_key }) => cell_key);
    // Until a promotion is over, the head is that of the former region, which says what is missing here.
    const active = await activePromotions(read, own);
    if (active.length === 0) return [];
    const said = (await findCells(read, 'head', active)).filter(({ origin }) => origin === this.#config.name);
    const published = new Map(said.map((cell) => [cell.cell_key, cell]));
    const isPublished = (tenantId: string, seq: number) => {
      const cell = published.get(tenantId);
      return cell !== undefined && seqOf(cell) === seq;
    };
    return (await this.#kernel.heads.rows(read, active))
      .filter(({ tenant_id, seq }) => !isPublished(tenant_id, seq))
      .map(({ tenant_id, seq, hash }) => ({ key: tenant_id, seq, hash: Buffer.from(hash).toString('hex') }));
  }
}

function seqOf(cell: CellRow): number {
  return parsedValue(operationOf(cell) as Operation & { kind: 'head' }).seq;
}
