import { timestamp } from '../../../kernel/base/clock.ts';
import { CofferError, invalidField } from '../../../kernel/base/errors.ts';
import { newId } from '../../../kernel/base/ids.ts';
import type { Body } from '../../../kernel/endpoint/declaration.ts';
import type { Context } from '../../../kernel/request/context.ts';
import type { VaultRow } from '../../vaults/storage/index.ts';
import { authorOf } from '../author.ts';
import { lockForChange, secretForChange } from '../authorization.ts';
import type * as contract from '../contract.ts';
import type { Generator, Rotation, Secret } from '../contract.ts';
import { requireVersion } from '../expected-version.ts';
import { givenEnd } from '../expiry/given-end.ts';
import type { SecretLocation } from '../location.ts';
import type { ReadRow } from '../reading/read-store.ts';
import { refuseUnresolvable } from '../references/written-template.ts';
import { awaitReview } from '../review/change-review.ts';
import { appendVersion } from '../storage/secret-writes.ts';
import type { SecretRow } from '../storage/tables.ts';
import { generateValue, generatorProblem } from '../value/generators.ts';
import { sealerFor } from '../value/sealing.ts';
import { refuseBadValue, refuseInZeroKnowledge } from '../value/value-rules.ts';
import type { BackendRotations } from './backend-rotation.ts';
import { refuseWhileRotating } from './in-progress.ts';
import { emitRotated } from './rotation-events.ts';
import { lastRotationOf, type RotationRow } from './rotation-store.ts';
import { nextRotation } from './schedule.ts';

/** Generates a value for a secret of this type in this vault. */
export function newValue(
  vault: VaultRow,
  type: string,
  generator: Generator | undefined,
  { pointer, otherwise } = { pointer: '/body/generator', otherwise: 'send "value" or "generator"' },
): string {
  refuseInZeroKnowledge(vault, 'Generating a value');
  const problem = generatorProblem(type, generator ?? null);
  if (problem !== null) throw invalidField(pointer, problem);
  const value = generateValue(type, generator ?? null);
  if (value !== null) return value;
  throw new CofferError('ROTATION_NOT_CONFIGURED', `There is no default generator for type ${type}: ${otherwise}.`);
}

/** A schedule that cannot work is refused when it is configured: when it is due, nobody reads the error. */
export function refuseBadRotation(vault: VaultRow, type: string, rotation: Rotation, pointer: string): void {
  refuseInZeroKnowledge(vault, 'Automatic rotation');
  if (rotation.backend !== undefined) {
    if (rotation.generator !== undefined) throw invalidField(`${pointer}/generator`, 'cannot be combined with backend');
    if (type !== 'database') throw invalidField(`${pointer}/backend`, 'can rotate only secrets of type database');
    return;
  }
  const otherwise = 'add a "generator" to the rotation';
  newValue(vault, type, rotation.generator, { pointer: `${pointer}/generator`, otherwise });
}

export async function rotate(
  ctx: Context,
  backends: BackendRotations,
  { vault: vaultName, path }: SecretLocation,
  body: Body<typeof contract.rotateSecret>,
) {
  const { vault } = await secretForChange(ctx, vaultName, path);
  const sealer = await sealerFor(ctx.kernel, vault);
  let started: RotationRow | null = null;
  const answer = await ctx.change(async (tx) => {
    const row = await lockForChange(ctx, tx, vault, path);
    refuseWhileRotating(row);
    await requireVersion(ctx, tx, row, body.expected_version);
    const rotation = row.rotation === null ? null : (JSON.parse(row.rotation) as Rotation);
    if (rotation?.backend !== undefined) {
      if (body.value !== undefined || body.generator !== undefined || body.expires_at !== undefined) {
        throw invalidField(
          '/body',
          'must not contain value, generator or expires_at, because the rotation backend generates the value: use PUT to set a value',
        );
      }
      started = await backends.start(tx, row, {
        kind: rotation.backend.kind,
        reason: body.reason ?? '',
        author: authorOf(ctx),
        sealer,
        now: ctx.now,
      });
      ctx.record.describe({ secret: row.secret_id, rotation: started.rotation_id, backend: rotation.backend.kind });
      const made = `changed together with ${rotation.backend.kind}`;
      await awaitReview(ctx, tx, { vault, sealer }, { before: row, after: row, made });
      return answerOf(started.rotation_id, 'in_progress', row);
    }
    const value = body.value ?? newValue(vault, row.type, body.generator ?? rotation?.generator);
    refuseBadValue(vault, row.type, value, '/body/value');
    await refuseUnresolvable(ctx, tx, { vault, row, value, pointer: '/body/value' });
    const expiresAt = givenEnd(ctx, vault, row.type, body.expires_at);
    const rotation_id = newId('rotation', ctx.now);
    const changed = await appendVersion(tx, row, {
      operation: 'rotate',
      reason: body.reason ?? '',
      author: authorOf(ctx),
      value,
      ...(expiresAt !== undefined && { expiresAt }),
      more: { rotated_at: ctx.now, next_rotation_at: nextRotation(rotation, ctx.now) },
      sealer,
      now: ctx.now,
    });
    await emitRotated(tx, { vault, row }, changed.version, ctx.now);
    ctx.record.describe({ secret: row.secret_id, version: changed.version, rotation: rotation_id });
    const made = body.value === undefined ? 'generated by the service' : undefined;
    await awaitReview(ctx, tx, { vault, sealer }, { before: row, after: changed, value: body.value, made });
    return answerOf(rotation_id, 'completed', changed);
  });
  if (started !== null) backends.carryOutSoon(started);
  return answer;
}

function answerOf(rotation_id: string, status: 'completed' | 'in_progress', row: SecretRow) {
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
