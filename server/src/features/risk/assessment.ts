import { DAY_MS } from '../../kernel/base/clock.ts';
import { SEALED_OVERHEAD_BYTES } from '../../kernel/crypto/sealing.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import type { RiskFactor } from '../secrets/index.ts';
import { isTemplate, partsOfTemplates } from '../secrets/references/index.ts';
import { type AssessedRow, assessedSecrets } from '../secrets/storage/index.ts';
import { fingerprintKey } from '../secrets/value/index.ts';
import type { VaultRow } from '../vaults/storage/index.ts';
import { commonFingerprints } from './common-values.ts';
import { readsSince, type SecretReadRow } from './read-store.ts';
import { couldRead, couldReadParts, loadReaders, readersInVault, type SameRights } from './readers.ts';
import { type AnomalyPoints, type Facts, isEstablished, riskFactorsFor, STALE_AFTER_DAYS } from './scoring.ts';

/** Evaluations of rights before other work has a turn. */
const DECISIONS_PER_TURN = 100;
/** How many counts of equal values are cached during a run. */
const EQUAL_CACHED_MAX = 10_000;

/** Finds what open anomalies add to the risk of secrets. */
export type FindAnomalyPoints = (
  db: Reader,
  tenantId: string,
  secretIds: readonly string[],
) => Promise<ReadonlyMap<string, AnomalyPoints>>;

interface ValueKeys {
  version: number;
  common: ReadonlySet<string>;
}

interface AssessmentParts {
  db: Reader;
  tenantId: string;
  now: number;
  readers: readonly SameRights[];
  keys: ValueKeys;
  /** Since when it is known who read what; null if it is not. */
  readsKnownSince: number | null;
  anomalyPoints: FindAnomalyPoints;
}

/** Computes the risk of secrets of one tenant, as everything is when it is opened. */
export class Assessment {
  readonly #parts: AssessmentParts;
  readonly #equal = new Map<string, number>();
  /** How many principals with these rights are there long enough to be stale, and the rights of each of those. */
  readonly #established = new Map<SameRights, number>();
  readonly #rightsOf = new Map<string, SameRights>();
  #vault: { name: string; readers: readonly SameRights[] } | null = null;

  constructor(parts: AssessmentParts) {
    this.#parts = parts;
    for (const rights of parts.readers) {
      const keys = principalsOf(rights)
        .filter(({ since }) => isEstablished(since, parts.now))
        .map(({ key }) => key);
      this.#established.set(rights, keys.length);
      for (const key of keys) this.#rightsOf.set(key, rights);
    }
  }

  static async open(
    kernel: Pick<Kernel, 'keyring'>,
    parts: Pick<AssessmentParts, 'db' | 'tenantId' | 'now' | 'readsKnownSince' | 'anomalyPoints'>,
  ): Promise<Assessment> {
    const key = await fingerprintKey(kernel, parts.tenantId);
    const readers = await loadReaders(parts.db, parts.tenantId, parts.now);
    return new Assessment({ ...parts, readers, keys: { version: key.version, common: commonFingerprints(key) } });
  }

  get readers(): readonly SameRights[] {
    return this.#parts.readers;
  }

  /** The factors of some secrets of a vault, by secret. */
  async factors(vault: VaultRow, rows: readonly AssessedRow[]): Promise<Map<string, RiskFactor[]>> {
    const { db, tenantId, now, anomalyPoints } = this.#parts;
    const ids = rows.map(({ secret_id }) => secret_id);
    const anomalies = await anomalyPoints(db, tenantId, ids);
    const recent = await readsSince(db, tenantId, ids, now - STALE_AFTER_DAYS * DAY_MS);
    const readsBySecret = Map.groupBy(recent, ({ secret_id }) => secret_id);
    await this.#countEqual(vault, rows);
    const inVault = await this.#readersIn(vault.name);
    const parts = await partsOfTemplates(
      db,
      tenantId,
      rows.filter(isTemplate).map(({ secret_id }) => secret_id),
    );
    const found = new Map<string, RiskFactor[]>();
    let decisions = 0;
    for (const row of rows) {
      const ofRow = parts.get(row.secret_id) ?? [];
      const readers = inVault.filter((rights) => couldRead(rights, vault.name, row) && couldReadParts(rights, ofRow));
      const facts: Facts = {
        now,
        type: row.type,
        environment: row.environment,
        // The service cannot make values that it cannot seal.
        mayRotate: vault.is_zero_knowledge === 0,
        hasRotation: row.rotation !== null,
        valuedAt: row.valued_at,
        endsAt: row.expires_at === null || row.expires_at < 0 ? null : row.expires_at,
        readers: readers.reduce((sum, { users, connections }) => sum + users.length + connections.length, 0),
        staleReaders: this.#staleReaders(vault, row, readers, readsBySecret.get(row.secret_id) ?? []),
        value: this.#valueOf(vault, row),
        anomalies: anomalies.get(row.secret_id) ?? null,
      };
      found.set(row.secret_id, riskFactorsFor(facts));
      decisions += inVault.length;
      if (decisions < DECISIONS_PER_TURN) continue;
      decisions = 0;
      await nextTurn(tenantId);
    }
    return found;
  }

  /** Secrets come vault by vault, so that it is enough to cache the readers of one. */
  async #readersIn(vault: string): Promise<readonly SameRights[]> {
    if (this.#vault?.name !== vault) {
      const found = await readersInVault(this.#parts.tenantId, this.#parts.readers, vault);
      this.#vault = { name: vault, readers: found.map(({ rights }) => rights) };
    }
    return this.#vault.readers;
  }

  /** Only users who had 60 days to read it count: neither they nor the secret are newer. */
  #staleReaders(
    vault: VaultRow,
    row: AssessedRow,
    readers: readonly SameRights[],
    recent: readonly SecretReadRow[],
  ): number | null {
    const { now, readsKnownSince } = this.#parts;
    const isKnown = readsKnownSince !== null && isEstablished(readsKnownSince, now);
    if (vault.log_reads === 0 || !isKnown) return null;
    if (!isEstablished(row.created_at, now)) return 0;
    const established = readers.reduce((sum, rights) => sum + (this.#established.get(rights) ?? 0), 0);
    const active = recent.filter(({ actor_kind, actor_id }) => {
      const rights = this.#rightsOf.get(`${actor_kind} ${actor_id}`);
      return rights !== undefined && readers.includes(rights);
    });
    return established - active.length;
  }

  /** Values of fortress secrets and of zero-knowledge vaults are never compared, and fingerprints under an older key cannot be. */
  #valueOf(vault: VaultRow, row: AssessedRow): Facts['value'] {
    if (!isCompared(vault, row)) return null;
    const fingerprint = this.#comparable(row);
    return {
      bytes: row.sealed_bytes - SEALED_OVERHEAD_BYTES,
      isCommon: fingerprint !== null && this.#parts.keys.common.has(fingerprint),
      secretsWithIt: fingerprint === null ? 1 : (this.#equal.get(fingerprint) ?? 1),
    };
  }

  #comparable({ fingerprint, fingerprint_version }: AssessedRow): string | null {
    if (fingerprint === null || fingerprint_version !== this.#parts.keys.version) return null;
    return assessedSecrets.hexOf(fingerprint);
  }

  async #countEqual(vault: VaultRow, rows: readonly AssessedRow[]): Promise<void> {
    const { db, tenantId, keys } = this.#parts;
    if (this.#equal.size > EQUAL_CACHED_MAX) this.#equal.clear();
    const wanted = new Map<string, Uint8Array>();
    for (const row of rows) {
      const text = isCompared(vault, row) ? this.#comparable(row) : null;
      if (text !== null && row.fingerprint !== null && !this.#equal.has(text)) wanted.set(text, row.fingerprint);
    }
    const counts = await assessedSecrets.countEqual(db, tenantId, keys.version, [...wanted.values()]);
    for (const [text, count] of counts) this.#equal.set(text, count);
  }
}

/** Named as the audit log names them. */
function principalsOf({ users, connections }: SameRights): { key: string; since: number }[] {
  return [
    ...users.map(({ user_id, created_at }) => ({ key: `user ${user_id}`, since: created_at })),
    ...connections.map(({ client_id, created_at }) => ({ key: `app_connection ${client_id}`, since: created_at })),
  ];
}

function isCompared(vault: VaultRow, row: AssessedRow): boolean {
  return vault.is_zero_knowledge === 0 && row.protection === 'standard';
}
