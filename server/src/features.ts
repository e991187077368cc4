import { accountLinksFeature } from './features/account-links/index.ts';
import { aggregateFeature } from './features/aggregate/index.ts';
import { anomaliesFeature } from './features/anomalies/index.ts';
import { appConnectionsFeature } from './features/app-connections/index.ts';
import { approvalsFeature } from './features/approvals/index.ts';
import { attackPathsFeature } from './features/attack-paths/index.ts';
import { attestationFeature } from './features/attestation/index.ts';
import { auditFeature } from './features/audit/index.ts';
import { billingFeature } from './features/billing/index.ts';
import { certificatesFeature } from './features/certificates/index.ts';
import { clustersFeature } from './features/clusters/index.ts';
import { consoleFeature } from './features/console/index.ts';
import { copilotFeature } from './features/copilot/index.ts';
import { eaasFeature } from './features/eaas/index.ts';
import { endpointDiscoveryFeature } from './features/endpoint-discovery/index.ts';
import { environmentsFeature } from './features/environments/index.ts';
import { esoFeature } from './features/eso/index.ts';
import { exportersFeature } from './features/exporters/index.ts';
import { federationsFeature } from './features/federations/index.ts';
import { groupsFeature } from './features/groups/index.ts';
import { healthFeature } from './features/health/index.ts';
import { mailFeature } from './features/mail/index.ts';
import { mfaFeature } from './features/mfa/index.ts';
import { policiesFeature } from './features/policies/index.ts';
import { pqcFeature } from './features/pqc/index.ts';
import { referenceFeature } from './features/reference/index.ts';
import { regionsFeature } from './features/regions/index.ts';
import { riskFeature } from './features/risk/index.ts';
import { rollupsFeature } from './features/rollups/index.ts';
import { saasFeature } from './features/saas/index.ts';
import { scimFeature } from './features/scim/index.ts';
import { searchFeature } from './features/search/index.ts';
import { secretsFeature } from './features/secrets/index.ts';
import { sessionsFeature } from './features/sessions/index.ts';
import { signOnFeature } from './features/sign-on/index.ts';
import { tenantsFeature } from './features/tenants/index.ts';
import { tokenizationFeature } from './features/tokenization/index.ts';
import { tokensFeature } from './features/tokens/index.ts';
import { transferFeature } from './features/transfer/index.ts';
import { usersFeature } from './features/users/index.ts';
import { vaultsFeature } from './features/vaults/index.ts';
import { webhooksFeature } from './features/webhooks/index.ts';
import { workloadIdentityFeature } from './features/workload-identity/index.ts';
import type { FeatureFactory } from './kernel/platform/feature.ts';

/** Every feature of the service, in the order in which the reference lists their endpoints. No other order matters. */
export const FEATURES: readonly FeatureFactory[] = [
  signOnFeature,
  accountLinksFeature,
  scimFeature,
  sessionsFeature,
  tokensFeature,
  mfaFeature,
  usersFeature,
  groupsFeature,
  policiesFeature,
  vaultsFeature,
  secretsFeature,
  riskFeature,
  aggregateFeature,
  searchFeature,
  tokenizationFeature,
  transferFeature,
  approvalsFeature,
  environmentsFeature,
  certificatesFeature,
  appConnectionsFeature,
  federationsFeature,
  workloadIdentityFeature,
  esoFeature,
  clustersFeature,
  endpointDiscoveryFeature,
  eaasFeature,
  attestationFeature,
  pqcFeature,
  tenantsFeature,
  regionsFeature,
  saasFeature,
  billingFeature,
  auditFeature,
  exportersFeature,
  webhooksFeature,
  mailFeature,
  anomaliesFeature,
  rollupsFeature,
  attackPathsFeature,
  copilotFeature,
  healthFeature,
  consoleFeature,
  referenceFeature,
];
