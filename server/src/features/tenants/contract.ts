import Type, { type Static } from 'typebox';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { PlanName, RateLimits } from '../../kernel/limits/limit-schemas.ts';
import { described, named } from '../../kernel/named-schemas.ts';
import {
  emailText,
  id,
  idParam,
  nextCursor,
  object,
  oneOf,
  pageQuery,
  resourceName,
  timestampText,
} from '../../kernel/wire.ts';

const status = named(
  'TenantStatus',
  'Of a suspended tenant every credential is refused; nothing is deleted.',
  oneOf(['active', 'suspended']),
);

export const Tenant = named(
  'Tenant',
  'A tenant of the installation.',
  object({
    id: id('tenant'),
    name: Type.String({ description: 'Its name.' }),
    status,
    plan: PlanName,
    rate_limits: RateLimits,
    created_at: timestampText,
  }),
);
export type Tenant = Static<typeof Tenant>;

const tenantId = described('The id of the tenant, `tenant_…`.', idParam);

const common = {
  noun: 'tenants',
  nounDescription: 'Who shares the installation, and the settings of each.',
  credentials: ANY_TOKEN,
  tenant: 'operator',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
} as const;

export const createTenant = endpoint({
  ...common,
  name: 'createTenant',
  method: 'POST',
  path: '/v1/tenants',
  summary: 'Make a tenant with its first owner',
  description: 'For the tenant that runs the installation. The owner’s token is shown in this answer and never again.',
  permission: 'tenants:create',
  resource: 'tenant',
  rate: 'write',
  audit: 'tenants:create',
  effect: 'change',
  params: NONE,
  query: NONE,
  body: object({
    name: resourceName,
    plan: Type.Optional(described('starter unless given.', PlanName)),
    rate_limits: Type.Optional(RateLimits),
    owner_email: emailText,
  }),
  status: 201,
  output: object({
    ...Tenant.properties,
    owner: described(
      'The first owner.',
      object({
        id: id('user'),
        email: Type.String({ description: 'The address they log in with.' }),
        token: Type.String({ description: 'Shown once.' }),
      }),
    ),
  }),
  errors: ['ALREADY_EXISTS'],
});

export const listTenants = endpoint({
  ...common,
  name: 'listTenants',
  method: 'GET',
  path: '/v1/tenants',
  summary: 'List the tenants of the installation',
  description: 'For the tenant that runs the installation.',
  permission: 'tenants:list',
  resource: 'tenant',
  rate: 'read',
  audit: 'tenants:list',
  effect: 'read',
  params: NONE,
  query: object(pageQuery),
  body: NONE,
  status: 200,
  output: object({ tenants: Type.Array(Tenant), next_cursor: nextCursor }),
  errors: [],
});

export const readTenant = endpoint({
  ...common,
  name: 'readTenant',
  method: 'GET',
  path: '/v1/tenants/{tenant_id}',
  summary: 'Read one tenant',
  description: 'For the tenant that runs the installation.',
  permission: 'tenants:read',
  resource: 'tenant/{tenant_id}',
  rate: 'read',
  audit: 'tenants:read',
  effect: 'read',
  params: object({ tenant_id: tenantId }),
  query: NONE,
  body: NONE,
  status: 200,
  output: Tenant,
  errors: ['NOT_FOUND'],
});

export const updateTenant = endpoint({
  ...common,
  name: 'updateTenant',
  method: 'PATCH',
  path: '/v1/tenants/{tenant_id}',
  summary: 'Change a tenant’s plan, limits or status',
  description: 'Suspending refuses every token of the tenant from the next request on; nothing is deleted.',
  permission: 'tenants:update',
  resource: 'tenant/{tenant_id}',
  rate: 'write',
  audit: 'tenants:update',
  effect: 'change',
  params: object({ tenant_id: tenantId }),
  query: NONE,
  body: object({
    plan: Type.Optional(PlanName),
    rate_limits: Type.Optional(RateLimits),
    status: Type.Optional(status),
  }),
  status: 200,
  output: Tenant,
  errors: ['NOT_FOUND'],
});

export const TenantSettings = named(
  'TenantSettings',
  'Settings of a tenant that its own admins change.',
  object({
    tenant_id: id('tenant'),
    require_mfa: Type.Boolean({
      description:
        'Whoever has no second factor can only enrol one; sessions that showed none, and tokens of people who have none, do nothing else.',
    }),
  }),
);
export type TenantSettings = Static<typeof TenantSettings>;

const own = {
  ...common,
  tenant: 'own',
  region: 'forward',
  path: '/v1/tenant/settings',
  resource: 'tenant-settings',
  params: NONE,
  query: NONE,
  status: 200,
  output: TenantSettings,
} as const;

export const readSettings = endpoint({
  ...own,
  name: 'readTenantSettings',
  method: 'GET',
  summary: 'Read the settings of your tenant',
  description: 'What its admins decided for everybody in it.',
  permission: 'tenant_settings:read',
  rate: 'read',
  audit: 'tenant_settings:read',
  effect: 'read',
  body: NONE,
  errors: [],
});

export const updateSettings = endpoint({
  ...own,
  name: 'updateTenantSettings',
  method: 'PATCH',
  summary: 'Change the settings of your tenant',
  description:
    'To require a second factor takes one of your own, shown just now. To require it no longer needs approval, like giving one up.',
  permission: 'tenant_settings:update',
  rate: 'write',
  approval: 'mfa_disable',
  audit: 'tenant_settings:update',
  effect: 'change',
  body: object({
    require_mfa: Type.Optional(Type.Boolean({ description: 'Whoever has no second factor can then only enrol one.' })),
  }),
  errors: ['MFA_REQUIRED'],
});
