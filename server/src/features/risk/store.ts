import { sql } from 'kysely';
import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { kindOf } from '../../kernel/storage/dialect.ts';
import { PreparedQuery } from '../../kernel/storage/prepared-query.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import type { RiskFactor } from '../secrets/index.ts';
import { scoreOf, withoutValue } from '../secrets/risk/index.ts';

export interface RiskTables {
  secret_risks: RiskRow;
  secret_risk_days: RiskDayRow;
  secret_risk_changes: RiskChangeRow;
}

/** The last computed risk of a secret. Scores without the factors about the value are shown to users who may not read it. */
export interface RiskRow {
  tenant_id: string;
  secret_id: string;
  vault_id: string;
  score: number;
  score_without_value: number;
  /** JSON. */
  factors: string;
  computed_at: number;
}

/** The last risk of a secret on one day, in UTC. */
export interface RiskDayRow {
  tenant_id: string;
  secret_id: string;
  day_start: number;
  score: number;
  score_without_value: number;
  computed_at: number;
}

/** How the risk of a secret changed in one hour, without the factors about the value. Hours in which it stayed the same have no row. */
export interface RiskChangeRow {
  tenant_id: string;
  secret_id: string;
  hour_start: number;
  /** The score before the first change in the hour. */
  score_before: number;
  /** The score after the last change in the hour, which was at `changed_at`. */
  score_after: number;
  changed_at: number;
}

export interface ComputedRisk {
  secretId: string;
  vaultId: string;
  factors: RiskFactor[];
}

/** A score is compared with the one before it only if no run was missed between them: otherwise it is not known when it changed. */
const COMPARED_WITHIN_MS = 36 * HOUR_MS;
const DELETED_AT_ONCE = 1000;

export function dayStart(time: number): number {
  return Math.floor(time / DAY_MS) * DAY_MS;
}

function hourStart(time: number): number {
  return Math.floor(time / HOUR_MS) * HOUR_MS;
}

export async function findRisks(
  db: Reader,
  tenantId: string,
  secretIds: readonly string[],
): Promise<Map<string, RiskRow>> {
  if (secretIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('secret_risks')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('secret_id', 'in', secretIds)
    .execute();
  return new Map(rows.map((row) => [row.secret_id, row]));
}

/** The ids are an array for PostgreSQL, and its JSON for SQLite, so that the statement is the same for any number of secrets. */
const FACTORS = new PreparedQuery<
  { tenantId: string; ids: readonly string[] | string },
  Pick<RiskRow, 'secret_id' | 'factors'>
>((db, parameter) => {
  const ids = parameter('ids');
  return db
    .selectFrom('secret_risks')
    .select(['secret_id', 'factors'])
    .where('tenant_id', '=', parameter('tenantId'))
    .where(
      kindOf(db) === 'sqlite'
        ? sql<boolean>`secret_id in (select value from json_each(${ids}))`
        : sql<boolean>`secret_id = any(${ids}::text[])`,
    );
});

/** The factors that were last computed of these secrets, for lists. */
export async function findFactors(
  db: Reader,
  tenantId: string,
  secretIds: readonly string[],
): Promise<Map<string, RiskFactor[]>> {
  if (secretIds.length === 0) return new Map();
  const ids = kindOf(db) === 'sqlite' ? JSON.stringify(secretIds) : secretIds;
  const rows = await FACTORS.run(db, { tenantId, ids });
  return new Map(rows.map((row) => [row.secret_id, factorsOf(row)]));
}

export function factorsOf({ factors }: Pick<RiskRow, 'factors'>): RiskFactor[] {
  return JSON.parse(factors) as RiskFactor[];
}

/** Replaces the risks of some secrets and those of today in their history, and stores which of them changed. */
export async function storeRisks(
  tx: Tx,
  tenantId: string,
  computed: readonly ComputedRisk[],
  now: number,
): Promise<void> {
  if (computed.length === 0) return;
  const before = await findRisks(
    tx,
    tenantId,
    computed.map(({ secretId }) => secretId),
  );
  const rows = computed.map(
    ({ secretId, vaultId, factors }): RiskRow => ({
      tenant_id: tenantId,
      secret_id: secretId,
      vault_id: vaultId,
      score: scoreOf(factors),
      score_without_value: scoreOf(withoutValue(factors)),
      factors: JSON.stringify(factors),
      computed_at: now,
    }),
  );
  const days = rows.map(
    ({ secret_id, score, score_without_value }): RiskDayRow => ({
      tenant_id: tenantId,
      secret_id,
      day_start: dayStart(now),
      score,
      score_without_value,
      computed_at: now,
    }),
  );
  await tx
    .insertInto('secret_risks')
    .values(rows)
    .onConflict((c) =>
      c.columns(['tenant_id', 'secret_id']).doUpdateSet((eb) => ({
        vault_id: eb.ref('excluded.vault_id'),
        score: eb.ref('excluded.score'),
        score_without_value: eb.ref('excluded.score_without_value'),
        factors: eb.ref('excluded.factors'),
        computed_at: eb.ref('excluded.computed_at'),
      })),
    )
    .execute();
  await tx
    .insertInto('secret_risk_days')
    .values(days)
    .onConflict((c) =>
      c.columns(['tenant_id', 'secret_id', 'day_start']).doUpdateSet((eb) => ({
        score: eb.ref('excluded.score'),
        score_without_value: eb.ref('excluded.score_without_value'),
        computed_at: eb.ref('excluded.computed_at'),
      })),
    )
    .execute();
  await storeChanges(tx, before, rows);
}

async function storeChanges(tx: Tx, before: ReadonlyMap<string, RiskRow>, rows: readonly RiskRow[]): Promise<void> {
  const changes = rows.flatMap(({ tenant_id, secret_id, score_without_value, computed_at }): RiskChangeRow[] => {
    const last = before.get(secret_id);
    if (last === undefined || last.score_without_value === score_without_value) return [];
    if (last.computed_at < computed_at - COMPARED_WITHIN_MS) return [];
    return [
      {
        tenant_id,
        secret_id,
        hour_start: hourStart(computed_at),
        score_before: last.score_without_value,
        score_after: score_without_value,
        changed_at: computed_at,
      },
    ];
  });
  if (changes.length === 0) return;
  // `score_before` stays that of the first change in this hour.
  await tx
    .insertInto('secret_risk_changes')
    .values(changes)
    .onConflict((c) =>
      c.columns(['tenant_id', 'secret_id', 'hour_start']).doUpdateSet((eb) => ({
        score_after: eb.ref('excluded.score_after'),
        changed_at: eb.ref('excluded.changed_at'),
      })),
    )
    .execute();
}

/** The history of a secret, the newest day first. */
export function riskDays(db: Reader, tenantId: string, secretId: string, limit: number): Promise<RiskDayRow[]> {
  return db
    .selectFrom('secret_risk_days')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('secret_id', '=', secretId)
    .orderBy('day_start', 'desc')
    .limit(limit)
    .execute();
}

/** Secrets after `after` whose score changed since a time, in the order of their ids. */
export async function changedSecrets(
  db: Reader,
  tenantId: string,
  { since, after, limit }: { since: number; after: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('secret_risk_changes')
    .select('secret_id')
    .distinct()
    .where('tenant_id', '=', tenantId)
    .where('secret_id', '>', after)
    .where('changed_at', '>=', since)
    .orderBy('secret_id')
    .limit(limit)
    .execute();
  return rows.map(({ secret_id }) => secret_id);
}

/** The changes of these secrets from the hour of a time on, the oldest first. */
export function changesOf(
  db: Reader,
  tenantId: string,
  secretIds: readonly string[],
  since: number,
): Promise<RiskChangeRow[]> {
  return db
    .selectFrom('secret_risk_changes')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('secret_id', 'in', secretIds)
    .where('hour_start', '>=', hourStart(since))
    .orderBy('secret_id')
    .orderBy('hour_start')
    .execute();
}

/** The riskiest secrets of a vault first, by the score without the value; from the row after `after` on. */
export function worstRisks(
  db: Reader,
  tenantId: string,
  vaultId: string,
  { after, limit }: { after: Pick<RiskRow, 'score_without_value' | 'secret_id'> | null; limit: number },
): Promise<RiskRow[]> {
  let query = db
    .selectFrom('secret_risks')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('vault_id', '=', vaultId)
    .orderBy('score_without_value', 'desc')
    .orderBy('secret_id')
    .limit(limit);
  if (after !== null) {
    const { score_without_value: score, secret_id } = after;
    query = query
      .where('score_without_value', '<=', score)
      .where((eb) => eb.or([eb('score_without_value', '<', score), eb('secret_id', '>', secret_id)]));
  }
  return query.execute();
}

/** The highest score in each vault, without the value. */
export async function worstOfVaults(db: Reader, tenantId: string): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('secret_risks')
    .select((eb) => ['vault_id', eb.fn.max('score_without_value').as('worst')])
    .where('tenant_id', '=', tenantId)
    .groupBy('vault_id')
    .execute();
  return new Map(rows.map(({ vault_id, worst }) => [vault_id, Number(worst)]));
}

/** Deletes what is stored about secrets that were destroyed. */
export async function deleteRisksOf(tx: Tx, tenantId: string, secretIds: readonly string[]): Promise<void> {
  if (secretIds.length === 0) return;
  for (const table of ['secret_risks', 'secret_risk_days', 'secret_risk_changes'] as const) {
    await tx.deleteFrom(table).where('tenant_id', '=', tenantId).where('secret_id', 'in', secretIds).execute();
  }
}

/** Deletes days of the history before a time; returns how many. */
export async function deleteDaysBefore(tx: Tx, cutoff: Cutoff): Promise<number> {
  const rows = await tx
    .selectFrom('secret_risk_days')
    .select(['tenant_id', 'secret_id', 'day_start'])
    .where('day_start', '<', cutoff)
    .limit(DELETED_AT_ONCE)
    .execute();
  for (const { tenant_id, secret_id, day_start } of rows) {
    await tx
      .deleteFrom('secret_risk_days')
      .where('tenant_id', '=', tenant_id)
      .where('secret_id', '=', secret_id)
      .where('day_start', '=', day_start)
      .execute();
  }
  return rows.length;
}

/** Deletes changes before a time; returns how many. */
export async function deleteChangesBefore(tx: Tx, cutoff: Cutoff): Promise<number> {
  const rows = await tx
    .selectFrom('secret_risk_changes')
    .select(['tenant_id', 'secret_id', 'hour_start'])
    .where('hour_start', '<', cutoff)
    .limit(DELETED_AT_ONCE)
    .execute();
  for (const { tenant_id, secret_id, hour_start } of rows) {
    await tx
      .deleteFrom('secret_risk_changes')
      .where('tenant_id', '=', tenant_id)
      .where('secret_id', '=', secret_id)
      .where('hour_start', '=', hour_start)
      .execute();
  }
  return rows.length;
}
