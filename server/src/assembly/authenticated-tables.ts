import { CONNECTION_TOKENS, CONNECTIONS } from '../features/app-connections/index.ts';
import { APPROVALS, DECISIONS } from '../features/approvals/index.ts';
import { VERIFIED } from '../features/audit/index.ts';
import { SUBSCRIPTIONS } from '../features/billing/index.ts';
import { CERTIFICATES } from '../features/certificates/index.ts';
import { CLUSTER_POLICIES, CLUSTERS } from '../features/clusters/index.ts';
import { EAAS_KEYS } from '../features/eaas/index.ts';
import { BINDINGS, ENVIRONMENTS } from '../features/environments/index.ts';
import { EXPORTERS } from '../features/exporters/index.ts';
import { FEDERATIONS } from '../features/federations/index.ts';
import { GROUP_MEMBERS, GROUPS } from '../features/groups/index.ts';
import { PASSKEYS, RECOVERY_CODES, TOTP } from '../features/mfa/index.ts';
import { ATTACHMENTS, FORMER_VERSIONS, POLICIES } from '../features/policies/index.ts';
import {
  REGION_CELLS,
  REGION_CLOCKS,
  REGION_PROMOTIONS,
  REGION_TERMS,
  REGION_VECTORS,
} from '../features/regions/index.ts';
import { PLAN_LIMITS_TABLE } from '../features/saas/index.ts';
import { SCIM_GROUPS, SCIM_TOKENS, SCIM_USERS } from '../features/scim/index.ts';
import { ROTATIONS, SECRETS, VERSIONS } from '../features/secrets/index.ts';
import { SSO_IDENTITIES, SSO_PROVIDERS } from '../features/sign-on/index.ts';
import { TOKENS } from '../features/tokens/index.ts';
import { INVITATIONS, USERS } from '../features/users/index.ts';
import { VAULT_MEMBERS, VAULTS } from '../features/vaults/index.ts';
import { WEBHOOKS } from '../features/webhooks/index.ts';
import { METHODS } from '../features/workload-identity/index.ts';
import { ARCHIVES } from '../kernel/audit/chain/archived-ranges.ts';
import { SIGNING_KEYS } from '../kernel/auth/signing-keys.ts';
import type { AnyAuthenticatedTable } from '../kernel/integrity/authenticated-table.ts';
import { TENANTS } from '../kernel/integrity/tenant-rows.ts';

/** Every table with authenticated rows, for the upgrade, the rekey and the verification. */
export const AUTHENTICATED_TABLES = [
  TENANTS,
  SIGNING_KEYS,
  USERS,
  INVITATIONS,
  TOTP,
  RECOVERY_CODES,
  PASSKEYS,
  SSO_PROVIDERS,
  SSO_IDENTITIES,
  SCIM_TOKENS,
  SCIM_USERS,
  SCIM_GROUPS,
  GROUPS,
  GROUP_MEMBERS,
  TOKENS,
  POLICIES,
  ATTACHMENTS,
  FORMER_VERSIONS,
  VAULTS,
  VAULT_MEMBERS,
  SECRETS,
  VERSIONS,
  ROTATIONS,
  APPROVALS,
  DECISIONS,
  ENVIRONMENTS,
  BINDINGS,
  CONNECTIONS,
  CONNECTION_TOKENS,
  CERTIFICATES,
  METHODS,
  FEDERATIONS,
  EAAS_KEYS,
  EXPORTERS,
  WEBHOOKS,
  CLUSTERS,
  CLUSTER_POLICIES,
  REGION_CELLS,
  REGION_PROMOTIONS,
  REGION_VECTORS,
  REGION_CLOCKS,
  REGION_TERMS,
  PLAN_LIMITS_TABLE,
  SUBSCRIPTIONS,
  VERIFIED,
  ARCHIVES,
] as unknown as readonly AnyAuthenticatedTable[];
