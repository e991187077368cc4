import { HOUR_MS } from '../../kernel/clock.ts';
import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { SECOND_LOOK_MS } from '../../kernel/time/clock-guard.ts';
import { acceptInvitation } from './accept-invitation.ts';
import * as contract from './contract.ts';
import * as sessions from './service.ts';
import { forgetFailuresBefore } from './store.ts';
import type { WarningPorts } from './warnings.ts';

export function sessionsFeature(kernel: Kernel, ports: WarningPorts): Feature {
  return {
    name: 'sessions',
    jobs: [
      {
        name: 'forget-failed-logins',
        intervalMs: HOUR_MS,
        // A counter that is deleted too early lets guessing resume sooner. Nearly all expire within an hour, so a large share is normal.
        removes: { secondLookMs: SECOND_LOOK_MS, share: null },
        run: (_, cutoff) => kernel.database.transaction((tx) => forgetFailuresBefore(tx, cutoff)),
      },
    ],
    endpoints: [
      bind(contract.login, (ctx, { body }) => sessions.login(ctx, body)),
      bind(contract.acceptInvite, (ctx, { body }) => acceptInvitation(ctx, body)),
      bind(contract.logout, (ctx) => sessions.logout(ctx)),
      bind(contract.readMe, (ctx) => sessions.me(ctx, ports)),
      bind(contract.changePassword, (ctx, { body }) => sessions.changePassword(ctx, body)),
    ],
  };
}
