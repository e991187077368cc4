import type { Command } from 'commander';
import { type Coffer, CofferError } from '../../client/src/index.ts';
import { CommandError, EXIT } from './failure.ts';
import { note } from './output.ts';
import { readProfiles, writeProfiles } from './profiles.ts';
import { ask, askHidden, isInteractive } from './prompt.ts';
import { clientOf, PROFILE, type Settings, settingsOf } from './settings.ts';

/**
 * For what a session may do only with a fresh proof of who uses it. On a terminal the person gives it, the profile keeps the session that goes on, and
 * the work begins anew. Elsewhere the refusal stands.
 */
export async function withFreshProof<T>(command: Command, work: (coffer: Coffer) => Promise<T>): Promise<T> {
  const settings = settingsOf(command);
  const coffer = clientOf(settings);
  try {
    return await work(coffer);
  } catch (error) {
    if (!(error instanceof CofferError) || error.code !== 'MFA_REQUIRED') throw error;
    if (settings.source !== PROFILE || !isInteractive()) throw error;
    note(error.message);
    const hasFactor = error.details['sign_in'] !== true;
    const session = hasFactor ? await showFactor(coffer) : await logInAgain(settings, coffer);
    storeSession(settings, session);
    return work(clientOf({ ...settings, auth: { token: session.token } }));
  }
}

interface Session {
  token: string;
  expires_at: string;
}

async function showFactor(coffer: Coffer): Promise<Session> {
  const { methods } = await coffer.call('POST /auth/step-up/options', {});
  if (methods.every((method) => method === 'passkey')) {
    throw new CommandError('A passkey cannot be shown on a command line: do this in the console.', EXIT.refused);
  }
  const otp = (await ask('Code of your second factor')).trim();
  return coffer.call('POST /auth/step-up', { body: { otp } });
}

/** The session from before ends, unless the password is wrong. */
async function logInAgain({ url, caFile }: Settings, coffer: Coffer): Promise<Session> {
  const { user, tenant } = await coffer.call('GET /auth/me', {});
  const password = await askHidden(`Password of ${user.email}`);
  const body = { email: user.email, password, tenant: tenant.name };
  const session = await clientOf({ url, auth: { anonymous: true }, caFile }).call('POST /auth/login', { body });
  await coffer.call('POST /auth/logout', {});
  return session;
}

/** In each profile that had the session from before. */
export function storeSession({ auth }: Settings, { token, expires_at }: Session): void {
  const { current, profiles } = readProfiles();
  const before = 'token' in auth ? auth.token : null;
  const changed = Object.entries(profiles).map(([name, profile]) => [
    name,
    profile.token === before ? { ...profile, token, expires_at } : profile,
  ]);
  writeProfiles({ current, profiles: Object.fromEntries(changed) });
}
