export const stepUpTexts = {
  title: 'Show that it is you',
  text: 'This needs a second factor that you showed within the last 15 minutes.',
  signIn:
    'You have no second factor yet, so this needs a sign-in of the last 15 minutes. Sign in again, and you come back to this page.',
  signInAgain: 'Sign in again',
  passkey: 'Use a passkey',
  code: 'Code from your authenticator app, or a recovery code',
  codeHint: 'Each code works once.',
  submit: 'Continue',
  none: 'You have no second factor yet. Add one to your account first.',
  enrol: 'Go to my account',
  cancelled: 'No passkey was used. You cancelled, or this device has no passkey for this service.',
  failed: (name: string) => `The browser could not use a passkey (${name}). Passkeys need https, or http://localhost.`,
} as const;
