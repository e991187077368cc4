import { HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import * as contract from './contract.ts';
import { saasNeeds } from './links.ts';
import { listPlans, PlanSettings, putPlan } from './plans.ts';
import { PLAN_LIMITS_TABLE } from './plans-store.ts';
import { resend, SIGNUP_RETENTION_MS, signUp, verify } from './signup.ts';
import { deleteSignupsBefore } from './signup-store.ts';
import { readTier } from './tier.ts';

export const saasFeature = feature({
  name: 'saas',
  endpoints: contract,
  tables: {
    authenticated: [PLAN_LIMITS_TABLE],
    plain: {
      signups:
        'the sign-up and the digest of its token are sealed, bound to the address; a changed row verifies nothing',
    },
  },
  uses: ['database', 'log', 'operatorTenantId', 'plans'],
  needs: saasNeeds,
  build(parts) {
    const settings = new PlanSettings(parts);
    return {
      handlers: {
        signUp: (ctx, { body }) => signUp(ctx, body),
        verifySignup: (ctx, { body }) => verify(ctx, parts, body),
        resendVerification: (ctx, { body }) => resend(ctx, body),
        readTier: (ctx) => readTier(ctx, parts),
        listPlans: (ctx) => listPlans(ctx),
        putPlan: (ctx, { params, body }) => putPlan(ctx, settings, params.plan, body),
      },
      jobs: [
        {
          name: 'delete-unverified-signups',
          intervalMs: HOUR_MS,
          // A sign-up is of no use once its token has expired, and most that are a week old were never verified.
          removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
          run: (_, cutoff) =>
            parts.database.transaction((tx) => deleteSignupsBefore(tx, earlier(cutoff, SIGNUP_RETENTION_MS))),
        },
      ],
      open: () => settings.reload(),
      started: () => settings.start(),
      settled: () => settings.stop(),
    };
  },
});
