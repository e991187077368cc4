import type { Tx } from '../../kernel/storage/database.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

export interface MfaChallengeTables {
  answered_challenges: AnsweredChallengeRow;
}

/** A challenge that was answered. The row is stored until the challenge would have ended anyway. */
export interface AnsweredChallengeRow {
  tenant_id: string;
  challenge_hash: Uint8Array;
  expires_at: number;
}

/** False if it was answered before. */
export async function insertAnswered(tx: Tx, row: AnsweredChallengeRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('answered_challenges')
    .values(row)
    .onConflict((c) => c.columns(['tenant_id', 'challenge_hash']).doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

export async function deleteAnsweredBefore(tx: Tx, time: Cutoff): Promise<void> {
  await tx.deleteFrom('answered_challenges').where('expires_at', '<', time).execute();
}
