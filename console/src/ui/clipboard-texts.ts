export const clipboardTexts = {
  copied: (seconds: number) => `Copied. The clipboard is cleared in ${seconds} seconds.`,
  notCleared: 'The clipboard could not be cleared: copy something else.',
};
