import { HOUR_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { deleteAnsweredBefore } from './challenge-store.ts';
import { prepareChallenges } from './challenges.ts';
import * as contract from './contract.ts';
import { deleteFactorsOf, newestFactorAt, secondFactorsOf } from './factors.ts';
import * as passkeys from './passkeys.ts';
import { makeCodes, readCodes } from './recovery-codes.ts';
import * as mfa from './service.ts';

export { otpText } from './contract.ts';
export {
  deleteFactorsOf as deleteSecondFactor,
  factorsOf,
  hasAny,
  hasFactor,
  type KeptFactor,
  keptFactor,
  RECOVERY_FACTOR,
  type ShownFactor,
  TOTP_FACTOR,
  usersWithFactor,
} from './factors.ts';
export type { Continue } from './first-factor.ts';
export { PASSKEYS } from './passkey-store.ts';
export { passkeyNamed, requestOptions, SIGN_IN, stepUpOf } from './passkeys.ts';
export { isFirstStart, requireFresh } from './removal.ts';
export { ContinuedSession, PasskeyAssertion, PasskeyRequestOptions } from './schemas.ts';
export { type SecondFactor, secondFactor } from './service.ts';
export { countRecoveryCodes, RECOVERY_CODES, TOTP } from './store.ts';
export { refusedPasskey, spendAssertion, verifyAssertion } from './webauthn.ts';

export function mfaFeature(kernel: Kernel, wiring: Wiring): Feature {
  const ports = wiring.needs('signOnLinks', 'hasSignOnIdentity', 'continueSession');
  return {
    name: 'mfa',
    open: () => prepareChallenges(kernel, passkeys.SIGN_IN),
    endpoints: bindContract(contract, {
      readMfa: (ctx) => mfa.read(ctx),
      enrolTotp: (ctx) => mfa.enrol(ctx, ports),
      confirmTotp: (ctx, { body }) => mfa.confirm(ctx, body, ports),
      disableTotp: (ctx) => mfa.disable(ctx),
      resetMfa: (ctx, { params }) => mfa.reset(ctx, params.user_id, ports),
      trustMfa: (ctx, { params }) => mfa.trust(ctx, params.user_id),
      askMfaTrust: (ctx) => mfa.askTrust(ctx),
      passkeyEnrolmentOptions: (ctx) => passkeys.enrolmentOptions(ctx),
      enrolPasskey: (ctx, { body }) => passkeys.enrol(ctx, body, ports),
      listPasskeys: (ctx) => passkeys.list(ctx),
      renamePasskey: (ctx, { params, body }) => passkeys.rename(ctx, params.passkey_id, body.name),
      deletePasskey: (ctx, { params }) => passkeys.remove(ctx, params.passkey_id, ports),
      readRecoveryCodes: (ctx) => readCodes(ctx),
      makeRecoveryCodes: (ctx) => makeCodes(ctx),
    }),
    jobs: [
      {
        name: 'forget-answered-challenges',
        intervalMs: HOUR_MS,
        // They live five minutes, so nearly all of them are over.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) => kernel.database.transaction((tx) => deleteAnsweredBefore(tx, cutoff)),
      },
    ],
    provides: { secondFactorSince: newestFactorAt, secondFactorsOf },
    removals: { user: deleteFactorsOf },
  };
}
