export { otpText } from './contract.ts';
export {
  type CurrentFactor,
  currentFactor,
  deleteFactorsOf as deleteSecondFactor,
  factorsOf,
  hasAny,
  hasFactor,
  RECOVERY_FACTOR,
  type ShownFactor,
  TOTP_FACTOR,
  usersWithFactor,
} from './factors.ts';
export type { Continue } from './first-factor.ts';
export { continueSession } from './links.ts';
export { PASSKEYS } from './passkey-store.ts';
export { passkeyNamed, requestOptions, SIGN_IN, stepUpOf } from './passkeys.ts';
export { isFirstStart, isFresh, requireFresh, requireShownSince } from './removal.ts';
export { ContinuedSession, PasskeyAssertion, PasskeyRequestOptions } from './schemas.ts';
export { secondFactor } from './service.ts';
export { countRecoveryCodes, RECOVERY_CODES, TOTP } from './store.ts';
export { refusedPasskey, spendAssertion, verifyAssertion } from './webauthn.ts';
