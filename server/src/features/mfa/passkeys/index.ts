export { PASSKEYS } from './passkey-store.ts';
export { passkeyNamed, requestOptions, SIGN_IN, stepUpOf } from './passkeys.ts';
export { refusedPasskey, spendAssertion, verifyAssertion } from './webauthn.ts';
