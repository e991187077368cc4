import Type, { type Static } from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { PlanName, RateLimits } from '../../kernel/limits/limit-schemas.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
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
} from '../../kernel/wire/wire.ts';
import { AnomalyThresholds } from '../anomalies/index.ts';
import { OCCASIONS } from '../mail/index.ts';

const status = named(
  'TenantStatus',
  'All credentials of a suspended tenant are rejected; nothing is deleted.',
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
  ...ORDINARY,
  noun: 'tenants',
  aboutNoun: {
    title: 'Tenants',
    group: 'Administration',
    guide: ['quotas', 'second-factors'],
    description: 'Tenants of the installation and their settings.',
  },
  credentials: ANY_TOKEN,
  tenant: 'operator',
} as const;

export const createTenant = endpoint({
  ...common,
  name: 'createTenant',
  method: 'POST',
  path: '/v1/tenants',
  summary: 'Create a tenant with its first owner',
  description:
    'Only for the operator tenant, which runs the installation. The owner’s token is returned only in this response.',
  permission: 'tenants:create',
  resource: 'tenant',
  rate: 'write',
  audit: 'tenants:create',
  effect: 'change',
  params: NONE,
  query: NONE,
  body: object({
    name: resourceName,
    plan: Type.Optional(described('Default: enterprise, which has no limits of its own.', PlanName)),
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
        token: Type.String({ description: 'Returned once.' }),
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
  description: 'Only for the operator tenant, which runs the installation.',
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
  description: 'Only for the operator tenant, which runs the installation.',
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
  description:
    'Only for the operator tenant, which runs the installation. All credentials of a suspended tenant are rejected from the next request on; nothing is deleted.',
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

const MailNotices = named(
  'MailNotices',
  'Occasions on which mail is sent: `invitations` to whom is invited, with the token; `approvals` to the owners and admins when a change waits; `expiry` to the managers of a vault when a secret in it expires soon; `security` to a person whose recovery code was used, and to the owners and admins when a break-glass owner signs in.',
  Type.Array(oneOf(OCCASIONS, 'An occasion.'), { maxItems: OCCASIONS.length, uniqueItems: true }),
);

export const TenantSettings = named(
  'TenantSettings',
  'Settings of a tenant that its own admins can change.',
  object({
    tenant_id: id('tenant'),
    require_mfa: Type.Boolean({
      description:
        'If true, users without a second factor can only enrol one: sessions opened without it, and tokens of users who have none, can do nothing else.',
    }),
    anomaly_thresholds: AnomalyThresholds,
    mail_notices: MailNotices,
  }),
);
export type TenantSettings = Static<typeof TenantSettings>;

const own = {
  ...common,
  tenant: 'own',
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
  description: 'Settings that apply to everyone in the tenant.',
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
    'Enabling `require_mfa` requires a recent second factor of your own. Disabling it needs approval, like removing a second factor.',
  permission: 'tenant_settings:update',
  rate: 'write',
  approval: 'mfa_disable',
  audit: 'tenant_settings:update',
  effect: 'change',
  body: object({
    require_mfa: Type.Optional(
      Type.Boolean({ description: 'If true, users without a second factor can only enrol one.' }),
    ),
    anomaly_thresholds: Type.Optional(
      described('Replaces all of them; a type that is left out has its default again.', AnomalyThresholds),
    ),
    mail_notices: Type.Optional(MailNotices),
  }),
  errors: ['MFA_REQUIRED'],
});
