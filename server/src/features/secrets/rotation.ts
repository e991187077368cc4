import { timestamp } from '../../kernel/clock.ts';
import type { Context } from '../../kernel/context.ts';
import type { Body } from '../../kernel/endpoint.ts';
import { CofferError, invalidField } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import type { VaultRow } from '../vaults/index.ts';
import { authorOf, lockForChange, refuseWhileRotating, requireVersion, secretForChange } from './access.ts';
import type { BackendRotations } from './backend-rotation.ts';
import type * as contract from './contract.ts';
import type { Generator, Rotation, Secret } from './contract.ts';
import { generateValue, generatorProblem } from './generators.ts';
import type { ReadRow } from './read-store.ts';
import { lastRotationOf } from './rotation-store.ts';
import { nextRotation } from './schedule.ts';
import { sealerFor } from './sealing.ts';
import type * as store from './store.ts';
import { refuseBadValue, refuseInZeroKnowledge } from './values.ts';
import { appendVersion } from './versions.ts';

/** Generates a value for a secret of this type in this vault. */
export function newValue(
  vault: VaultRow,
  type: string,
  generator: Generator | undefined,
  pointer = '/body/generator',
  otherwise = 'send "value", or a "generator"',
): string {
  refuseInZeroKnowledge(vault, 'Making a value');
  const problem = generatorProblem(type, generator ?? null);
  if (problem !== null) throw invalidField(pointer, problem);
  const value = generateValue(type, generator ?? null);
  if (value !== null) return value;
  throw new CofferError('ROTATION_NOT_CONFIGURED', `Nothing says how to make a value of type ${type}: ${otherwise}.`);
}

/** A schedule that cannot work is refused when it is configured: when it is due, nobody reads the error. */
export function refuseBadRotation(vault: VaultRow, type: string, rotation: Rotation, pointer: string): void {
  refuseInZeroKnowledge(vault, 'Rotation by the service');
  if (rotation.backend !== undefined) {
    if (rotation.generator !== undefined) throw invalidField(`${pointer}/generator`, 'has no effect beside a backend');
    if (type !== 'database') throw invalidField(`${pointer}/backend`, 'rotates secrets of type database only');
    return;
  }
  newValue(vault, type, rotation.generator, `${pointer}/generator`, 'give the rotation a "generator"');
}

export async function rotate(
  ctx: Context,
  backends: BackendRotations,
  vaultName: string,
  path: string,
  body: Body<typeof contract.rotateSecret>,
) {
  const { vault } = await secretForChange(ctx, vaultName, path);
  const sealer = await sealerFor(ctx.kernel, vault);
  let started: store.RotationRow | null = null;
  const answer = await ctx.change(async (tx) => {
    const row = await lockForChange(ctx, tx, vault, path);
    refuseWhileRotating(row);
    requireVersion(ctx, row, body.expected_version);
    const rotation = row.rotation === null ? null : (JSON.parse(row.rotation) as Rotation);
    if (rotation?.backend !== undefined) {
      if (body.value !== undefined || body.generator !== undefined) {
        throw invalidField('/body', 'cannot say the value: the backend makes it; change it with PUT instead');
      }
      const by = { reason: body.reason ?? '', author: authorOf(ctx) };
      started = await backends.start(tx, vault, row, rotation.backend.kind, by, sealer, ctx.now);
      ctx.describe({ secret: row.secret_id, rotation: started.rotation_id, backend: rotation.backend.kind });
      return answerOf(started.rotation_id, 'in_progress', row);
    }
    const value = body.value ?? newValue(vault, row.type, body.generator ?? rotation?.generator);
    refuseBadValue(vault, row.type, value, '/body/value');
    const rotation_id = newId('rotation', ctx.now);
    const changed = await appendVersion(
      tx,
      row,
      {
        operation: 'rotate',
        reason: body.reason ?? '',
        author: authorOf(ctx),
        value,
        more: { rotated_at: ctx.now, next_rotation_at: nextRotation(rotation, ctx.now) },
      },
      ctx.now,
      sealer,
    );
    ctx.describe({ secret: row.secret_id, version: changed.version, rotation: rotation_id });
    return answerOf(rotation_id, 'completed', changed);
  });
  if (started !== null) backends.carryOutSoon(started);
  return answer;
}

function answerOf(rotation_id: string, status: 'completed' | 'in_progress', row: store.SecretRow) {
  return {
    rotation_id,
    status,
    version: row.version,
    rotated_at: row.rotated_at === null ? null : timestamp(row.rotated_at),
    next_rotation: row.next_rotation_at === null ? null : timestamp(row.next_rotation_at),
  };
}

/**
 * The status of the latest backend rotation, consistent with the row: one that ended after the row was read is reported as in progress. Otherwise the
 * response would say completed and hold the old value.
 */
export async function lastRotation(ctx: Context, row: ReadRow): Promise<Secret['rotation_status']> {
  const last = await lastRotationOf(ctx.database.read, ctx.tenantId, row.secret_id);
  if (last === undefined) return null;
  const { rotation_id, status, failure } = last;
  const hasEndedSince = rotation_id === row.rotation_id && status !== 'in_progress';
  return hasEndedSince ? { rotation_id, status: 'in_progress', failure: '' } : { rotation_id, status, failure };
}
