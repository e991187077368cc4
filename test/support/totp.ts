import * as OTPAuth from 'otpauth';
import { ok, openSession } from './people.ts';
import type { Service } from './service.ts';

/** An authenticator app that somebody has set up. */
export interface AuthenticatorApp {
  secret: string;
  recoveryCodes: string[];
  /** What it shows now. The one that confirmed it is spent, so the clock has to move on before another one counts. */
  code(): string;
}

/** Begins to set up an app, in a session that was just opened, as it takes; answers the secret. */
export async function beginTotp(service: Service, userId: string): Promise<string> {
  const token = await openSession(service, userId);
  return String((await ok(service.call('POST', '/auth/mfa/totp', { token }), 201)).secret);
}

/** Sets up an app, in a session that was just opened. */
export async function addTotp(service: Service, userId: string): Promise<AuthenticatorApp> {
  const secret = await beginTotp(service, userId);
  const code = () => codeOf(service, secret);
  const confirm = { token: await openSession(service, userId), body: { otp: code() } };
  const { recovery_codes } = await ok(service.call('POST', '/auth/mfa/totp/confirm', confirm));
  return { secret, recoveryCodes: recovery_codes, code };
}

export function codeOf({ clock }: Pick<Service, 'clock'>, secret: string): string {
  return new OTPAuth.TOTP({ secret }).generate({ timestamp: clock.now() });
}
