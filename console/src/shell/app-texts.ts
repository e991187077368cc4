/** What is said outside the frame. */
export const appTexts = {
  insecure:
    'The console works over https only, or on the machine itself. Open it under the https address of this service.',
  failed: 'The console cannot reach the service.',
  sessionChanged: 'You are signed in as somebody else now',
  loadAgain: 'Load again',
} as const;
