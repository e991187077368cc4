import { HOUR_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import * as contract from './contract.ts';
import { listPlans, PlanSettings, putPlan } from './plans.ts';
import { resend, SIGNUP_KEPT_MS, signUp, verify } from './signup.ts';
import { deleteSignupsBefore } from './signup-store.ts';
import { readTier } from './tier.ts';

export { PLAN_LIMITS_TABLE } from './plans-store.ts';

export function saasFeature(kernel: Kernel, wiring: Wiring): Feature {
  const ports = wiring.needs('assignNewTenant', 'claimSubscriptions', 'graceUntil');
  const settings = new PlanSettings(kernel);
  return {
    name: 'saas',
    endpoints: bindContract(contract, {
      signUp: (ctx, { body }) => signUp(ctx, body),
      verifySignup: (ctx, { body }) => verify(ctx, ports, body),
      resendVerification: (ctx, { body }) => resend(ctx, body),
      readTier: (ctx) => readTier(ctx, ports),
      listPlans: (ctx) => listPlans(ctx),
      putPlan: (ctx, { params, body }) => putPlan(ctx, settings, params.plan, body),
    }),
    jobs: [
      {
        name: 'delete-unverified-signups',
        intervalMs: HOUR_MS,
        // A sign-up is of no use once its token has expired, and most that are a week old were never verified.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) =>
          kernel.database.transaction((tx) => deleteSignupsBefore(tx, earlier(cutoff, SIGNUP_KEPT_MS))),
      },
    ],
    open: () => settings.reload(),
    started: () => settings.start(),
    settled: () => settings.stop(),
  };
}
