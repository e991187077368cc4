import { InvalidArgumentError } from 'commander';
import { CommandError } from './failure.ts';

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

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 60 * 60, d: 24 * 60 * 60 };

/** The seconds of a time such as 8h. */
export function secondsOf(text: string, option: string): number {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (UNIT_SECONDS[unit] ?? Number.NaN);
  if (Number.isNaN(seconds)) throw new CommandError(`${option} must be a time such as 30m, 8h or 2d.`);
  return seconds;
}
