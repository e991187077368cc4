import type { Feature } from '../../kernel/platform/feature.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import * as mfa from './service.ts';
import { confirmedSince, deleteFactorsOf } from './store.ts';

export { otpText } from './contract.ts';
export { type SecondFactor, secondFactor } from './service.ts';
export {
  deleteFactorsOf as deleteSecondFactor,
  factorTrustedFrom,
  RECOVERY_CODES,
  TOTP,
  usersWithFactor,
} from './store.ts';

export function mfaFeature(): Feature {
  return {
    name: 'mfa',
    endpoints: bindContract(contract, {
      readMfa: (ctx) => mfa.read(ctx),
      enrolTotp: (ctx) => mfa.enrol(ctx),
      confirmTotp: (ctx, { body }) => mfa.confirm(ctx, body.otp),
      disableTotp: (ctx) => mfa.disable(ctx),
      resetMfa: (ctx, { params }) => mfa.reset(ctx, params.user_id),
      trustMfa: (ctx, { params }) => mfa.trust(ctx, params.user_id),
    }),
    provides: { secondFactorSince: confirmedSince },
    removals: { user: deleteFactorsOf },
  };
}
