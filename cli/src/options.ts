import { InvalidArgumentError } from 'commander';

/** For options that are given several times, or once with commas: an option that takes all that follows would swallow the command. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, ...value.split(',').filter((one) => one !== '')];
}

/** The same for texts that may have commas. */
export function collectWhole(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

export function positive(text: string): number {
  const number = Number(text);
  if (!(number > 0) || number > 8760) throw new InvalidArgumentError('It must be a number above 0.');
  return number;
}

export function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('It must be a whole number above 0.');
  return number;
}
