import type { MakeInput } from './endpoint-inputs.ts';
import { uniqueName } from './people.ts';

/** Sign-up and billing are off unless a service is started with them. */
export const SAAS_INPUTS: Record<string, MakeInput> = {
  'POST /saas/signup': async () => ({
    body: { email: `${uniqueName('applicant')}@example.com`, password: 'tulips over Zagreb', organization: 'Firm' },
  }),
  'POST /saas/verify': async () => ({ body: { token: 'cv_verify_of-nobody', password: 'tulips over Zagreb' } }),
  'POST /saas/resend': async () => ({ body: { email: 'nobody@example.com' } }),
  'POST /billing/webhook': async () => ({ body: { id: 'evt_1', object: 'event' } }),
  'PUT /admin/plans/{plan}': async () => ({ params: { plan: 'starter' }, body: {} }),
};
