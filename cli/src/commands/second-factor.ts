import type { Command } from 'commander';
import { action, listing } from '../declared.ts';
import { storeSession, withFreshProof } from '../fresh-session.ts';
import { nameFields } from '../named-fields.ts';
import { ago, note, print, printJson } from '../output.ts';
import { isInteractive, readSecretInput } from '../prompt.ts';
import { clientOf, PROFILE, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const factor = program
    .command('second-factor')
    .description('Your authenticator app, recovery codes and passkeys; a passkey is added in the console');
  action(factor, {
    usage: 'show',
    isDefault: true,
    summary: 'Show what second factors you have',
    route: 'GET /auth/mfa',
    isRead: true,
    shows: ({ totp, passkeys, recovery_codes_left }) =>
      [
        `authenticator app: ${totp.enrolled ? `since ${ago(totp.confirmed_at)}${fortress(totp.opens_fortress_from)}` : 'none'}`,
        `passkeys: ${passkeys}`,
        `recovery codes left: ${recovery_codes_left}`,
      ].join('\n'),
  });
  factor
    .command('add')
    .description('Add an authenticator app: prints its secret once, and on a terminal prompts for its code')
    .action((_, command: Command) => add(command));
  nameFields(factor.command('confirm'), { otp: 'The code' })
    .description('Confirm the app by its code, from standard input or a prompt, and print recovery codes')
    .action((_, command: Command) => confirmApp(command));
  action(factor, {
    usage: 'codes',
    summary: 'Make new recovery codes, which replace the old ones, and print them',
    route: 'POST /auth/mfa/recovery-codes',
    needsProof: true,
    shows: ({ recovery_codes }) => recovery_codes.join('\n'),
    says: () => KEEP_CODES,
  });
  action(factor, {
    usage: 'trust',
    summary: 'Ask that a new factor opens fortress secrets on its first day',
    route: 'POST /auth/mfa/trust',
    needsProof: true,
    says: ({ trusted_at }) => `Trusted ${ago(trusted_at)}.`,
  });
  action(factor, {
    usage: 'remove',
    summary: 'Give up the authenticator app',
    route: 'DELETE /auth/mfa/totp',
    needsProof: true,
    asks: () => 'Give up your authenticator app?',
    says: () => 'Gave up the authenticator app.',
  });
  registerPasskeys(factor);
}

function registerPasskeys(factor: Command): void {
  listing(factor, {
    usage: 'passkeys',
    summary: 'List your passkeys',
    route: 'GET /auth/mfa/passkeys',
    isOnePage: true,
    rows: (page) => page.passkeys,
    columns: [
      { title: 'PASSKEY', of: ({ id }) => id },
      { title: 'NAME', of: ({ name }) => name, isFlexible: true },
      { title: 'SINCE', of: ({ created_at }) => ago(created_at) },
      { title: 'LAST USED', of: ({ last_used_at }) => ago(last_used_at) },
    ],
    empty: 'You have none. One is added in the console, by a browser.',
  });
  action(factor, {
    usage: 'rename-passkey <passkey> <name>',
    summary: 'Give a passkey another name',
    route: 'PATCH /auth/mfa/passkeys/{passkey_id}',
    arguments: ['path/passkey_id', 'body/name'],
    says: ({ name }) => `It is called ${name}.`,
  });
  action(factor, {
    usage: 'remove-passkey <passkey>',
    summary: 'Remove a passkey',
    route: 'DELETE /auth/mfa/passkeys/{passkey_id}',
    arguments: ['path/passkey_id'],
    needsProof: true,
    asks: ({ passkey }) => `Remove ${passkey}?`,
    says: (_, { passkey }) => `Removed ${passkey}.`,
  });
}

const KEEP_CODES = 'Each works once in place of a code. Keep them where the phone is not; they cannot be shown again.';

function fortress(from: string | null): string {
  return from !== null && Date.parse(from) > Date.now() ? `; opens fortress secrets ${ago(from)}` : '';
}

async function add(command: Command): Promise<void> {
  const begun = await withFreshProof(command, (coffer) => coffer.call('POST /auth/mfa/totp', {}));
  if (wantsJson(command)) return printJson(begun);
  print(begun.otpauth_uri);
  if (!isInteractive()) return note('Add it to the app, then: coffer second-factor confirm');
  note(`Add it to the app, as a QR code of this address, or type in ${begun.secret}`);
  await confirmApp(command);
}

/** The code counts as shown, so the session goes on under another token. */
async function confirmApp(command: Command): Promise<void> {
  const otp = (await readSecretInput('Code that the app shows')).trim();
  const settings = settingsOf(command);
  const hasProfile = settings.source === PROFILE;
  const body = { otp, ...(hasProfile && { step_up: true }) };
  const confirmed = await clientOf(settings).call('POST /auth/mfa/totp/confirm', { body });
  if (confirmed.session !== null) storeSession(settings, confirmed.session);
  if (wantsJson(command)) return printJson({ ...confirmed, session: undefined });
  print(confirmed.recovery_codes.join('\n'));
  note(`From now on a login takes a code. These are your recovery codes. ${KEEP_CODES}`);
}
