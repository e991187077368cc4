export const valueTexts = {
  reveal: 'Hold to reveal',
  holdToReveal: 'The value is shown while you hold this, or until you leave the page',
  keepHolding: 'Keep the button pressed to see the value.',
  revealOf: (name: string) => `Hold to reveal ${name}`,
  copy: 'Copy',
  copyOf: (name: string) => `Copy the value of ${name}`,
  valueOf: (path: string) => `Value of ${path}`,
} as const;
