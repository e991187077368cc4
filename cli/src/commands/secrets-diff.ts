import type { Command } from 'commander';
import { CommandError } from '../failure.ts';
import { lineDifference } from '../line-difference.ts';
import { dim, green, note, printJson, red } from '../output.ts';
import { printable } from '../printable.ts';
import { numberOf, opened, type VaultOption } from './secrets.ts';

/** Compares two versions. Without `--show` lines are counted and named by their number, since a terminal may be watched. */
export async function diff(
  { path, from, to }: { path: string; from: string | undefined; to: string | undefined },
  options: VaultOption & { show?: boolean },
  command: Command,
): Promise<void> {
  const { coffer, vault, isJson } = opened(command, options);
  const newest = to === undefined ? await coffer.secrets.get(vault, path) : null;
  const second = newest?.version ?? numberOf(String(to));
  const first = from === undefined ? second - 1 : numberOf(from);
  if (first < 1) throw new CommandError(`${path} has one version only.`);
  const before = await coffer.secrets.get(vault, path, { version: first });
  const after = newest ?? (await coffer.secrets.get(vault, path, { version: second }));
  const lines = lineDifference(before.value, after.value);
  const isSame = lines.every(({ kind }) => kind === 'same');
  if (isJson) {
    const count = (kind: string) => lines.filter((line) => line.kind === kind).length;
    return printJson({
      vault,
      path,
      from: first,
      to: second,
      same: isSame,
      added: count('added'),
      removed: count('removed'),
    });
  }
  if (isSame) return note(`Versions ${first} and ${second} of ${vault}/${path} have the same value.`);
  note(`${vault}/${path}, version ${first} to ${second}:`);
  for (const { kind, text, line } of lines) {
    const shown = options.show === true ? printable(text) : '[hidden; --show shows it]';
    if (kind === 'added') process.stdout.write(`${green(`+ ${line}: ${shown}`)}\n`);
    else if (kind === 'removed') process.stdout.write(`${red(`- ${line}: ${shown}`)}\n`);
    else if (options.show === true) process.stdout.write(`${dim(`  ${line}: ${shown}`)}\n`);
  }
}
