import type { Reader } from '../../kernel/storage/database.ts';
import { compareStamps } from './crdt/hybrid-clock.ts';
import { type CellKind, type CellValues, isExcessive, type Operation, parsedValue, stampOf } from './crdt/operation.ts';
import { findCells, findPrimary, operationOf } from './directory-store.ts';
import type { RegionIdentity } from './identity.ts';
import { formerRegions } from './terms-store.ts';

type Said<K extends CellKind> = Operation & { kind: K };

/**
 * What regions said, as far as it counts. A region speaks about the tenants that it is or was the primary region of, and only while a key of its
 * configured certificates has signed what it said: a region that was removed from the configuration has said nothing.
 */
export class RegionStatements {
  readonly #region: string;
  readonly #identity: RegionIdentity;
  readonly #operatorTenantId: () => string;

  constructor(region: string, identity: RegionIdentity, operatorTenantId: () => string) {
    this.#region = region;
    this.#identity = identity;
    this.#operatorTenantId = operatorTenantId;
  }

  /** What a cell holds, by the region that said it. */
  async of<K extends CellKind>(db: Reader, kind: K, key: string): Promise<Said<K>[]> {
    const said = (await findCells(db, kind, [key])).map(operationOf) as Said<K>[];
    return said.filter((one) => !one.isRemoved && !isExcessive(one) && this.#identity.isSigned(one));
  }

  /** The regions whose statements about a tenant count here. No other region speaks about the operator's tenant of this region, or one without a region. */
  async speakersFor(db: Reader, tenantId: string): Promise<ReadonlySet<string>> {
    const row = tenantId === this.#operatorTenantId() ? undefined : await findPrimary(db, tenantId);
    if (row === undefined) return new Set([this.#region]);
    const { origin, previous } = { origin: row.origin, ...parsedValue(operationOf(row) as Said<'primary'>) };
    return new Set([origin, ...(previous === null ? [] : [previous]), ...(await formerRegions(db, tenantId))]);
  }

  /** The name of a tenant: what its primary region says, or else the last one that any former one said. */
  async nameOf(db: Reader, tenantId: string, primary: string | null): Promise<string | null> {
    const speakers = await this.speakersFor(db, tenantId);
    const said = (await this.of(db, 'tenant', tenantId)).filter(({ origin }) => speakers.has(origin));
    const [last] = said.toSorted((a, b) => compareStamps(stampOf(b), stampOf(a)));
    const found = said.find(({ origin }) => origin === primary) ?? last;
    return found === undefined ? null : parsedValue(found).name;
  }

  /** How far the log of a tenant had come in a region, as that one said. */
  async headOf(db: Reader, tenantId: string, region: string): Promise<CellValues['head'] | null> {
    const found = (await this.of(db, 'head', tenantId)).find(({ origin }) => origin === region);
    return found === undefined ? null : parsedValue(found);
  }

  /** As of when a region had published the heads of all its tenants. */
  async publishedBy(db: Reader, region: string): Promise<number | null> {
    const [found] = await this.of(db, 'published', region);
    return found === undefined ? null : parsedValue(found).at;
  }

  async isRevoked(db: Reader, tokenId: string, tenantId: string): Promise<boolean> {
    const said = await this.of(db, 'revoked_token', tokenId);
    const about = said.filter((one) => parsedValue(one).tenant_id === tenantId);
    if (about.length === 0) return false;
    const speakers = await this.speakersFor(db, tenantId);
    return about.some(({ origin }) => speakers.has(origin));
  }
}
