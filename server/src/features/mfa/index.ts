export { otpText } from './contract.ts';
export type { Continue } from './first-factor.ts';
export { continueSession } from './links.ts';
export { isFirstStart, isFresh, requireFresh, requireShownSince } from './removal.ts';
export { ContinuedSession, PasskeyAssertion, PasskeyRequestOptions } from './schemas.ts';
export { secondFactor } from './service.ts';
