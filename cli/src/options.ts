/** For options that are given several times, or once with commas: an option that takes all that follows would swallow the command. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, ...value.split(',').filter((one) => one !== '')];
}

/** The same for texts that may have commas. */
export function collectWhole(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
