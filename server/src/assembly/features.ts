import { accessPathsFeature } from '../features/access-paths/feature.ts';
import { accessRequestsFeature } from '../features/access-requests/feature.ts';
import { accountLinksFeature } from '../features/account-links/feature.ts';
import { aggregateFeature } from '../features/aggregate/feature.ts';
import { anomaliesFeature } from '../features/anomalies/feature.ts';
import { appConnectionsFeature } from '../features/app-connections/feature.ts';
import { approvalsFeature } from '../features/approvals/feature.ts';
import { attackPathsFeature } from '../features/attack-paths/feature.ts';
import { attestationFeature } from '../features/attestation/feature.ts';
import { auditFeature } from '../features/audit/feature.ts';
import { billingFeature } from '../features/billing/feature.ts';
import { certificatesFeature } from '../features/certificates/feature.ts';
import { clustersFeature } from '../features/clusters/feature.ts';
import { consoleFeature } from '../features/console/feature.ts';
import { copilotFeature } from '../features/copilot/feature.ts';
import { eaasFeature } from '../features/eaas/feature.ts';
import { endpointDiscoveryFeature } from '../features/endpoint-discovery/feature.ts';
import { environmentsFeature } from '../features/environments/feature.ts';
import { esoFeature } from '../features/eso/feature.ts';
import { exportersFeature } from '../features/exporters/feature.ts';
import { federationsFeature } from '../features/federations/feature.ts';
import { groupsFeature } from '../features/groups/feature.ts';
import { healthFeature } from '../features/health/feature.ts';
import { jobsFeature } from '../features/jobs/feature.ts';
import { mailFeature } from '../features/mail/feature.ts';
import { mfaFeature } from '../features/mfa/feature.ts';
import { passphraseChecksFeature } from '../features/passphrase-checks/feature.ts';
import { policiesFeature } from '../features/policies/feature.ts';
import { pqcFeature } from '../features/pqc/feature.ts';
import { referenceFeature } from '../features/reference/feature.ts';
import { regionsFeature } from '../features/regions/feature.ts';
import { riskFeature } from '../features/risk/feature.ts';
import { rollupsFeature } from '../features/rollups/feature.ts';
import { saasFeature } from '../features/saas/feature.ts';
import { scimFeature } from '../features/scim/feature.ts';
import { searchFeature } from '../features/search/feature.ts';
import { secretsFeature } from '../features/secrets/feature.ts';
import { sessionsFeature } from '../features/sessions/feature.ts';
import { sharesFeature } from '../features/shares/feature.ts';
import { signOnFeature } from '../features/sign-on/feature.ts';
import { tenantsFeature } from '../features/tenants/feature.ts';
import { tokenizationFeature } from '../features/tokenization/feature.ts';
import { tokensFeature } from '../features/tokens/feature.ts';
import { transferFeature } from '../features/transfer/feature.ts';
import { usersFeature } from '../features/users/feature.ts';
import { vaultsFeature } from '../features/vaults/feature.ts';
import { webhooksFeature } from '../features/webhooks/feature.ts';
import { workloadIdentityFeature } from '../features/workload-identity/feature.ts';
import type { DeclaredFeature } from '../kernel/feature/declaration.ts';

/** Every feature of the service, in the order in which the reference lists their endpoints. No other order matters. */
export const FEATURES: readonly DeclaredFeature[] = [
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
  passphraseChecksFeature,
  secretsFeature,
  riskFeature,
  aggregateFeature,
  searchFeature,
  sharesFeature,
  tokenizationFeature,
  transferFeature,
  approvalsFeature,
  accessRequestsFeature,
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
  accessPathsFeature,
  copilotFeature,
  healthFeature,
  jobsFeature,
  consoleFeature,
  referenceFeature,
];
