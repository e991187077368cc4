import type { Command } from 'commander';
import type { Coffer } from '../../../client/src/index.ts';
import { CommandError } from '../failure.ts';
import { note, print, printJson } from '../output.ts';
import { withProgress } from '../progress.ts';
import { askHidden, readInputLines } from '../prompt.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

const LENGTH_MIN = 12;

export function addChangePassphrase(vaults: Command): void {
  vaults
    .command('change-passphrase <vault>')
    .description('Seal every value of a zero-knowledge vault under another passphrase')
    .action((vault: string, _, command: Command) => change(vault, command))
    .addHelpText(
      'after',
      `
You type both passphrases. In a script they are two lines of standard input, the former one first. Values are opened and sealed here; the service sees no
passphrase. If the command is interrupted, repeat it with the same two: it continues.`,
    );
}

interface Passphrases {
  from: string;
  to: string;
}

async function change(vault: string, command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const { is_zero_knowledge, secrets_count } = await coffer.vaults.get(vault);
  if (!is_zero_knowledge) {
    throw new CommandError(
      `${vault} has no passphrase: the service seals its values. coffer vaults create NAME --zero-knowledge makes a vault that has one.`,
    );
  }
  const passphrases = await (process.stdin.isTTY === true ? typedPassphrases() : pipedPassphrases());
  if ([...passphrases.to].length < LENGTH_MIN) {
    throw new CommandError(`The new passphrase needs ${LENGTH_MIN} characters or more: nothing was changed.`);
  }
  const report = await reseal(coffer, { vault, total: secrets_count }, passphrases);
  if (wantsJson(command)) printJson(report);
  for (const path of wantsJson(command) ? [] : report.refused) print(path);
  if (report.refused.length > 0) {
    throw new CommandError(
      `Neither passphrase opens ${report.refused.length} values of ${vault}. Write them anew or delete them, and repeat this with the same two: the change is not over.`,
    );
  }
  if (!wantsJson(command)) note(`The passphrase of ${vault} is changed.`);
}

function reseal(coffer: Coffer, { vault, total }: { vault: string; total: number }, { from, to }: Passphrases) {
  return withProgress(async (progress) => {
    progress.begin({ title: 'Sealing', unit: 'values', total });
    try {
      const secrets = { from: { passphrase: from }, to: { passphrase: to } };
      return await coffer.changePassphrase(vault, secrets, { onProgress: ({ count }) => progress.reach(count) });
    } catch (error) {
      if ((error as Error).name !== 'WrongPassphraseError') throw error;
      throw new CommandError(`This is not the passphrase of ${vault}: nothing was changed.`);
    }
  });
}

async function typedPassphrases(): Promise<Passphrases> {
  const from = await askHidden('Passphrase until now');
  const to = await askHidden(`New passphrase, at least ${LENGTH_MIN} characters`);
  if ((await askHidden('The same again')) !== to) {
    throw new CommandError('The two new passphrases differ: nothing was changed.');
  }
  return { from, to };
}

async function pipedPassphrases(): Promise<Passphrases> {
  const [from = '', to = '', more] = await readInputLines();
  if (from === '' || to === '' || more !== undefined) {
    throw new CommandError(
      'Standard input must be the former passphrase and the new one, in a line each: nothing was changed.',
    );
  }
  return { from, to };
}
