import { HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { deleteFailuresBefore } from '../../kernel/limits/attempt-counters.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { continueSession } from '../mfa/index.ts';
import { acceptInvitation, readInvitation } from './accept-invitation.ts';
import * as contract from './contract.ts';
import { sessionNeeds } from './links.ts';
import * as ownSessions from './own-sessions.ts';
import { passkeyLogin, passkeyLoginOptions } from './passkey-login.ts';
import * as sessions from './service.ts';
import * as steps from './step-up.ts';

export const sessionsFeature = feature({
  name: 'sessions',
  endpoints: contract,
  uses: ['database'],
  needs: sessionNeeds,
  build: (parts) => ({
    provides: [continueSession.by(steps.continueSession)],
    jobs: [
      {
        name: 'forget-failed-logins',
        intervalMs: HOUR_MS,
        // A counter that is deleted too early lets guessing resume sooner. Nearly all expire within an hour, so a large share is normal.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) => parts.database.transaction((tx) => deleteFailuresBefore(tx, cutoff)),
      },
    ],
    handlers: {
      login: (ctx, { body }) => sessions.login(ctx, parts, body),
      passkeyLoginOptions: (ctx) => passkeyLoginOptions(ctx),
      passkeyLogin: (ctx, { body }) => passkeyLogin(ctx, parts, body),
      stepUpOptions: (ctx) => steps.stepUpOptions(ctx),
      stepUp: (ctx, { body }) => steps.stepUp(ctx, body),
      listSessions: (ctx, { query }) => ownSessions.list(ctx, query),
      endSession: (ctx, { params, query }) => ownSessions.end(ctx, params.session_id, query),
      endSessions: (ctx, { query }) => ownSessions.endAll(ctx, query),
      readInvite: (ctx, { body }) => readInvitation(ctx, parts, body),
      acceptInvite: (ctx, { body }) => acceptInvitation(ctx, parts, body),
      logout: (ctx) => sessions.logout(ctx),
      readMe: (ctx) => sessions.me(ctx, parts),
      readCapabilities: async (ctx, { body }) => sessions.capabilities(ctx, body),
      changePassword: (ctx, { body }) => sessions.changePassword(ctx, parts, body),
    },
  }),
});
