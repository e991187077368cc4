import type { AnomaliesModelTables } from '../features/anomalies/model-store.ts';
import type { AnomaliesScanTables } from '../features/anomalies/scan-store.ts';
import type { AnomaliesTables } from '../features/anomalies/store.ts';
import type { AppConnectionsTokenTables } from '../features/app-connections/login/token-store.ts';
import type { AppConnectionsSessionTables } from '../features/app-connections/session-store.ts';
import type { AppConnectionsTables } from '../features/app-connections/storage/connection-store.ts';
import type { ApprovalsBreakGlassTables } from '../features/approvals/break-glass-store.ts';
import type { ApprovalsTables } from '../features/approvals/store.ts';
import type { AttackPathsTables } from '../features/attack-paths/store.ts';
import type { AttestationTables } from '../features/attestation/store.ts';
import type { AuditTables } from '../features/audit/store.ts';
import type { AuditVerifiedTables } from '../features/audit/verification/verified-store.ts';
import type { BillingTables } from '../features/billing/store.ts';
import type { CertificatesExpiryTables } from '../features/certificates/expiry-store.ts';
import type { CertificatesTables } from '../features/certificates/store.ts';
import type { ClustersStateTables } from '../features/clusters/state-store.ts';
import type { ClustersTables } from '../features/clusters/store.ts';
import type { CopilotTables } from '../features/copilot/store.ts';
import type { EaasTables } from '../features/eaas/store.ts';
import type { EndpointDiscoveryDriftTables } from '../features/endpoint-discovery/drift-store.ts';
import type { EndpointDiscoveryTables } from '../features/endpoint-discovery/store.ts';
import type { EnvironmentsTables } from '../features/environments/store.ts';
import type { ExportersTables } from '../features/exporters/store.ts';
import type { FederationsTables } from '../features/federations/store.ts';
import type { GroupsTables } from '../features/groups/storage/group-store.ts';
import type { MailTables } from '../features/mail/store.ts';
import type { MfaChallengeTables } from '../features/mfa/challenge-store.ts';
import type { MfaTables } from '../features/mfa/factors/factor-store.ts';
import type { MfaPasskeyTables } from '../features/mfa/passkeys/passkey-store.ts';
import type { PassphraseCheckTables } from '../features/passphrase-checks/store.ts';
import type { PoliciesTables } from '../features/policies/store.ts';
import type { PqcTables } from '../features/pqc/store.ts';
import type { RegionsDirectoryTables } from '../features/regions/directory-store.ts';
import type { RegionsNumbersTables } from '../features/regions/numbers-store.ts';
import type { RegionsTermsTables } from '../features/regions/terms-store.ts';
import type { RiskReadTables } from '../features/risk/read-store.ts';
import type { RiskRunTables } from '../features/risk/run-store.ts';
import type { RiskTables } from '../features/risk/store.ts';
import type { RollupsActivityTables } from '../features/rollups/activity-store.ts';
import type { HourlyActivityTables } from '../features/rollups/hourly-activity-store.ts';
import type { RollupsTables } from '../features/rollups/store.ts';
import type { SaasPlansTables } from '../features/saas/plans-store.ts';
import type { SaasSignupTables } from '../features/saas/signup-store.ts';
import type { ScimGroupTables } from '../features/scim/group-store.ts';
import type { ScimTokenTables } from '../features/scim/token-store.ts';
import type { ScimUserTables } from '../features/scim/user-store.ts';
import type { SecretsExpiryTables } from '../features/secrets/expiry/expiry-store.ts';
import type { SecretsRotationTables } from '../features/secrets/rotation/rotation-store.ts';
import type { SecretsTables } from '../features/secrets/storage/tables.ts';
import type { SharesTables } from '../features/shares/store.ts';
import type { SignOnDeviceTables } from '../features/sign-on/storage/device-store.ts';
import type { SignOnTables } from '../features/sign-on/storage/identity-store.ts';
import type { SignOnLogoutTables } from '../features/sign-on/storage/logout-store.ts';
import type { TokenizationTables } from '../features/tokenization/store.ts';
import type { TokensTables } from '../features/tokens/storage/token-store.ts';
import type { UsersInvitationTables } from '../features/users/invitations/invitation-store.ts';
import type { UsersTables } from '../features/users/storage/user-store.ts';
import type { VaultsTables } from '../features/vaults/storage/vault-store.ts';
import type { TimedAccessTables } from '../features/vaults/timed-access/timed-access-store.ts';
import type { WebhooksTables } from '../features/webhooks/store.ts';
import type { WorkloadIdentityTables } from '../features/workload-identity/store.ts';
import type { AttemptCountersTables } from '../kernel/limits/attempt-counters.ts';
import type { OperatorPermissionsTables } from '../kernel/time/operator-permissions.ts';

/**
 * Generated from the code by `npm run generate`; do not edit. All tables that are typed beside their store, of features and of the kernel. Queries
 * are typed by them.
 */
declare module '../kernel/storage/tables.ts' {
  interface Tables
    extends AnomaliesModelTables,
      AnomaliesScanTables,
      AnomaliesTables,
      AppConnectionsSessionTables,
      AppConnectionsTables,
      AppConnectionsTokenTables,
      ApprovalsBreakGlassTables,
      ApprovalsTables,
      AttackPathsTables,
      AttemptCountersTables,
      AttestationTables,
      AuditTables,
      AuditVerifiedTables,
      BillingTables,
      CertificatesExpiryTables,
      CertificatesTables,
      ClustersStateTables,
      ClustersTables,
      CopilotTables,
      EaasTables,
      EndpointDiscoveryDriftTables,
      EndpointDiscoveryTables,
      EnvironmentsTables,
      ExportersTables,
      FederationsTables,
      GroupsTables,
      HourlyActivityTables,
      MailTables,
      MfaChallengeTables,
      MfaPasskeyTables,
      MfaTables,
      OperatorPermissionsTables,
      PassphraseCheckTables,
      PoliciesTables,
      PqcTables,
      RegionsDirectoryTables,
      RegionsNumbersTables,
      RegionsTermsTables,
      RiskReadTables,
      RiskRunTables,
      RiskTables,
      RollupsActivityTables,
      RollupsTables,
      SaasPlansTables,
      SaasSignupTables,
      ScimGroupTables,
      ScimTokenTables,
      ScimUserTables,
      SecretsExpiryTables,
      SecretsRotationTables,
      SecretsTables,
      SharesTables,
      SignOnDeviceTables,
      SignOnLogoutTables,
      SignOnTables,
      TimedAccessTables,
      TokenizationTables,
      TokensTables,
      UsersInvitationTables,
      UsersTables,
      VaultsTables,
      WebhooksTables,
      WorkloadIdentityTables {}
}
