import Type from 'typebox';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint/declaration.ts';
import { PlanName, RateLimits } from '../../kernel/limits/limit-schemas.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import { emailText, IN_A_LINE, id, newPassword, object, objectWithExamples, oneOf } from '../../kernel/wire/wire.ts';
import { PlanQuotas, PlanWithLimits, Tier } from './schemas.ts';

const TOKEN_LENGTH_MAX = 128;
const ORGANIZATION_LENGTH_MAX = 100;

const common = {
  noun: 'saas',
  aboutNoun: {
    title: 'Sign-up and plans',
    group: 'Administration',
    guide: ['saas', 'quotas'],
    description: 'Sign-up, plans, and what a tenant uses of its plan.',
  },
  tier: NONE,
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
} as const;

const signup = {
  ...common,
  method: 'POST',
  region: 'local',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'auth',
  effect: 'change',
  params: NONE,
  query: NONE,
} as const;

const pending = oneOf(['pending_verification'], 'Whatever the address: a mail says what comes next.');

export const signUp = endpoint({
  ...signup,
  name: 'signUp',
  path: '/saas/signup',
  summary: 'Sign up for a tenant of your own',
  description:
    'Only with `CV_SIGNUP=on`. A mail to the address has a token for `POST /saas/verify`, which creates the tenant on the starter plan. The response and its timing are the same for an address that already has an account, which gets a notice by mail instead; its `tenant_id` never exists.',
  audit: 'saas:signup',
  body: objectWithExamples(
    [{ email: 'ann@example.com', password: 'tulips over Zagreb', organization: 'Example Ltd' }],
    {
      email: emailText,
      password: newPassword,
      organization: Type.String({
        minLength: 1,
        maxLength: ORGANIZATION_LENGTH_MAX,
        pattern: `^${IN_A_LINE}+$`,
        description: 'The name of your organization, from which the name of the tenant is made.',
      }),
    },
  ),
  status: 201,
  output: object({ tenant_id: id('tenant'), status: pending }),
  errors: ['NOT_FOUND'],
});

export const verifySignup = endpoint({
  ...signup,
  name: 'verifySignup',
  path: '/saas/verify',
  summary: 'Verify the e-mail address of a sign-up',
  description:
    'Creates the tenant and its owner, who then logs in with the e-mail address, `password`, and `tenant`. Anybody can sign up with your address, so the password of the sign-up alone counts for nothing: confirm it here, or replace it. A wrong password does not use up the token. A token can be used once, within 24 hours, and only the newest one.',
  audit: 'saas:verify',
  body: object({
    token: Type.String({
      minLength: 1,
      maxLength: TOKEN_LENGTH_MAX,
      writeOnly: true,
      description: 'The token in the mail.',
      examples: ['cv_verify_7Qm2xV9kLr4Tn8'],
    }),
    password: described('The password of the sign-up; with `replace_password` the one that replaces it.', newPassword),
    replace_password: Type.Optional(
      Type.Boolean({
        description:
          'Sets `password` as the password of the owner, for somebody who forgot the one of the sign-up, or for whom somebody else signed up.',
      }),
    ),
  }),
  status: 200,
  output: object({
    tenant_id: id('tenant'),
    tenant: Type.String({ description: 'The name of the tenant, for `POST /auth/login`.' }),
    status: oneOf(['active'], 'The tenant exists.'),
  }),
  errors: ['NOT_FOUND', 'LOGIN_DENIED', 'ALREADY_EXISTS'],
});

export const resendVerification = endpoint({
  ...signup,
  name: 'resendVerification',
  path: '/saas/resend',
  summary: 'Send the mail of a sign-up again',
  description: 'With a new token, which replaces the former one. The response is the same for any address.',
  audit: 'saas:resend',
  body: object({ email: emailText }),
  status: 200,
  output: object({ status: pending }),
  errors: ['NOT_FOUND'],
});

export const readTier = endpoint({
  ...common,
  name: 'readTier',
  method: 'GET',
  path: '/saas/tier',
  region: 'forward',
  credentials: ANY_TOKEN,
  tenant: 'own',
  permission: 'tier:read',
  resource: 'tier',
  rate: 'read',
  audit: 'tier:read',
  effect: 'read',
  summary: 'Read the plan of your tenant and what is used of it',
  description:
    'Beyond a quota a create gets `QUOTA_EXCEEDED`. What exists stays and keeps working, also after a change to a smaller plan.',
  params: NONE,
  query: NONE,
  body: NONE,
  status: 200,
  output: Tier,
  errors: [],
});

const plans = {
  ...common,
  region: 'forward',
  credentials: ANY_TOKEN,
  tenant: 'operator',
  query: NONE,
  status: 200,
} as const;

export const listPlans = endpoint({
  ...plans,
  name: 'listPlans',
  method: 'GET',
  path: '/admin/plans',
  permission: 'plans:list',
  resource: 'plan',
  rate: 'read',
  audit: 'plans:list',
  effect: 'read',
  summary: 'List the plans with their limits',
  description: 'Only for the operator tenant, which runs the installation.',
  params: NONE,
  body: NONE,
  output: object({ plans: Type.Array(PlanWithLimits) }),
  errors: [],
});

export const putPlan = endpoint({
  ...plans,
  name: 'putPlan',
  method: 'PUT',
  path: '/admin/plans/{plan}',
  permission: 'plans:update',
  resource: 'plan/{plan}',
  rate: 'write',
  audit: 'plans:update',
  effect: 'change',
  summary: 'Set the limits of a plan',
  description:
    'Replaces what was set before; a limit that is left out is the one that comes with the service. Other nodes use the new limits within seconds. Nothing that exists is removed. Only for the operator tenant, which runs the installation.',
  params: object({ plan: PlanName }),
  body: objectWithExamples([{ quotas: { vaults: 20, secrets: 1000 }, requests_per_minute: { read: 2000 } }], {
    quotas: Type.Optional(PlanQuotas),
    requests_per_minute: Type.Optional(described('Requests a minute, by class.', RateLimits)),
  }),
  output: PlanWithLimits,
  errors: [],
});
