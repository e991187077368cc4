import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import * as contract from './contract.ts';
import * as mfa from './service.ts';

export { otpText } from './contract.ts';
export { type SecondFactor, secondFactor } from './service.ts';
export {
  confirmedSince as secondFactorSince,
  factorTrustedFrom,
  forgetUser as forgetSecondFactor,
  RECOVERY_CODES,
  TOTP,
} from './store.ts';

export function mfaFeature(): Feature {
  return {
    name: 'mfa',
    endpoints: [
      bind(contract.readMfa, (ctx) => mfa.read(ctx)),
      bind(contract.enrolTotp, (ctx) => mfa.enrol(ctx)),
      bind(contract.confirmTotp, (ctx, { body }) => mfa.confirm(ctx, body.otp)),
      bind(contract.disableTotp, (ctx) => mfa.disable(ctx)),
      bind(contract.resetMfa, (ctx, { params }) => mfa.reset(ctx, params.user_id)),
      bind(contract.trustMfa, (ctx, { params }) => mfa.trust(ctx, params.user_id)),
    ],
  };
}
