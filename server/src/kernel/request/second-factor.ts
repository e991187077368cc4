import { DAY_MS, MINUTE_MS } from '../base/clock.ts';
import { CofferError } from '../base/errors.ts';

export const MFA_FRESH_MS = 15 * MINUTE_MS;

/** How long ago a second factor must have been enrolled before it opens fortress secrets, unless an approval allows it earlier. */
export const FACTOR_TRUSTED_AFTER_MS = DAY_MS;

export function proofRequired(what: string): CofferError {
  return new CofferError(
    'MFA_REQUIRED',
    `${what} requires a second factor used within the last 15 minutes (POST /auth/step-up, or log in with one, and use that session) that was enrolled at least 24 hours ago, or was approved since.`,
    // A page explains it to a person with only newer factors, instead of prompting in vain.
    { details: { trusted_factor: true } },
  );
}
