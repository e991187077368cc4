import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

export interface AnomaliesModelTables {
  anomaly_training: TrainingRow;
  anomaly_model_votes: VoteRow;
}

/** The features of an anomaly that somebody called a false alarm. */
export interface TrainingRow {
  tenant_id: string;
  /** Only findings of the same class are compared: the same type and resource, and where it matters the same country. */
  training_class: string;
  anomaly_id: string;
  /** JSON: a list of numbers. */
  features: string;
  dismissed_at: number;
}

/** What each model said about the reads of a resource, if any of them would have raised an anomaly. */
export interface VoteRow {
  tenant_id: string;
  resource: string;
  scan_no: number;
  mode: 'shadow' | 'ensemble';
  v1: number;
  v2: number;
  /** Null if its vote could not matter. */
  forest: number | null;
  /** The anomaly that the finding became; null if it was not raised. */
  anomaly_id: string | null;
  voted_at: number;
}

/** Newest ones of a class; older ones no longer count. */
const TRAINING_MAX = 100;
const DELETED_AT_ONCE = 500;

export async function addTraining(tx: Tx, row: TrainingRow): Promise<void> {
  await tx
    .insertInto('anomaly_training')
    .values(row)
    .onConflict((c) => c.columns(['tenant_id', 'training_class', 'anomaly_id']).doNothing())
    .execute();
}

export async function trainingOf(db: Reader, tenantId: string, trainingClass: string): Promise<number[][]> {
  const rows = await db
    .selectFrom('anomaly_training')
    .select('features')
    .where('tenant_id', '=', tenantId)
    .where('training_class', '=', trainingClass)
    .orderBy('anomaly_id', 'desc')
    .limit(TRAINING_MAX)
    .execute();
  return rows.map(({ features }) => JSON.parse(features) as number[]);
}

export async function storeVote(tx: Tx, row: VoteRow): Promise<void> {
  const { mode, v1, v2, forest, anomaly_id, voted_at } = row;
  await tx
    .insertInto('anomaly_model_votes')
    .values(row)
    .onConflict((c) =>
      c.columns(['tenant_id', 'resource', 'scan_no']).doUpdateSet({ mode, v1, v2, forest, anomaly_id, voted_at }),
    )
    .execute();
}

export interface VoteCount {
  v1: number;
  v2: number;
  forest: number | null;
  isDismissed: boolean;
  count: number;
}

/** Votes that were the same are counted together. */
export async function countVotes(db: Reader, tenantId: string, since: number): Promise<VoteCount[]> {
  const rows = await db
    .selectFrom('anomaly_model_votes as votes')
    .leftJoin('anomalies', (join) =>
      join
        .onRef('anomalies.tenant_id', '=', 'votes.tenant_id')
        .onRef('anomalies.anomaly_id', '=', 'votes.anomaly_id')
        .on('anomalies.status', '=', 'dismissed'),
    )
    .select(['v1', 'v2', 'forest'])
    .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.count<number>('anomalies.anomaly_id').as('dismissed')])
    .where('votes.tenant_id', '=', tenantId)
    .where('voted_at', '>=', since)
    .groupBy(['v1', 'v2', 'forest'])
    .execute();
  return rows.flatMap(({ v1, v2, forest, count, dismissed }) => [
    { v1, v2, forest, isDismissed: true, count: Number(dismissed) },
    { v1, v2, forest, isDismissed: false, count: Number(count) - Number(dismissed) },
  ]);
}

/** Deletes votes and false alarms from before; returns how many. */
export async function deleteOld(tx: Tx, votes: Cutoff, training: Cutoff): Promise<number> {
  const oldVotes = await tx
    .selectFrom('anomaly_model_votes')
    .select(['tenant_id', 'resource', 'scan_no'])
    .where('voted_at', '<', votes)
    .limit(DELETED_AT_ONCE)
    .execute();
  for (const { tenant_id, resource, scan_no } of oldVotes) {
    await tx
      .deleteFrom('anomaly_model_votes')
      .where('tenant_id', '=', tenant_id)
      .where('resource', '=', resource)
      .where('scan_no', '=', scan_no)
      .execute();
  }
  const oldTraining = await tx
    .selectFrom('anomaly_training')
    .select(['tenant_id', 'training_class', 'anomaly_id'])
    .where('dismissed_at', '<', training)
    .limit(DELETED_AT_ONCE)
    .execute();
  for (const { tenant_id, training_class, anomaly_id } of oldTraining) {
    await tx
      .deleteFrom('anomaly_training')
      .where('tenant_id', '=', tenant_id)
      .where('training_class', '=', training_class)
      .where('anomaly_id', '=', anomaly_id)
      .execute();
  }
  return oldVotes.length + oldTraining.length;
}
