import { randomBytes } from 'node:crypto';
import { CofferError } from '../../../kernel/base/errors.ts';
import { sha256 } from '../../../kernel/crypto/digest.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { FACTOR_TRUSTED_AFTER_MS } from '../../../kernel/request/second-factor.ts';
import { lockUser } from '../../users/storage/index.ts';
import { lockFactors, requireFresh } from '../removal.ts';
import { countRecoveryCodes, replaceRecoveryCodes } from './factor-store.ts';
import { hasAny } from './factors.ts';

const CODES = 10;
const CODE_BYTES = 10;

export async function readCodes({ tenantId, principal, database }: Context) {
  return { left: await countRecoveryCodes(database.read, tenantId, principal.id) };
}

export async function makeCodes(ctx: Context) {
  ctx.access.requireUnrestricted();
  const { tenantId, principal, now } = ctx;
  const codes = newRecoveryCodes();
  return ctx.change(async (tx) => {
    await lockUser(tx, tenantId, principal.id);
    if (!hasAny(await lockFactors(tx, tenantId, principal.id))) {
      throw new CofferError(
        'NOT_FOUND',
        'Recovery codes replace a second factor, and you have none: enrol a passkey or an authenticator app first.',
      );
    }
    requireFresh(ctx, true, 'Making recovery codes');
    // Codes that were made with a factor of yesterday count like it; those made with a new one wait as long as it does.
    const trustedFrom = ctx.access.isFactorProven ? now : now + FACTOR_TRUSTED_AFTER_MS;
    const replaced = await countRecoveryCodes(tx, tenantId, principal.id);
    await replaceRecoveryCodes(tx, tenantId, principal.id, { hashes: codes.map(hashOfCode), trustedFrom });
    ctx.record.describe({ made: codes.length, replaced });
    return { recovery_codes: codes };
  });
}

export function newRecoveryCodes(): string[] {
  return Array.from({ length: CODES }, newRecoveryCode);
}

/** 80 random bits, in groups that are readable on paper. */
function newRecoveryCode(): string {
  const hex = randomBytes(CODE_BYTES).toString('hex');
  return (hex.match(/.{5}/g) ?? []).join('-');
}

/** The code is too random to guess, so a plain hash is enough. */
export function hashOfCode(code: string): Buffer {
  return sha256(code.toLowerCase());
}
