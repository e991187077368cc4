import { HOUR_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { acceptInvitation, readInvitation } from './accept-invitation.ts';
import * as contract from './contract.ts';
import * as ownSessions from './own-sessions.ts';
import { passkeyLogin, passkeyLoginOptions } from './passkey-login.ts';
import * as sessions from './service.ts';
import { continueSession, stepUp, stepUpOptions } from './step-up.ts';
import { deleteFailuresBefore } from './store.ts';

export {
  beginTry,
  countedWithin,
  deviceSubjects,
  signupSubjects,
  succeeded,
  verificationSubjects,
} from './back-off.ts';
export { Session } from './contract.ts';
export { identify, issueSession, NO_FACTOR, sessionAnswer } from './service.ts';
export { signInReport } from './sign-in-report.ts';

export function sessionsFeature(kernel: Kernel, wiring: Wiring): Feature {
  const ports = wiring.needs('requiresSignOn', 'hasSignOnIdentity');
  return {
    name: 'sessions',
    provides: { continueSession },
    jobs: [
      {
        name: 'forget-failed-logins',
        intervalMs: HOUR_MS,
        // A counter that is deleted too early lets guessing resume sooner. Nearly all expire within an hour, so a large share is normal.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) => kernel.database.transaction((tx) => deleteFailuresBefore(tx, cutoff)),
      },
    ],
    endpoints: bindContract(contract, {
      login: (ctx, { body }) => sessions.login(ctx, ports, body),
      passkeyLoginOptions: (ctx) => passkeyLoginOptions(ctx),
      passkeyLogin: (ctx, { body }) => passkeyLogin(ctx, ports, body),
      stepUpOptions: (ctx) => stepUpOptions(ctx),
      stepUp: (ctx, { body }) => stepUp(ctx, body),
      listSessions: (ctx, { query }) => ownSessions.list(ctx, query),
      endSession: (ctx, { params }) => ownSessions.end(ctx, params.session_id),
      readInvite: (ctx, { body }) => readInvitation(ctx, ports, body),
      acceptInvite: (ctx, { body }) => acceptInvitation(ctx, ports, body),
      logout: (ctx) => sessions.logout(ctx),
      readMe: (ctx) => sessions.me(ctx, ports),
      readCapabilities: async (ctx, { body }) => sessions.capabilities(ctx, body),
      changePassword: (ctx, { body }) => sessions.changePassword(ctx, ports, body),
    }),
  };
}
