// Generated from docs/generated/openapi.json by `npm run generate`; do not edit.

export interface Routes {
  'POST /auth/sso/providers': operations['createSsoProvider'];
  'GET /auth/sso/providers': operations['listSsoProviders'];
  'GET /auth/sso/providers/{name}': operations['readSsoProvider'];
  'PATCH /auth/sso/providers/{name}': operations['updateSsoProvider'];
  'DELETE /auth/sso/providers/{name}': operations['deleteSsoProvider'];
  'GET /auth/sso/{provider}': operations['readSsoSignIn'];
  'POST /auth/sso/{provider}': operations['beginSsoSignIn'];
  'POST /auth/sso/{provider}/browser': operations['beginBrowserSignIn'];
  'POST /auth/sso/session': operations['finishBrowserSignIn'];
  'GET /auth/sso/callback/{tenant_id}/{provider}': operations['readSsoCallback'];
  'POST /auth/sso/callback/{tenant_id}/{provider}': operations['finishSsoSignIn'];
  'GET /auth/sso/sign-out': operations['readSsoSignOut'];
  'POST /auth/sso/{provider}/backchannel-logout': operations['backchannelLogout'];
  'POST /auth/device': operations['startDeviceLogin'];
  'POST /auth/device/token': operations['pollDeviceLogin'];
  'POST /auth/device/approve': operations['approveDeviceLogin'];
  'GET /auth/links': operations['listSsoLinks'];
  'POST /auth/links': operations['beginSsoLink'];
  'POST /auth/links/confirm': operations['confirmSsoLink'];
  'DELETE /auth/links/{provider}': operations['deleteSsoLink'];
  'POST /auth/sso/providers/{name}/scim-tokens': operations['createScimToken'];
  'GET /auth/sso/providers/{name}/scim-tokens': operations['listScimTokens'];
  'POST /auth/sso/providers/{name}/scim-tokens/{token_id}/rotate': operations['rotateScimToken'];
  'DELETE /auth/sso/providers/{name}/scim-tokens/{token_id}': operations['revokeScimToken'];
  'GET /scim/v2/Users': operations['listScimUsers'];
  'POST /scim/v2/Users': operations['createScimUser'];
  'POST /scim/v2/.search': operations['searchScim'];
  'POST /scim/v2/Users/.search': operations['searchScimUsers'];
  'POST /scim/v2/Groups/.search': operations['searchScimGroups'];
  'GET /scim/v2/Users/{user_id}': operations['readScimUser'];
  'PUT /scim/v2/Users/{user_id}': operations['replaceScimUser'];
  'PATCH /scim/v2/Users/{user_id}': operations['updateScimUser'];
  'DELETE /scim/v2/Users/{user_id}': operations['deleteScimUser'];
  'GET /scim/v2/Groups': operations['listScimGroups'];
  'POST /scim/v2/Groups': operations['createScimGroup'];
  'GET /scim/v2/Groups/{group_id}': operations['readScimGroup'];
  'PUT /scim/v2/Groups/{group_id}': operations['replaceScimGroup'];
  'PATCH /scim/v2/Groups/{group_id}': operations['updateScimGroup'];
  'DELETE /scim/v2/Groups/{group_id}': operations['deleteScimGroup'];
  'GET /scim/v2/ServiceProviderConfig': operations['readScimServiceProviderConfig'];
  'GET /scim/v2/ResourceTypes': operations['listScimResourceTypes'];
  'GET /scim/v2/ResourceTypes/{id}': operations['readScimResourceType'];
  'GET /scim/v2/Schemas': operations['listScimSchemas'];
  'GET /scim/v2/Schemas/{id}': operations['readScimSchema'];
  'POST /auth/login': operations['login'];
  'POST /auth/passkeys/options': operations['passkeyLoginOptions'];
  'POST /auth/passkeys/login': operations['passkeyLogin'];
  'POST /auth/step-up/options': operations['stepUpOptions'];
  'POST /auth/step-up': operations['stepUp'];
  'GET /auth/sessions': operations['listSessions'];
  'DELETE /auth/sessions': operations['endSessions'];
  'DELETE /auth/sessions/{session_id}': operations['endSession'];
  'POST /auth/read-invite': operations['readInvite'];
  'POST /auth/accept-invite': operations['acceptInvite'];
  'POST /auth/logout': operations['logout'];
  'GET /auth/me': operations['readMe'];
  'PATCH /auth/me': operations['updateMe'];
  'POST /auth/capabilities': operations['readCapabilities'];
  'POST /auth/password': operations['changePassword'];
  'POST /auth/tokens': operations['createToken'];
  'GET /auth/tokens': operations['listTokens'];
  'GET /auth/tokens/{token_id}': operations['readToken'];
  'DELETE /auth/tokens/{token_id}': operations['revokeToken'];
  'GET /.well-known/jwks.json': operations['readJwks'];
  'GET /auth/mfa': operations['readMfa'];
  'POST /auth/mfa/totp': operations['enrolTotp'];
  'DELETE /auth/mfa/totp': operations['disableTotp'];
  'POST /auth/mfa/totp/confirm': operations['confirmTotp'];
  'DELETE /v1/users/{user_id}/mfa': operations['resetMfa'];
  'POST /v1/users/{user_id}/mfa/trust': operations['trustMfa'];
  'POST /auth/mfa/trust': operations['askMfaTrust'];
  'POST /auth/mfa/passkeys/options': operations['passkeyEnrolmentOptions'];
  'POST /auth/mfa/passkeys': operations['enrolPasskey'];
  'GET /auth/mfa/passkeys': operations['listPasskeys'];
  'PATCH /auth/mfa/passkeys/{passkey_id}': operations['renamePasskey'];
  'DELETE /auth/mfa/passkeys/{passkey_id}': operations['deletePasskey'];
  'GET /auth/mfa/recovery-codes': operations['readRecoveryCodes'];
  'POST /auth/mfa/recovery-codes': operations['makeRecoveryCodes'];
  'POST /v1/users': operations['createUser'];
  'GET /v1/users': operations['listUsers'];
  'POST /v1/users/{user_id}/invite': operations['inviteUser'];
  'GET /v1/users/{user_id}': operations['readUser'];
  'PATCH /v1/users/{user_id}': operations['updateUser'];
  'DELETE /v1/users/{user_id}': operations['deleteUser'];
  'POST /v1/groups': operations['createGroup'];
  'GET /v1/groups': operations['listGroups'];
  'GET /v1/groups/{group_id}': operations['readGroup'];
  'PATCH /v1/groups/{group_id}': operations['updateGroup'];
  'DELETE /v1/groups/{group_id}': operations['deleteGroup'];
  'POST /v1/groups/{group_id}/members': operations['addGroupMember'];
  'GET /v1/groups/{group_id}/members': operations['listGroupMembers'];
  'DELETE /v1/groups/{group_id}/members/{user_id}': operations['removeGroupMember'];
  'POST /v1/policies': operations['createPolicy'];
  'GET /v1/policies': operations['listPolicies'];
  'GET /v1/policies/{name}': operations['readPolicy'];
  'PUT /v1/policies/{name}': operations['updatePolicy'];
  'DELETE /v1/policies/{name}': operations['deletePolicy'];
  'GET /v1/policies/{name}/versions': operations['listPolicyVersions'];
  'POST /v1/policies/{name}/attach': operations['attachPolicy'];
  'POST /v1/policies/{name}/detach': operations['detachPolicy'];
  'POST /v1/policies/simulate': operations['simulatePolicy'];
  'POST /v1/policies/who-can': operations['whoCan'];
  'POST /v1/policies/explain': operations['explainAccess'];
  'GET /v1/vaults': operations['listVaults'];
  'POST /v1/vaults': operations['createVault'];
  'GET /v1/vaults/{vault}': operations['readVault'];
  'PATCH /v1/vaults/{vault}': operations['updateVault'];
  'DELETE /v1/vaults/{vault}': operations['deleteVault'];
  'POST /v1/vaults/{vault}/restore': operations['restoreVault'];
  'GET /v1/vaults/{vault}/members': operations['listVaultMembers'];
  'POST /v1/vaults/{vault}/members': operations['addVaultMember'];
  'PATCH /v1/vaults/{vault}/members/{member_id}': operations['changeVaultMember'];
  'DELETE /v1/vaults/{vault}/members/{member_id}': operations['removeVaultMember'];
  'GET /v1/users/{user_id}/vaults': operations['listVaultsOfUser'];
  'POST /v1/vaults/{vault}/members/review': operations['reviewVaultMembers'];
  'GET /v1/vaults/{vault}/passphrase-check': operations['getPassphraseCheck'];
  'PUT /v1/vaults/{vault}/passphrase-check': operations['putPassphraseCheck'];
  'GET /v1/vaults/{vault}/secrets': operations['listSecrets'];
  'POST /v1/vaults/{vault}/secrets': operations['createSecret'];
  'GET /v1/vaults/{vault}/secrets/{path}': operations['readSecret'];
  'PUT /v1/vaults/{vault}/secrets/{path}': operations['updateSecret'];
  'DELETE /v1/vaults/{vault}/secrets/{path}': operations['deleteSecret'];
  'POST /v1/vaults/{vault}/secrets/{path}/restore': operations['restoreSecret'];
  'GET /v1/vaults/{vault}/references/{path}': operations['readReferences'];
  'GET /v1/vaults/{vault}/secrets/{path}/versions': operations['listSecretVersions'];
  'POST /v1/vaults/{vault}/secrets/{path}/rotate': operations['rotateSecret'];
  'POST /v1/vaults/{vault}/secrets/{path}/rollback': operations['rollbackSecret'];
  'POST /v1/vaults/{vault}/secrets/{path}/move': operations['moveSecret'];
  'POST /v1/vaults/{vault}/secrets/{path}/copy': operations['copySecret'];
  'POST /v1/vaults/{vault}/changes': operations['changeSecrets'];
  'GET /v1/vaults/{vault}/secrets/{path}/risk': operations['readSecretRisk'];
  'GET /v1/vaults/{vault}/aggregate': operations['aggregateSecrets'];
  'POST /v1/vaults/{vault}/search': operations['searchSecrets'];
  'GET /vaults/collisions': operations['listCollisions'];
  'GET /v1/secrets': operations['findSecrets'];
  'GET /v1/secrets/due': operations['listDueSecrets'];
  'POST /v1/secrets/known': operations['findKnownValues'];
  'POST /v1/shares': operations['createShare'];
  'GET /v1/shares': operations['listShares'];
  'DELETE /v1/shares/{share_id}': operations['revokeShare'];
  'POST /v1/shares/{share_id}/open': operations['openShare'];
  'GET /s/{share_id}': operations['getSharePage'];
  'GET /s/script.js': operations['getShareScript'];
  'GET /s/style.css': operations['getShareStyle'];
  'POST /v1/vaults/{vault}/tokenize': operations['tokenize'];
  'POST /v1/vaults/{vault}/detokenize': operations['detokenize'];
  'POST /v1/vaults/{vault}/import': operations['importSecrets'];
  'GET /v1/vaults/{vault}/export': operations['exportSecrets'];
  'GET /approvals': operations['listApprovals'];
  'GET /approvals/{approval_id}': operations['readApproval'];
  'GET /approvals/{approval_id}/values': operations['revealApproval'];
  'POST /approvals/{approval_id}/approve': operations['approveApproval'];
  'POST /approvals/{approval_id}/reject': operations['rejectApproval'];
  'POST /v1/access-requests': operations['requestAccess'];
  'GET /v1/access-requests': operations['listAccess'];
  'DELETE /v1/access-requests/{access_id}': operations['endAccess'];
  'GET /environments': operations['listEnvironments'];
  'POST /environments': operations['createEnvironment'];
  'GET /environments/{environment_id}': operations['readEnvironment'];
  'PUT /environments/{environment_id}': operations['updateEnvironment'];
  'DELETE /environments/{environment_id}': operations['deleteEnvironment'];
  'GET /environments/{environment_id}/secrets': operations['listEnvironmentSecrets'];
  'POST /environments/{environment_id}/secrets': operations['bindEnvironmentSecret'];
  'DELETE /environments/{environment_id}/secrets/{secret_id}': operations['unbindEnvironmentSecret'];
  'GET /environments/{environment_id}/compose': operations['composeEnvironment'];
  'GET /pki/root.pem': operations['readRootCertificate'];
  'GET /pki/{tenant_id}/ca.pem': operations['readTenantCertificates'];
  'GET /pki/{tenant_id}/crl.pem': operations['readRevocationList'];
  'GET /pki/{tenant_id}/crl.der': operations['readRevocationListDer'];
  'POST /v1/app-connections': operations['createConnection'];
  'GET /v1/app-connections': operations['listConnections'];
  'GET /app-connections/auto-paths': operations['listAutoPaths'];
  'GET /app-connections/by-client/{client_id}': operations['readConnectionByClient'];
  'GET /v1/app-connections/{connection}': operations['readConnection'];
  'PATCH /v1/app-connections/{connection}': operations['updateConnection'];
  'DELETE /v1/app-connections/{connection}': operations['deleteConnection'];
  'POST /v1/app-connections/{connection}/rotate': operations['rotateConnection'];
  'GET /v1/app-connections/{connection}/certificates': operations['listConnectionCertificates'];
  'POST /v1/app-connections/{connection}/certificates/{serial}/revoke': operations['revokeCertificate'];
  'POST /app-connections/{connection}/export-zip': operations['exportConnectionBundle'];
  'GET /app-connections/fetch/{client_id}/{vault}/{secret}': operations['fetchConnectionSecret'];
  'POST /app-connections/{connection}/federations': operations['createFederation'];
  'GET /app-connections/{connection}/federations': operations['listFederations'];
  'GET /app-connections/{connection}/federations/{federation_id}': operations['readFederation'];
  'PUT /app-connections/{connection}/federations/{federation_id}': operations['updateFederation'];
  'DELETE /app-connections/{connection}/federations/{federation_id}': operations['deleteFederation'];
  'POST /app-connections/{connection}/federated-token': operations['exchangeFederatedToken'];
  'POST /workload-identity/methods': operations['createWorkloadMethod'];
  'GET /workload-identity/methods': operations['listWorkloadMethods'];
  'GET /workload-identity/methods/{method_id}': operations['readWorkloadMethod'];
  'PUT /workload-identity/methods/{method_id}': operations['updateWorkloadMethod'];
  'DELETE /workload-identity/methods/{method_id}': operations['deleteWorkloadMethod'];
  'POST /workload-identity/login': operations['workloadLogin'];
  'GET /eso/secrets/by-id': operations['operatorSecretById'];
  'GET /eso/secrets/by-name': operations['operatorSecretByName'];
  'GET /eso/vault/{vault}': operations['operatorVault'];
  'POST /clusters': operations['createCluster'];
  'GET /clusters': operations['listClusters'];
  'GET /clusters/{cluster_id}': operations['readCluster'];
  'DELETE /clusters/{cluster_id}': operations['deleteCluster'];
  'POST /clusters/{cluster_id}/rotate-token': operations['rotateClusterToken'];
  'POST /clusters/{cluster_id}/policies': operations['createClusterPolicy'];
  'GET /clusters/{cluster_id}/policies': operations['listClusterPolicies'];
  'DELETE /clusters/{cluster_id}/policies/{policy_id}': operations['deleteClusterPolicy'];
  'GET /clusters/{cluster_id}/desired-state': operations['readDesiredState'];
  'POST /clusters/{cluster_id}/status': operations['reportClusterStatus'];
  'GET /clusters/{cluster_id}/audit': operations['listClusterAudit'];
  'POST /kube-guardian/endpoint-accounts': operations['reportEndpointAccounts'];
  'GET /endpoint-discovery/accounts': operations['listEndpointAccounts'];
  'GET /endpoint-discovery/accounts/{account_id}': operations['readEndpointAccount'];
  'POST /endpoint-discovery/accounts/{account_id}/link': operations['linkEndpointAccount'];
  'GET /endpoint-discovery/stats': operations['readEndpointStats'];
  'GET /endpoint-discovery/drift': operations['listEndpointDrift'];
  'POST /eaas/keys': operations['createEncryptionKey'];
  'GET /eaas/keys': operations['listEncryptionKeys'];
  'GET /eaas/keys/{name}': operations['readEncryptionKey'];
  'PATCH /eaas/keys/{name}': operations['updateEncryptionKey'];
  'DELETE /eaas/keys/{name}': operations['deleteEncryptionKey'];
  'POST /eaas/keys/{name}/rotate': operations['rotateEncryptionKey'];
  'POST /eaas/keys/{name}/encrypt': operations['encrypt'];
  'POST /eaas/keys/{name}/decrypt': operations['decrypt'];
  'POST /eaas/keys/{name}/encrypt-batch': operations['encryptBatch'];
  'POST /eaas/keys/{name}/decrypt-batch': operations['decryptBatch'];
  'POST /eaas/keys/{name}/rewrap': operations['rewrap'];
  'POST /attestation/nonce': operations['createAttestationNonce'];
  'POST /attestation/verify': operations['verifyAttestation'];
  'POST /pqc/hybrid-classical/wrap': operations['wrapKey'];
  'POST /pqc/hybrid-classical/unwrap': operations['unwrapKey'];
  'POST /pqc/dual-sign/sign': operations['dualSign'];
  'POST /pqc/dual-sign/verify': operations['dualVerify'];
  'GET /pqc/keys': operations['listPqcKeys'];
  'POST /pqc/keys/rotate': operations['rotatePqcKey'];
  'GET /pqc/keys/{key_id}': operations['readPqcKey'];
  'POST /v1/tenants': operations['createTenant'];
  'GET /v1/tenants': operations['listTenants'];
  'GET /v1/tenants/{tenant_id}': operations['readTenant'];
  'PATCH /v1/tenants/{tenant_id}': operations['updateTenant'];
  'GET /v1/tenant/settings': operations['readTenantSettings'];
  'PATCH /v1/tenant/settings': operations['updateTenantSettings'];
  'GET /admin/tenant-region': operations['listTenantRegions'];
  'GET /admin/tenant-region/{tenant_id}': operations['readTenantRegion'];
  'PUT /admin/tenant-region/{tenant_id}': operations['assignTenantRegion'];
  'POST /admin/tenant-region/{tenant_id}/promote': operations['promoteTenantRegion'];
  'GET /crdt/sync': operations['pullDirectory'];
  'POST /crdt/sync': operations['pushDirectory'];
  'POST /saas/signup': operations['signUp'];
  'POST /saas/verify': operations['verifySignup'];
  'POST /saas/resend': operations['resendVerification'];
  'GET /saas/tier': operations['readTier'];
  'GET /admin/plans': operations['listPlans'];
  'PUT /admin/plans/{plan}': operations['putPlan'];
  'POST /billing/webhook': operations['billingWebhook'];
  'GET /v1/audit': operations['listAudit'];
  'GET /v1/audit/verify': operations['verifyAudit'];
  'GET /v1/audit/checkpoints': operations['listCheckpoints'];
  'POST /v1/audit/checkpoints': operations['createCheckpoint'];
  'GET /v1/audit/export': operations['exportAudit'];
  'POST /v1/audit/exporters': operations['createExporter'];
  'GET /v1/audit/exporters': operations['listExporters'];
  'GET /v1/audit/exporters/{exporter_id}': operations['readExporter'];
  'PATCH /v1/audit/exporters/{exporter_id}': operations['updateExporter'];
  'DELETE /v1/audit/exporters/{exporter_id}': operations['deleteExporter'];
  'POST /v1/audit/exporters/{exporter_id}/test': operations['testExporter'];
  'POST /v1/audit/exporters/{exporter_id}/replay': operations['replayExporter'];
  'POST /webhooks': operations['createWebhook'];
  'GET /webhooks': operations['listWebhooks'];
  'GET /webhooks/{webhook_id}': operations['readWebhook'];
  'PATCH /webhooks/{webhook_id}': operations['updateWebhook'];
  'DELETE /webhooks/{webhook_id}': operations['deleteWebhook'];
  'GET /webhooks/{webhook_id}/url': operations['readWebhookUrl'];
  'POST /webhooks/{webhook_id}/rotate-secret': operations['rotateWebhookSecret'];
  'POST /webhooks/{webhook_id}/test': operations['testWebhook'];
  'GET /webhooks/{webhook_id}/deliveries': operations['listWebhookDeliveries'];
  'POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver': operations['redeliverWebhook'];
  'GET /anomalies': operations['listAnomalies'];
  'GET /anomalies/{anomaly_id}': operations['readAnomaly'];
  'POST /anomalies/{anomaly_id}/acknowledge': operations['acknowledgeAnomaly'];
  'POST /anomalies/{anomaly_id}/dismiss': operations['dismissAnomaly'];
  'GET /anomalies/baselines': operations['readAnomalyBaselines'];
  'GET /anomalies/models': operations['readAnomalyModels'];
  'POST /anomalies/scan': operations['scanAnomalies'];
  'GET /v1/audit/activity': operations['readAuditActivity'];
  'GET /attack-paths': operations['listAttackPaths'];
  'GET /attack-paths/{attack_path_id}': operations['readAttackPath'];
  'POST /attack-paths/recompute': operations['recomputeAttackPaths'];
  'GET /v1/access-paths': operations['listAccessPaths'];
  'POST /copilot/explain-risk': operations['explainRisk'];
  'POST /copilot/summarize-path': operations['summarizePath'];
  'POST /copilot/validation-tasks': operations['validationTasks'];
  'POST /copilot/chat': operations['chat'];
  'POST /copilot/generate-code': operations['generateCode'];
  'GET /health': operations['health'];
  'GET /health/ready': operations['ready'];
  'GET /metrics': operations['metrics'];
  'GET /admin/nodes': operations['listNodes'];
  'GET /admin/jobs': operations['listJobs'];
  'POST /admin/jobs/{job}/run': operations['runJob'];
  'GET /': operations['getConsole'];
  'GET /console/script/{file}': operations['getConsoleScript'];
  'GET /console/style/{file}': operations['getConsoleStyle'];
  'GET /console/icons/{file}': operations['getConsoleIcons'];
  'GET /console/font/{file}': operations['getConsoleFont'];
  'GET /openapi.json': operations['getOpenApi'];
  'GET /docs': operations['getDocs'];
  'GET /docs/{page}': operations['getDocsPage'];
  'GET /docs/guide': operations['getGuide'];
  'GET /docs/guide/{page}': operations['getGuidePage'];
  'GET /docs/style.css': operations['getDocsStyle'];
  'GET /docs/script.js': operations['getDocsScript'];
}

export interface components {
    schemas: {
        /** @description The request body of `acceptInvite`. */
        AcceptInviteInput: {
            /**
             * @description The token of the invitation.
             * @example cv_inv_7Qm2xV9kLr4Tn8
             */
            token: string;
            /** @description A new password, at least 12 characters. */
            password: string;
        };
        /** @description The response of `acceptInvite`. */
        AcceptInviteOutput: {
            /** @description Returned once. */
            token: string;
            /** @description An id that starts with token_. */
            token_id: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            /** @description An id that starts with user_. */
            user_id: string;
            /** @description An id that starts with tenant_. */
            tenant_id: string;
        };
        /** @description A credential by which somebody could use the path. */
        AccessCredential: {
            /**
             * @description What kind of credential it is.
             * @enum {string}
             */
            type: "password" | "token" | "client_secret" | "certificate" | "federation" | "workload_method";
            /** @description Its id; empty for a password. */
            id: string;
            /** @description Its name, if it has one. */
            name: string;
            /**
             * Format: int32
             * @description How weak it is, 100 being the weakest.
             */
            weakness: number;
            /** @description What its weakness consists of, as a sentence. */
            why: string;
        };
        /** @description One way by which somebody could read values. */
        AccessPath: {
            principal: components["schemas"]["AccessPathPrincipal"];
            /** @description Those that reach this far, the weakest first: at most five tokens of a user, and what you may read. */
            credentials: components["schemas"]["AccessCredential"][];
            group: components["schemas"]["AccessPathGroup"] | null;
            grant: components["schemas"]["AccessPathGrant"];
            /** @description Name of the vault. */
            vault: string;
            /** @description Environment of the vault. */
            environment: components["schemas"]["Stage"] | null;
            path: string | null;
        };
        /** @description What gives the right. */
        AccessPathGrant: {
            /**
             * @description A role in the vault, access for a time, a role in the tenant, an attached policy, or the limits of the connection itself.
             * @enum {string}
             */
            kind: "membership" | "access" | "role" | "policy" | "connection";
            /** @description The role, the name of the policy, or the name of the connection. */
            name: string;
            /** @description When it ends by itself. */
            until: string | null;
        };
        /** @description The group whose right it is. */
        AccessPathGroup: {
            /** @description Id of the group. */
            id: string;
            /** @description Name of the group. */
            name: string;
        };
        /** @description Who could read. */
        AccessPathPrincipal: {
            kind: components["schemas"]["AllowedPrincipalKind"];
            /** @description Id of the user, or client id of the connection. */
            id: string;
            /** @description E-mail address or name. */
            name: string;
        };
        /** @description The right that somebody needs who is to change the refusal. */
        AccessRemedy: {
            /** @description members:add, policies:attach or policies:update. */
            action: string;
            /** @description What they need it on. */
            resource: string;
        };
        /**
         * @description active: it gives rights now. ended: it gives none any more.
         * @enum {string}
         */
        AccessStatus: "active" | "ended";
        /** @description The request body of `acknowledgeAnomaly`. */
        AcknowledgeAnomalyInput: {
            /** @description Why, or what is done about it. */
            note?: string;
        };
        /** @description Somebody or something that was active. */
        ActiveActor: {
            /** @description A person or a kind of machine. */
            kind: string;
            /** @description The id. */
            id: string;
            /** @description The name, such as an e-mail address; empty if the log does not have it. */
            name: string;
            /**
             * Format: int64
             * @description Values of secrets that were read.
             */
            reads: number;
            /**
             * Format: int64
             * @description Requests that changed something.
             */
            changes: number;
            /**
             * Format: int64
             * @description Requests that were refused.
             */
            denied: number;
        };
        /** @description The request body of `addGroupMember`. */
        AddGroupMemberInput: {
            /** @description A user, by id or e-mail address. */
            user_id: string;
        };
        /**
         * @description The request body of `addVaultMember`.
         * @example {
         *       "user": "ada@example.com",
         *       "role": "reader"
         *     }
         */
        AddVaultMemberInput: {
            /** @description A user, by id or e-mail address. */
            user?: string;
            /** @description A group, by id or name. */
            group?: string;
            role: components["schemas"]["VaultRole"];
        };
        /** @description The response of `aggregateSecrets`. */
        AggregateSecretsOutput: {
            /** @description The name of the vault. */
            vault: string;
            /** @description The requested prefix; empty for the whole vault. */
            prefix: string;
            secrets: components["schemas"]["AggregatedSecret"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description A secret with its value, as part of a bulk read. */
        AggregatedSecret: {
            /** @description The path of the secret in the vault. */
            path: string;
            /** @description The type of the secret. */
            type: string;
            /** @description The value. */
            value: string;
            /**
             * Format: int64
             * @description The newest version.
             */
            version: number;
            /** @description Only of a template that was resolved: the secrets whose values are in its value. */
            parts?: components["schemas"]["TemplatePart"][];
        };
        /** @description A principal that is allowed an action on a resource. */
        AllowedPrincipal: {
            kind: components["schemas"]["AllowedPrincipalKind"];
            /** @description The id of a user, the client id of a connection. */
            id: string;
            /** @description The e-mail address of a user, the name of a connection. */
            name: string;
            /** @description Whether it also needs a second factor, an address or a time that a policy requires. */
            conditional: boolean;
            because: components["schemas"]["GrantedBy"][];
        };
        /**
         * @description A person or a connection.
         * @enum {string}
         */
        AllowedPrincipalKind: "user" | "app_connection";
        /** @description Something that a scan found unusual. */
        Anomaly: {
            /** @description An id that starts with anom_. */
            id: string;
            type: components["schemas"]["AnomalyType"];
            severity: components["schemas"]["Severity"];
            /** @description What it is about, such as vault/shop/stripe/key or app-connection/7. */
            resource: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            detected_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            last_seen_at: string;
            /**
             * Format: int64
             * @description How many scans found it.
             */
            occurrences: number;
            /** @description What is usual or allowed, such as `reads_per_hour_p95`. */
            baseline: {
                [key: string]: number | string | string[] | null;
            };
            /** @description What was found, such as `reads_per_hour_last`. */
            observed: {
                [key: string]: number | string | string[] | null;
            };
            /** @description What to do, with the request that does it. */
            recommendation: string;
            status: components["schemas"]["AnomalyStatus"];
            /** @description When it was acknowledged or dismissed. */
            acted_at: string | null;
            acted_by: string | null;
            note: string | null;
            /** @description When it was dismissed or resolved. */
            ended_at: string | null;
        };
        /** @description What one model said about the reads of secrets. */
        AnomalyModelReport: {
            /**
             * @description v1: 95th percentile. v2: hour of the week. forest: isolation forest over the features of a day.
             * @enum {string}
             */
            model: "v1" | "v2" | "forest";
            /**
             * Format: int64
             * @description How often it would raise an anomaly.
             */
            raised: number;
            /**
             * Format: int64
             * @description Of these, how often no other model would.
             */
            alone: number;
            /**
             * Format: int64
             * @description Of these, how often somebody dismissed the anomaly as a false alarm.
             */
            dismissed: number;
        };
        /**
         * @description open: nobody acted on it. acknowledged: somebody looks into it. dismissed: it was a false alarm. resolved: nobody acted on it for 30 days, or what it is about was removed.
         * @enum {string}
         */
        AnomalyStatus: "open" | "acknowledged" | "dismissed" | "resolved";
        /** @description From where on an anomaly of a type is raised, if not from its default. `stale_rotation`: days since the last rotation (90); `unusual_access_pattern`: how many deviations from the usual reads of this hour of the week; with v1, how many times the usual reads of an hour (3); `ip_region_anomaly`: countries not seen before (1); `backend_drift`: such roles (1); `privilege_creep`: days since the last review (90); `zombie_app_connection`: days since the last use (60); `risk_score_spike`: points (30). */
        AnomalyThresholds: {
            [key: string]: number;
        };
        /**
         * @description What was found. `stale_rotation`: A secret was not rotated for longer than allowed. `unusual_access_pattern`: A secret is read far more often than in the last 30 days, or somebody reads many secrets that are new to them. `ip_region_anomaly`: An AppConnection is used from a country not seen in the last 30 days. `backend_drift`: A database server has roles whose names start with cv_ that no secret accounts for. `privilege_creep`: A vault gained members, and nobody reviewed them. `zombie_app_connection`: An active AppConnection is not used. `risk_score_spike`: The risk score of a secret changed much within a day.
         * @enum {string}
         */
        AnomalyType: "stale_rotation" | "unusual_access_pattern" | "ip_region_anomaly" | "backend_drift" | "privilege_creep" | "zombie_app_connection" | "risk_score_spike";
        /** @description A machine identity: what it may access, and how it must authenticate. */
        AppConnection: {
            /**
             * Format: int64
             * @description The number of the connection.
             */
            id: number;
            /** @description The client id of the connection: a UUID. */
            client_id: string;
            /** @description The name of the connection. */
            name: string;
            /** @description The purpose of the connection. */
            description: string;
            status: components["schemas"]["ConnectionStatus"];
            vault: string | null;
            /** @description The vaults that it may access. */
            vault_ids: string[];
            /** @description The paths that it may access in these vaults. */
            allowed_paths: string[];
            /** @description The actions that it may perform there. */
            scopes: string[];
            ip_allowlist: string[] | null;
            environment: string | null;
            /** @description It must present a client certificate. */
            mtls_required: boolean;
            tls_url: string | null;
            /** @description It must send DPoP proofs. */
            require_dpop: boolean;
            dpop_jkt: string | null;
            external_ca_pem: string | null;
            /** @description Thumbprints of certificates to refuse. */
            denied_thumbprints: string[];
            concurrent_session_limit: number | null;
            concurrent_session_action: components["schemas"]["SessionAction"];
            /**
             * Format: int64
             * @description A session without requests for this long has expired, in seconds.
             */
            concurrent_session_ttl_seconds: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            client_secret_made_at: string;
            former_client_secret_until: string | null;
            /** @description The id of the creator. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
        };
        /** @description A request that requires, or required, approval by another person. */
        Approval: {
            /** @description An id that starts with approval_. */
            id: string;
            kind: components["schemas"]["ApprovalKind"];
            /** @description The `operationId` of the request. */
            operation: string;
            /** @description The resource of the request. */
            resource: string;
            /** @description Details of the request in names, ids and counts, as in the audit log. */
            details: {
                [key: string]: unknown;
            };
            status: components["schemas"]["ApprovalStatus"];
            /** @description Whether it is your turn to approve it. Your own request it is only if nobody else could approve it. A kind that requires a second factor requires it all the same. */
            can_approve: boolean;
            requested_by: components["schemas"]["ApprovalPerson"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            decided_at: string | null;
            /** @description The required decisions, in order. */
            levels: components["schemas"]["ApprovalDecision"][];
            /** @description Approved by the requester, because nobody else could approve it. */
            self_approved: boolean;
            /** @description One person decided every level, because nobody else could. */
            single_approver: boolean;
            cancelled_because: components["schemas"]["ApprovalCancelReason"] | null;
            failure: components["schemas"]["ApprovalFailure"] | null;
        };
        /**
         * @description The token or session of the request was revoked, the account of the requester was disabled or deleted, or an operator cancelled the request.
         * @enum {string}
         */
        ApprovalCancelReason: "credential_revoked" | "account_ended" | "operator";
        /** @description One of the decisions that an approval requires. */
        ApprovalDecision: {
            level: components["schemas"]["ApprovalLevel"];
            decided_by: components["schemas"]["ApprovalPerson"] | null;
            decision: ("approved" | "rejected") | null;
            reason: string | null;
            at: string | null;
        };
        /** @description An approval with its request. */
        ApprovalDetail: {
            /** @description An id that starts with approval_. */
            id: string;
            kind: components["schemas"]["ApprovalKind"];
            /** @description The `operationId` of the request. */
            operation: string;
            /** @description The resource of the request. */
            resource: string;
            /** @description Details of the request in names, ids and counts, as in the audit log. */
            details: {
                [key: string]: unknown;
            };
            status: components["schemas"]["ApprovalStatus"];
            /** @description Whether it is your turn to approve it. Your own request it is only if nobody else could approve it. A kind that requires a second factor requires it all the same. */
            can_approve: boolean;
            requested_by: components["schemas"]["ApprovalPerson"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            decided_at: string | null;
            /** @description The required decisions, in order. */
            levels: components["schemas"]["ApprovalDecision"][];
            /** @description Approved by the requester, because nobody else could approve it. */
            self_approved: boolean;
            /** @description One person decided every level, because nobody else could. */
            single_approver: boolean;
            cancelled_because: components["schemas"]["ApprovalCancelReason"] | null;
            failure: components["schemas"]["ApprovalFailure"] | null;
            request: components["schemas"]["ApprovalRequest"] | null;
            digest: string | null;
        };
        /** @description One value that the request would change. */
        ApprovalDifference: {
            /** @description The name of the value. */
            what: string;
            /** @description The current value. */
            before: unknown;
            /** @description The value after the change. */
            after: unknown;
        };
        /** @description Why the approved request could not be executed. */
        ApprovalFailure: {
            /** @description An error code of this API. */
            code: string;
            /** @description The error message. */
            message: string;
            /** @description With VERSION_CONFLICT: what was expected and what is there, never a value. Null otherwise. */
            details: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * @description The kind of operation that requires approval by a second person.
         * @enum {string}
         */
        ApprovalKind: "vault_delete" | "eaas_key_delete" | "tenant_region_promote" | "mfa_disable" | "siem_change" | "rbac_change" | "secret_change" | "access_request" | "mfa_trust";
        /**
         * @description Who decides. If nobody but the requester manages the vault, an admin decides instead of a vault manager. A reviewer has `secrets:review` on the secret.
         * @enum {string}
         */
        ApprovalLevel: "vault_manager" | "admin" | "reviewer";
        /** @description A person, by id and by name. */
        ApprovalPerson: {
            /** @description The id. */
            id: string;
            /** @description The name. */
            name: string;
        };
        /** @description The request as it will be executed. */
        ApprovalRequest: {
            /** @description The HTTP method. */
            method: string;
            /** @description The path. */
            path: string;
            /** @description The query string, without `?`. */
            query: string;
            /** @description The body as it was sent, with `[redacted]` in place of credentials. */
            body: unknown;
            /** @description The name of each id in the request, for resources that you may see. */
            names: {
                [key: string]: string;
            };
            /** @description The values that the request would change, before and after. */
            differences: components["schemas"]["ApprovalDifference"][];
        };
        /**
         * @description `failed`: it was approved but could not be executed; nothing was changed. `cancelled`: see `cancelled_because`.
         * @enum {string}
         */
        ApprovalStatus: "pending" | "completed" | "rejected" | "expired" | "failed" | "cancelled";
        /** @description The request body of `approveApproval`. */
        ApproveApprovalInput: {
            /** @description The `digest` of the approval as you read it. If the approval differs from what you saw, the response is 409. */
            digest: string;
            /** @description The reason for the decision. */
            reason?: string;
        };
        /**
         * @description The request body of `approveDeviceLogin`.
         * @example {
         *       "user_code": "BCDF-GHJK"
         *     }
         */
        ApproveDeviceLoginInput: {
            /** @description The code that the command line shows, in any case. */
            user_code: string;
            /** @description False refuses it. Default: true. */
            approve?: boolean;
        };
        /** @description The response of `approveDeviceLogin`. */
        ApproveDeviceLoginOutput: {
            /** @description Whether the command line gets a session. */
            approved: boolean;
        };
        /** @description The response of `askMfaTrust`. */
        AskMfaTrustOutput: {
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            trusted_at: string;
        };
        /** @description The request body of `assignTenantRegion`. */
        AssignTenantRegionInput: {
            /**
             * @description The region that this request is sent to.
             * @example eu
             */
            region: string;
        };
        /** @description The response of `attachPolicy`. */
        AttachPolicyOutput: {
            /** @description Name of the policy. */
            policy: string;
            principal: components["schemas"]["AttachedPrincipal"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            attached_at: string;
        };
        /** @description A principal a policy is attached to. */
        AttachedPrincipal: {
            /**
             * @description Kind of the principal.
             * @enum {string}
             */
            kind: "group" | "user" | "app_connection";
            /** @description Its id. */
            id: string;
        };
        /** @description A way from a principal to a secret. */
        AttackPath: {
            /** @description An id that starts with apath_. */
            id: string;
            /**
             * Format: int32
             * @description The weakness of the weakest link times the risk of the secret, divided by 100.
             */
            score: number;
            /**
             * Format: int32
             * @description That of the weakest link.
             */
            weakness: number;
            /** @description Principal, credential, grant, secret. */
            steps: components["schemas"]["AttackPathStep"][];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            first_seen_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            computed_at: string;
        };
        /** @description One link of an attack path. */
        AttackPathStep: {
            /**
             * @description What kind of link it is; a path has one of each.
             * @enum {string}
             */
            kind: "principal" | "credential" | "grant" | "secret";
            /** @description A principal: user, service, federated_identity, workload. A credential: password, token, client_secret, certificate, federation, workload_method. A grant: membership, role, policy, group, connection. A secret: its type. */
            type: string;
            /** @description Its id, or a name where it has none; empty for a password or a membership. */
            id: string;
            /** @description Its name; of a secret the vault and the path. */
            name: string;
            weakness: number | null;
            /** @description What its weakness consists of, as a sentence. */
            why: string;
        };
        /**
         * @description The format of the document.
         * @enum {string}
         */
        AttestationFormat: "aws-nitro-cose-sign1" | "sgx-dcap-quote-v3" | "amd-sev-snp-report";
        /** @description Who performed the action. */
        AuditActor: {
            /** @description A person, a machine, or the service itself. */
            kind: string;
            /** @description The id. */
            id: string;
            /** @description The name, such as an e-mail address. */
            name: string;
            /** @description The credential used: a token id, a client id, a run or a method. */
            key: string;
        };
        /**
         * @description allow: executed. deny: refused. error: failed.
         * @enum {string}
         */
        AuditDecision: "allow" | "deny" | "error";
        /** @description An entry of the audit log. */
        AuditEntry: {
            /** @description The id of the entry. */
            id: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            timestamp: string;
            actor: components["schemas"]["AuditActor"];
            /** @description The action, such as secrets:read or vault_created. */
            action: string;
            /** @description The resource of the action. */
            resource: string;
            vault: string | null;
            decision: components["schemas"]["AuditDecision"];
            /**
             * Format: int64
             * @description The HTTP status of the response.
             */
            status: number;
            /** @description The address that the request came from. */
            ip: string;
            /** @description The User-Agent of the client. */
            user_agent: string;
            /** @description The id of the request. */
            request_id: string;
            reason: string | null;
            /** @description Names, ids and counts; never a value. */
            details: {
                [key: string]: unknown;
            };
            /** @description For each changed row that decides access: its digests before and after the change, or null if it was new or deleted. */
            rows?: components["schemas"]["ChangedRow"][];
            seq: number | null;
            hash: string | null;
        };
        /** @description Which entries of the audit log are meant. All must hold. */
        AuditFilter: {
            /** @description Name of a vault; with a final * every vault whose name starts with the text. */
            vault?: string;
            /** @description Id, name (e-mail address) or key (token id) of the actor; with a final * every one that starts with the text. */
            actor?: string;
            /** @description For example secrets:read; with a final * every action that starts with the text, such as vault_* or secrets:*. */
            action?: string;
            /** @description The exact resource; with a final * every resource that starts with the text. */
            resource?: string;
            /** @description Only entries of this decision. */
            decision?: components["schemas"]["AuditDecision"];
        };
        /** @description How much the audit log has of one hour or minute. */
        AuditSpan: {
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            start: string;
            /**
             * Format: int64
             * @description Values of secrets that were read. A vault that does not list its reads is included.
             */
            reads: number;
            /**
             * Format: int64
             * @description Allowed requests that changed something and needed a permission.
             */
            changes: number;
            /**
             * Format: int64
             * @description Other allowed requests, such as lists and sign-ins.
             */
            other: number;
            /**
             * Format: int64
             * @description Requests that were refused.
             */
            denied: number;
            /**
             * Format: int64
             * @description Requests that failed.
             */
            failed: number;
        };
        /**
         * @description Whether the authenticator is part of the device. Not used.
         * @enum {string}
         */
        AuthenticatorAttachment: "platform" | "cross-platform";
        /** @description A secret that a connection can fetch, and the path to fetch it from. */
        AutoPath: {
            /**
             * Format: int64
             * @description The number of the connection.
             */
            connection_id: number;
            /** @description The client id of the connection. */
            client_id: string;
            /** @description The name of the connection. */
            connection: string;
            /** @description The name of the vault. */
            vault: string;
            /** @description The path of the secret. */
            secret: string;
            /** @description The path that the connection fetches the secret from. */
            path: string;
        };
        /**
         * @description The request body of `backchannelLogout`.
         * @example {
         *       "logout_token": "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"
         *     }
         */
        BackchannelLogoutInput: {
            /** @description Signed by the provider. */
            logout_token?: string;
        } & {
            [key: string]: unknown;
        };
        /** @description The response of `backchannelLogout`. */
        BackchannelLogoutOutput: {
            /**
             * Format: int64
             * @description How many sessions ended.
             */
            sessions_ended: number;
        };
        /**
         * @description The request body of `beginBrowserSignIn`.
         * @example {
         *       "tenant": "acme"
         *     }
         */
        BeginBrowserSignInInput: {
            /** @description The tenant. Default: the tenant of the operator. */
            tenant?: string;
        };
        /** @description The response of `beginBrowserSignIn`. */
        BeginBrowserSignInOutput: {
            /** @description Where to send the person. */
            url: string;
            /** @description Store it in the page, where no other program can write, and send it to finish. Returned once. */
            flow_key: string;
        };
        /**
         * @description The request body of `beginSsoLink`.
         * @example {
         *       "provider": "okta"
         *     }
         */
        BeginSsoLinkInput: {
            /**
             * @description The name of a provider.
             * @example okta
             */
            provider: string;
        };
        /** @description The response of `beginSsoLink`. */
        BeginSsoLinkOutput: {
            /** @description Where to send the person. */
            url: string;
            /** @description Store it in the page, where no other program can write, and send it to finish. Returned once. */
            flow_key: string;
        };
        /**
         * @description The request body of `beginSsoSignIn`.
         * @example {
         *       "user_code": "BCDF-GHJK"
         *     }
         */
        BeginSsoSignInInput: {
            /** @description The code that the command line shows, in any case. */
            user_code: string;
            /** @description The tenant. Default: the tenant of the operator. */
            tenant?: string;
        };
        /** @description The response of `billingWebhook`. */
        BillingWebhookOutput: {
            /** @description True: Stripe need not send the event again. */
            received: boolean;
        };
        /** @description The request body of `bindEnvironmentSecret`. */
        BindEnvironmentSecretInput: {
            /** @description A secret, by its integer `secret_id` or its `id`. */
            secret_id: number | string;
            /** @description The name under which programs find the value: letters, digits, _ . -, at most 128 characters, not starting with a digit. */
            key_name: string;
        };
        /** @description An action on a resource. */
        CapabilityCheck: {
            /** @description For example secrets:read. */
            action: string;
            /** @description For example vault/payments/db/password. */
            resource: string;
            /** @description The environment: development (dev), homologation (hml), staging (stg) or production (prd, prod); stored as the full name. */
            environment?: string;
        };
        /**
         * @description none: changes of its secrets happen at once. review: they wait until another person with `secrets:review` approves them.
         * @enum {string}
         */
        ChangeControl: "none" | "review";
        /**
         * @description The request body of `changePassword`.
         * @example {
         *       "current_password": "correct horse battery",
         *       "new_password": "a horse of my own"
         *     }
         */
        ChangePasswordInput: {
            /** @description The current password. */
            current_password?: string;
            /** @description A new password, at least 12 characters. */
            new_password: string;
            /** @description The address that you log in with from then on. Only with the first password of an owner who has nothing but the token of the first start. */
            email?: string;
            /** @description If true, revokes all your other tokens, also those that do not end with sessions. Default: false. */
            revoke_tokens?: boolean;
            /** @description If true, the personal access tokens go on that were created with these sessions. Default: false. */
            keep_tokens?: boolean;
        };
        /**
         * @description The request body of `changeSecrets`.
         * @example {
         *       "changes": [
         *         {
         *           "op": "create",
         *           "path": "database/user",
         *           "value": "payments"
         *         }
         *       ],
         *       "reason": "New database"
         *     }
         */
        ChangeSecretsInput: {
            /** @description In their order. */
            changes: components["schemas"]["SecretChangeInput"][];
            /** @description Reason for each change that has none of its own. */
            reason?: string;
        };
        /** @description The response of `changeSecrets`. */
        ChangeSecretsOutput: {
            /** @description In the order of the request. */
            changes: components["schemas"]["ChangedSecret"][];
        };
        /** @description The request body of `changeVaultMember`. */
        ChangeVaultMemberInput: {
            role: components["schemas"]["VaultRole"];
        };
        /** @description The state of a row that decides access, after a change. */
        ChangedRow: {
            /** @description The table. */
            table: string;
            /** @description The row in it. */
            row: string;
            digest: string | null;
            before: string | null;
        };
        /** @description What one change did. */
        ChangedSecret: {
            op: components["schemas"]["SecretChangeOperation"];
            /** @description Null for a rotation, which has an id of its own. */
            id: string | null;
            /** @description The path after the change. */
            path: string;
            /** @description Null if it was deleted. */
            version: number | null;
            /** @description Null unless it was rotated. */
            rotation_id: string | null;
            status: components["schemas"]["SecretRotationProgress"];
        };
        /**
         * @description The request body of `chat`.
         * @example {
         *       "messages": [
         *         {
         *           "role": "user",
         *           "content": "How do I rotate a password?"
         *         }
         *       ]
         *     }
         */
        ChatInput: {
            /** @description The conversation, at most 32768 characters in all. The last message is the user’s. */
            messages: components["schemas"]["ChatMessage"][];
        };
        /** @description A message of the conversation. */
        ChatMessage: {
            /**
             * @description Who wrote it.
             * @enum {string}
             */
            role: "user" | "assistant";
            /** @description The text. */
            content: string;
        };
        /** @description The response of `chat`. */
        ChatOutput: {
            message: components["schemas"]["ChatReply"];
            redactions: components["schemas"]["Redactions"];
        };
        /** @description The reply of the assistant, which can be sent back as a message of the conversation. */
        ChatReply: {
            /**
             * @description Who wrote it.
             * @enum {string}
             */
            role: "assistant";
            /** @description The text. A reply with more than 32768 characters is cut off, and says so at its end. */
            content: string;
        };
        /** @description A signature over the audit log up to an entry. */
        Checkpoint: {
            /**
             * Format: int64
             * @description Numbered from 1 in each tenant.
             */
            id: number;
            /** @description An id that starts with tenant_. */
            tenant_id: string;
            /**
             * Format: int64
             * @description The last entry that it covers.
             */
            seq: number;
            /** @description The hash of that entry, in hexadecimal. */
            hash: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            signed_at: string;
            /** @description The id of the signing key in `keys`. */
            key_id: string;
            /** @description In base64: ML-DSA-65, then RSA-PSS-3072 (id-MLDSA65-RSA3072-PSS-SHA512). */
            signature: string;
        };
        /** @description A public key that signed checkpoints. */
        CheckpointKey: {
            /** @description The id of the key, derived from the key itself. */
            key_id: string;
            /** @description The signature algorithm. */
            algorithm: string;
            /** @description The public key, in base64. */
            public_key: string;
            endorsed_by: string | null;
            endorsement: string | null;
        };
        /** @description A cluster or a group of hosts. */
        Cluster: {
            /** @description An id that starts with cluster_. */
            id: string;
            /** @description The name of the cluster. */
            name: string;
            kind: components["schemas"]["ClusterKind"];
            /** @description Where its hosts belong; drift looks for missing keys on production hosts. */
            environment: components["schemas"]["Stage"] | null;
            /**
             * Format: int64
             * @description The number of its current desired state; 0 before the first one.
             */
            generation: number;
            /**
             * Format: int64
             * @description The newest generation that it reported; 0 before the first report.
             */
            applied_generation: number;
            /** @description When it last reported. */
            last_report_at: string | null;
            /**
             * Format: int64
             * @description How many secrets failed in its last report.
             */
            failed: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            token_created_at: string;
            /** @description Until when the previous token is accepted. */
            former_token_until: string | null;
            /** @description The id of the creator. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
        };
        /** @description A desired state that was delivered, or a report of what was applied. */
        ClusterApplyLogEntry: {
            /** @description An id that starts with apply_. */
            id: string;
            /**
             * @description delivered: the service answered with values. reported: the operator told what it did.
             * @enum {string}
             */
            kind: "delivered" | "reported";
            /**
             * Format: int64
             * @description The generation it is about.
             */
            generation: number;
            /**
             * Format: int64
             * @description How many Kubernetes Secrets it has.
             */
            secrets: number;
            /**
             * Format: int64
             * @description How many policies delivered nothing.
             */
            withheld: number;
            /** @description Of a report: all results but the unchanged ones. */
            results: components["schemas"]["ClusterApplyResult"][];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
        };
        /** @description What became of one Kubernetes Secret. */
        ClusterApplyResult: {
            /**
             * @description A namespace of the cluster.
             * @example shop
             */
            namespace: string;
            /**
             * @description The name of the Kubernetes Secret.
             * @example database
             */
            secret_name: string;
            /**
             * @description What the operator did.
             * @enum {string}
             */
            state: "applied" | "unchanged" | "failed" | "pruned";
            /** @description Why it failed, or what else is to be known. */
            message?: string;
        };
        /**
         * @description kubernetes: an operator fetches its secrets. hosts: agents report its accounts. Both kinds may report accounts.
         * @enum {string}
         */
        ClusterKind: "kubernetes" | "hosts";
        /** @description Which secret becomes which key. */
        ClusterMapping: {
            /**
             * @description A key in the data of the Kubernetes Secret.
             * @example password
             */
            key: string;
            /** @description segment/segment/… */
            path: string;
        };
        /** @description Which secrets become one Kubernetes Secret. */
        ClusterPolicy: {
            /** @description An id that starts with cpolicy_. */
            id: string;
            /** @description An id that starts with cluster_. */
            cluster_id: string;
            /**
             * @description A namespace of the cluster.
             * @example shop
             */
            namespace: string;
            /**
             * @description The name of the Kubernetes Secret.
             * @example database
             */
            secret_name: string;
            /**
             * @description The type of the Kubernetes Secret, such as Opaque or kubernetes.io/tls.
             * @example Opaque
             */
            secret_type: string;
            vault: string | null;
            mappings: components["schemas"]["ClusterMapping"][] | null;
            prefix: string | null;
            environment_id: number | null;
            /** @description The id of the author, whose rights decide what is delivered. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
        };
        /** @description A cluster with its token, which is shown once. */
        ClusterWithToken: {
            /** @description An id that starts with cluster_. */
            id: string;
            /** @description The name of the cluster. */
            name: string;
            kind: components["schemas"]["ClusterKind"];
            /** @description Where its hosts belong; drift looks for missing keys on production hosts. */
            environment: components["schemas"]["Stage"] | null;
            /**
             * Format: int64
             * @description The number of its current desired state; 0 before the first one.
             */
            generation: number;
            /**
             * Format: int64
             * @description The newest generation that it reported; 0 before the first report.
             */
            applied_generation: number;
            /** @description When it last reported. */
            last_report_at: string | null;
            /**
             * Format: int64
             * @description How many secrets failed in its last report.
             */
            failed: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            token_created_at: string;
            /** @description Until when the previous token is accepted. */
            former_token_until: string | null;
            /** @description The id of the creator. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /** @description Authenticates the agent or operator, as X-Cluster-Token. Store it: it is not shown again. */
            cluster_token: string;
        };
        /** @description Something in the code that should be looked at. */
        CodeFinding: {
            /**
             * Format: int64
             * @description The line, from 1.
             */
            line: number;
            /** @description The rule that found it. */
            rule: string;
        };
        /** @description One of the colliding secrets. */
        CollidingSecret: {
            /** @description An id that starts with sec_. */
            id: string;
            /** @description The name of its vault. */
            vault: string;
            /** @description Path of the secret in the vault. */
            path: string;
        };
        /** @description Secrets in several vaults that have the same path or the same value. */
        Collision: {
            /**
             * @description Whether the secrets share their path or their value.
             * @enum {string}
             */
            kind: "path" | "value";
            /** @description The common path; for equal values, the path of the first secret. */
            path: string;
            /** @description At most 50 are listed. */
            vaults: string[];
            /**
             * Format: int64
             * @description Total number.
             */
            vaults_total: number;
            /** @description At most 50 are listed. */
            secrets: components["schemas"]["CollidingSecret"][];
            /**
             * Format: int64
             * @description Total number; at most 8,000 secrets with the same value are examined.
             */
            secrets_total: number;
        };
        /** @description What is in effect; with `format=json` values by name alone. */
        ComposeAnswer: components["schemas"]["Composition"] | components["schemas"]["ComposedValues"];
        /** @description The effective binding of one name in a composed environment. */
        ComposeEntry: {
            /** @description The name. */
            key_name: string;
            /** @description `secret:<secret_id>:v<version>`, the newest version. */
            value_ref: string;
            /** @description From the root to the composed environment whose binding applies. */
            source: components["schemas"]["ComposeSource"][];
            /** @description Only with `resolve`, if you may read the secret and it is not a fortress secret. */
            value?: string;
            /** @description Only of a template that was resolved: the secrets whose values are in its value. */
            parts?: components["schemas"]["TemplatePart"][];
            /** @description Only of a template of which you may read every part: changes whenever the version of a part does, or a part is moved or deleted. */
            parts_version?: string;
            /** @description The secret is in a zero-knowledge vault, and `value` is its envelope, which a client opens. */
            sealed?: boolean;
        };
        /** @description A composed environment in the line of inheritance. */
        ComposeSource: {
            /**
             * Format: int64
             * @description The number of the composed environment.
             */
            environment_id: number;
            /** @description The name of the composed environment. */
            name: string;
        };
        /** @description Names bound to secrets, which programs read as one map. It is not the `environment` of a vault. */
        ComposedEnvironment: {
            /**
             * Format: int64
             * @description The number of the composed environment.
             */
            id: number;
            /** @description An id that starts with tenant_. */
            tenant_id: string;
            /** @description The name of the composed environment. */
            name: string;
            parent_id: number | null;
            /** @description The purpose of the composed environment. */
            description: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
        };
        /** @description The values of a composed environment by name, as `format=json` returns them. */
        ComposedValues: {
            [key: string]: string;
        };
        /** @description What is in effect in a composed environment. */
        Composition: {
            /**
             * Format: int64
             * @description The number of the composed environment.
             */
            environment_id: number;
            /** @description The name of the composed environment. */
            name: string;
            /** @description Sorted by `key_name`; at most 1000. */
            effective: {
                [key: string]: components["schemas"]["ComposeEntry"];
            };
        };
        /** @description The request body of `confirmSsoLink`. */
        ConfirmSsoLinkInput: {
            /**
             * @description From the provider.
             * @example SplxlOBeZQQYbYS6WxSbIA
             */
            code: string;
            /**
             * @description From the provider, as it was sent there.
             * @example af0ifjsldkj
             */
            state: string;
            /** @description The issuer (RFC 9207). */
            iss?: string;
            /**
             * @description The address to which the provider sent the browser, without its query.
             * @example https://coffer.example/auth/sso/callback/tenant_01/okta
             */
            redirect_uri: string;
            /**
             * @description What the page got when it began the sign-in, which proves that the same page finishes it.
             * @example wq3L0pR7cX9sTn2VbYk5mJ8dHfG1aZ4eQ6uI0oP7xRs
             */
            flow_key: string;
        };
        /** @description The request body of `confirmTotp`. */
        ConfirmTotpInput: {
            /** @description Six digits from the authenticator, or a recovery code. */
            otp: string;
            /** @description Whether your first factor counts as shown by adding it, as after POST /auth/step-up: `session` then has your session under a new id, and the old one ends. */
            step_up?: boolean;
        };
        /** @description The response of `confirmTotp`. */
        ConfirmTotpOutput: {
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            confirmed_at: string;
            /** @description Null without `step_up`, to a personal access token, and if you had a factor before: what you showed to add another one counts for its 15 minutes. */
            session: components["schemas"]["ContinuedSession"] | null;
            /** @description Returned once; each can be used once. */
            recovery_codes: string[];
        };
        /** @description A client certificate that was issued to a connection. */
        ConnectionCertificate: {
            /** @description The serial number, in hexadecimal. */
            serial: string;
            /** @description The SHA-256 thumbprint, in hexadecimal. */
            thumbprint: string;
            /** @description It was issued to a CI job in exchange for its identity token. */
            is_exchanged: boolean;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            not_before: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            not_after: string;
            revoked_at: string | null;
            /** @description The reason for the revocation; empty unless it is revoked. */
            reason: string;
        };
        /**
         * @description A disabled connection is refused, but keeps its settings and credentials.
         * @enum {string}
         */
        ConnectionStatus: "active" | "disabled";
        /** @description Your session under its new id, in which a second factor was shown. The old one has ended. */
        ContinuedSession: {
            /** @description Returned once. */
            token: string;
            /** @description An id that starts with token_. */
            token_id: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            /** @description An id that starts with user_. */
            user_id: string;
            /** @description An id that starts with tenant_. */
            tenant_id: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            mfa_at: string;
        };
        /** @description The response of `createAttestationNonce`. */
        CreateAttestationNonceOutput: {
            /** @description 32 bytes in base64 with padding. */
            nonce: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
        };
        /** @description The request body of `createCluster`. */
        CreateClusterInput: {
            /** @description The name of the cluster, unique in the tenant. */
            name: string;
            kind: components["schemas"]["ClusterKind"];
            /** @description The environment: development (dev), homologation (hml), staging (stg) or production (prd, prod); stored as the full name. */
            environment?: string;
        };
        /**
         * @description The request body of `createClusterPolicy`.
         * @example {
         *       "namespace": "shop",
         *       "secret_name": "database",
         *       "vault": "shop",
         *       "mappings": [
         *         {
         *           "key": "password",
         *           "path": "db/main"
         *         }
         *       ]
         *     }
         */
        CreateClusterPolicyInput: {
            /**
             * @description A namespace of the cluster.
             * @example shop
             */
            namespace: string;
            /**
             * @description The name of the Kubernetes Secret.
             * @example database
             */
            secret_name: string;
            /**
             * @description Default: Opaque.
             * @example Opaque
             */
            secret_type?: string;
            /** @description The vault that holds the secrets. */
            vault?: string;
            /** @description The secrets of the vault, each with its key. */
            mappings?: components["schemas"]["ClusterMapping"][];
            /**
             * @description Every secret of the vault below this path. The key is the rest of the path, with a dot for each slash; characters that a key cannot have become underscores.
             * @example shop
             */
            prefix?: string;
            /**
             * Format: int64
             * @description Every secret of this composed environment, under its key name.
             */
            environment_id?: number;
        };
        /**
         * @description The request body of `createConnection`.
         * @example {
         *       "name": "payments-api",
         *       "vault": "payments",
         *       "allowed_paths": [
         *         "database/*"
         *       ]
         *     }
         */
        CreateConnectionInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name: string;
            /** @description The name of a vault, instead of or in addition to `vault_ids`. */
            vault?: string;
            /** @description The vaults that the connection may access, by id. */
            vault_ids?: string[];
            /** @description The purpose of the connection. */
            description?: string;
            /** @description Paths of secrets, without a leading slash. `*` matches within one segment, a final `/*` matches everything below; `["*"]` matches every path. */
            allowed_paths?: string[];
            /** @description The actions that it may perform there. Default: secrets:read, secrets:read_metadata, secrets:list, secrets:aggregate, eso:read. A policy attached to it can allow more, in the same vaults and paths. */
            scopes?: string[];
            /** @description The connection must present a client certificate. Default: true. */
            mtls_required?: boolean;
            /** @description The connection must send DPoP proofs. Default: false. */
            require_dpop?: boolean;
            concurrent_session_limit?: number | null;
            concurrent_session_action?: components["schemas"]["SessionAction"];
            /**
             * Format: int32
             * @description A session without requests for this long has expired, in seconds.
             */
            concurrent_session_ttl_seconds?: number;
            /** @description Addresses and CIDR ranges that the credential may be used from. Default: any address. */
            ip_allowlist?: string[];
            /** @description The environment: development (dev), homologation (hml), staging (stg) or production (prd, prod); stored as the full name. */
            environment?: string;
            /** @description RFC 7638 SHA-256 thumbprint of a public key. Each request must then carry a DPoP proof (RFC 9449) by that key. */
            dpop_jkt?: string;
            /** @description CA certificates that issue its client certificates, instead of the service’s own CA. */
            external_ca_pem?: string;
            /** @description SHA-256 thumbprints, as 64 lower-case hex digits, of certificates to refuse: of a client, or of a CA whose client certificates are all to be refused. */
            denied_thumbprints?: string[];
            /** @description A certificate signing request. The private key then never leaves its owner. */
            csr_pem?: string;
            /**
             * Format: int32
             * @description Validity of the certificate, in days. Default: 30.
             */
            certificate_ttl_days?: number;
        };
        /** @description The response of `createConnection`. */
        CreateConnectionOutput: {
            /**
             * Format: int64
             * @description The number of the connection.
             */
            id: number;
            /** @description The client id of the connection: a UUID. */
            client_id: string;
            /** @description The name of the connection. */
            name: string;
            /** @description The purpose of the connection. */
            description: string;
            status: components["schemas"]["ConnectionStatus"];
            vault: string | null;
            /** @description The vaults that it may access. */
            vault_ids: string[];
            /** @description The paths that it may access in these vaults. */
            allowed_paths: string[];
            /** @description The actions that it may perform there. */
            scopes: string[];
            ip_allowlist: string[] | null;
            environment: string | null;
            /** @description It must present a client certificate. */
            mtls_required: boolean;
            tls_url: string | null;
            /** @description It must send DPoP proofs. */
            require_dpop: boolean;
            dpop_jkt: string | null;
            external_ca_pem: string | null;
            /** @description Thumbprints of certificates to refuse. */
            denied_thumbprints: string[];
            concurrent_session_limit: number | null;
            concurrent_session_action: components["schemas"]["SessionAction"];
            /**
             * Format: int64
             * @description A session without requests for this long has expired, in seconds.
             */
            concurrent_session_ttl_seconds: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            client_secret_made_at: string;
            former_client_secret_until: string | null;
            /** @description The id of the creator. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            /** @description Shown once. */
            client_secret: string;
            certificate_signing_request: string | null;
            certificate: string | null;
            ca_chain: string | null;
            private_key: string | null;
        };
        /** @description The request body of `createEncryptionKey`. */
        CreateEncryptionKeyInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name: string;
            /** @description The purpose of the key. */
            description?: string;
            /** @description While true, the key cannot be deleted. Default: true. */
            delete_protection?: boolean;
        };
        /** @description The request body of `createEnvironment`. */
        CreateEnvironmentInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name: string;
            parent_id?: number | null;
            /** @description The same by number or name. If both fields are sent, they must refer to the same composed environment. */
            parent?: number | string | null;
            /** @description The purpose of the composed environment. */
            description?: string;
        };
        /**
         * @description The request body of `createExporter`.
         * @example {
         *       "name": "splunk",
         *       "type": "splunk_hec",
         *       "endpoint": "https://splunk.example.com:8088",
         *       "credentials": {
         *         "token": "b7f1c2d0-5a3e-4c8f-9e21-0d6a4b7c8e9f"
         *       }
         *     }
         */
        CreateExporterInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name: string;
            type: components["schemas"]["ExporterType"];
            /**
             * @description Where entries are sent: a URL; for syslog tls://host:port, or tcp://host:port for a private host that the operator has allowed. elastic: the URL of the data stream or index. otlp: with or without /v1/logs.
             * @example https://siem.example.com/audit
             */
            endpoint: string;
            /** @description Default: native. */
            format?: components["schemas"]["ExporterFormat"];
            /** @description Default: every entry. */
            filter?: components["schemas"]["AuditFilter"];
            credentials?: components["schemas"]["ExporterCredentials"];
            ca_pem?: string | null;
            /** @description Whether entries are sent. Those recorded meanwhile are sent later. */
            enabled?: boolean;
        };
        /** @description The request body of `createFederation`. */
        CreateFederationInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name: string;
            provider: components["schemas"]["FederationProvider"];
            /** @description The exact `iss` of the tokens. Default for github and gitlab: that of the provider. */
            issuer?: string;
            jwks_url?: string | null;
            audience?: string | null;
            /** @description Claims that the token must contain, with exactly these values. */
            claims?: {
                [key: string]: string | number | boolean;
            };
            /**
             * Format: int32
             * @description How long the issued token and certificate are valid, in seconds. Default: 900.
             */
            token_ttl_seconds?: number;
            /** @description Whether tokens are accepted. Default: true. */
            enabled?: boolean;
            /** @description The pattern that the whole `sub` must match, case-sensitively: `*` matches text without `:` and `/`, `**` any text. The part that names the owner must not contain a wildcard. */
            subject_pattern: string;
        };
        /** @description The request body of `createGroup`. */
        CreateGroupInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name: string;
            /** @description The purpose of the group. */
            description?: string;
        };
        /** @description The request body of `createPolicy`. */
        CreatePolicyInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name: string;
            /** @description Purpose of the policy. */
            description?: string;
            document: components["schemas"]["PolicyDocument"];
        };
        /**
         * @description The request body of `createScimGroup`.
         * @example {
         *       "schemas": [
         *         "urn:ietf:params:scim:schemas:core:2.0:Group"
         *       ],
         *       "displayName": "Platform Admins",
         *       "members": []
         *     }
         */
        CreateScimGroupInput: {
            /**
             * @description Contains urn:ietf:params:scim:schemas:core:2.0:Group.
             * @example [
             *       "urn:ietf:params:scim:schemas:core:2.0:Group"
             *     ]
             */
            schemas?: unknown;
            /** @description Unique in the provider, in any case. */
            displayName?: string | null;
            /**
             * @description The id of the provider.
             * @example 8f3a
             */
            externalId?: unknown;
            /**
             * @description Objects whose `value` is the id of a user.
             * @example []
             */
            members?: unknown;
        } & {
            [key: string]: unknown;
        };
        /**
         * @description The request body of `createScimToken`.
         * @example {
         *       "description": "Okta",
         *       "ttl_days": 365
         *     }
         */
        CreateScimTokenInput: {
            /** @description What it is for. */
            description?: string;
            /**
             * Format: int32
             * @description How long it is valid. Default: 365.
             */
            ttl_days?: number;
        };
        /**
         * @description The request body of `createScimUser`.
         * @example {
         *       "schemas": [
         *         "urn:ietf:params:scim:schemas:core:2.0:User"
         *       ],
         *       "userName": "ada@acme.example",
         *       "externalId": "00u1b2c3",
         *       "name": {
         *         "givenName": "Ada",
         *         "familyName": "Lovelace"
         *       },
         *       "emails": [
         *         {
         *           "value": "ada@acme.example",
         *           "type": "work",
         *           "primary": true
         *         }
         *       ],
         *       "active": true
         *     }
         */
        CreateScimUserInput: {
            /**
             * @description Contains urn:ietf:params:scim:schemas:core:2.0:User.
             * @example [
             *       "urn:ietf:params:scim:schemas:core:2.0:User"
             *     ]
             */
            schemas?: unknown;
            /** @description Unique in the provider, in any case. */
            userName?: string | null;
            /**
             * @description Equals the subject with which the person signs in.
             * @example 00u1b2c3
             */
            externalId?: unknown;
            /**
             * @description A boolean, or its name as text.
             * @example true
             */
            active?: unknown;
            /** @description The name that is shown. */
            displayName?: string | null;
            /**
             * @description formatted, givenName and familyName.
             * @example {
             *       "givenName": "Ada",
             *       "familyName": "Lovelace"
             *     }
             */
            name?: unknown;
            /**
             * @description The primary one counts, or else that of type work, or else the first.
             * @example [
             *       {
             *         "value": "ada@acme.example",
             *         "type": "work",
             *         "primary": true
             *       }
             *     ]
             */
            emails?: unknown;
        } & {
            [key: string]: unknown;
        };
        /**
         * @description The request body of `createSecret`.
         * @example {
         *       "path": "database/password",
         *       "value": "s3cr3t"
         *     }
         */
        CreateSecretInput: {
            /** @description segment/segment/… */
            path: string;
            /** @description api_key, password, token, database, … */
            type?: string;
            /** @description At most 1 MiB; may be empty if the type allows it. */
            value?: string;
            generator?: components["schemas"]["Generator"];
            metadata?: components["schemas"]["SecretMetadataInput"];
            /** @description The environment: development (dev), homologation (hml), staging (stg) or production (prd, prod); stored as the full name. */
            environment?: string;
            protection?: components["schemas"]["Protection"];
            /** @description Allows a secret without an environment in a production vault; it becomes a production secret. */
            promote?: boolean;
            rotation?: components["schemas"]["RotationSettings"];
            /**
             * Format: date-time
             * @description When the value ends, in the future. A certificate says so itself. A time such as 2026-11-14T10:00:00.000Z, or a date such as 2026-11-14, which means midnight UTC.
             */
            expires_at?: string;
            /** @description Reason for the change, stored with the version. */
            reason?: string;
        };
        /**
         * @description The request body of `createShare`.
         * @example {
         *       "envelope": "share:v1:key:kPp1x0o7w2N4q8aB:3mJtqg0zcQfUqS1v8X9pLwYkZrA7",
         *       "expires_in_seconds": 3600,
         *       "views": 1
         *     }
         */
        CreateShareInput: {
            /**
             * @description The value, sealed by the client library or `coffer share`: `share:v1:key:<iv>:<ciphertext>`, or `share:v1:passphrase:<salt>:<iv>:<ciphertext>`, each part in base64url. The key never leaves the link.
             * @example share:v1:key:kPp1x0o7w2N4q8aB:3mJtqg0zcQfUqS1v8X9pLwYkZrA7
             */
            envelope: string;
            /**
             * Format: int32
             * @description After this time nobody can open it.
             */
            expires_in_seconds: number;
            /**
             * Format: int32
             * @description How often it may be opened. Default: 1.
             */
            views?: number;
        };
        /**
         * @description The request body of `createSsoProvider`.
         * @example {
         *       "name": "okta",
         *       "issuer": "https://acme.okta.com",
         *       "client_id": "0oa1b2c3",
         *       "client_secret": "from-the-provider",
         *       "role_mapping": {
         *         "Platform Admins": "admin"
         *       },
         *       "default_role": "member"
         *     }
         */
        CreateSsoProviderInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name: string;
            /** @description The issuer; the rest is found by OpenID Connect discovery. */
            issuer: string;
            /** @description The client id that the provider gave this service. */
            client_id: string;
            /** @description The client secret. Never returned. Without one, the client is public. */
            client_secret?: string;
            /** @description Cannot be changed later. Default: sub. */
            subject_claim?: components["schemas"]["SsoSubjectClaim"];
            /** @description Scopes to request; must contain openid. Default: openid, email, profile. */
            scopes?: string[];
            /** @description The claim that lists the groups of a person. Default: groups. */
            groups_claim?: string;
            /** @description Group of the provider → role. Of several the highest counts: admin, auditor, member. */
            role_mapping?: {
                [key: string]: components["schemas"]["SsoRole"];
            };
            /** @description Group of the provider → name of a group here. People join and leave these groups at each sign-in. */
            group_mapping?: {
                [key: string]: string;
            };
            /** @description The role of people whose groups give none; null refuses them, and is required for an issuer at which anybody can have an account, such as Google. Default: null. */
            default_role?: components["schemas"]["SsoRole"] | null;
            /** @description If true, only break-glass owners can log in with a password or a passkey; every owner while there is none. Default: false. */
            required?: boolean;
            /** @description Whether people can sign in with it. Default: true. */
            enabled?: boolean;
        };
        /** @description The request body of `createTenant`. */
        CreateTenantInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name: string;
            /** @description Default: enterprise, which has no limits of its own. */
            plan?: components["schemas"]["Plan"];
            rate_limits?: components["schemas"]["RateLimits"];
            /** @description An e-mail address. The part before the @ may have letters of one script; the domain is ASCII (`xn--…`). */
            owner_email: string;
        };
        /** @description The response of `createTenant`. */
        CreateTenantOutput: {
            /** @description An id that starts with tenant_. */
            id: string;
            /** @description Its name. */
            name: string;
            status: components["schemas"]["TenantStatus"];
            plan: components["schemas"]["Plan"];
            rate_limits: components["schemas"]["RateLimits"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /** @description The first owner. */
            owner: {
                /** @description An id that starts with user_. */
                id: string;
                /** @description The address they log in with. */
                email: string;
                /** @description Returned once. */
                token: string;
            };
        };
        /** @description The request body of `createToken`. */
        CreateTokenInput: {
            /** @description Purpose of the token. */
            name: string;
            /**
             * Format: int32
             * @description Lifetime in days; default: 90.
             */
            ttl_days?: number;
            scope?: components["schemas"]["TokenScope"];
            /** @description Addresses and CIDR ranges that the credential may be used from. Default: any address. */
            ip_allowlist?: string[];
            /** @description RFC 7638 SHA-256 thumbprint of a public key. Each request must then carry a DPoP proof (RFC 9449) by that key. */
            dpop_jkt?: string;
            rate_limits?: components["schemas"]["RateLimits"];
            /** @description False for a token that goes on when you end your sessions or change your password. Only with a session. Default: true. */
            ends_with_sessions?: boolean;
        };
        /** @description The response of `createToken`. */
        CreateTokenOutput: {
            /** @description An id that starts with token_. */
            id: string;
            kind: components["schemas"]["TokenKind"];
            /** @description Purpose of the token. */
            name: string;
            /** @description An id that starts with user_. */
            user_id: string;
            /** @description The session or token that it was created with; of a session, the one that confirmed its device code. Null if there is none, or it is older than this field. */
            parent_id: string | null;
            /** @description Whether it ends when that session is ended, when all sessions are, and when the password changes. A token always ends with the token that created it. */
            ends_with_sessions: boolean;
            /** @description What it may do at most: its own scope, within those of the tokens that it was created with. */
            scope: components["schemas"]["TokenScope"] | null;
            /** @description Where it may be used, in the same way: addresses and ranges; null for anywhere. */
            ip_allowlist: string[] | null;
            dpop_jkt: string | null;
            status: components["schemas"]["TokenStatus"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            revoked_at: string | null;
            /** @description Returned once. */
            token: string;
        };
        /** @description The request body of `createUser`. */
        CreateUserInput: {
            /** @description An e-mail address. The part before the @ may have letters of one script; the domain is ASCII (`xn--…`). */
            email: string;
            /** @description Display name. */
            name?: string;
            /** @description Default: member. */
            role?: components["schemas"]["Role"];
            /** @description A new password, at least 12 characters. */
            password?: string;
            /** @description If true, the user chooses the password with an invitation; cannot be combined with `password`. */
            invite?: boolean;
            /** @description Vaults that the user becomes a member of, each with a role. */
            vaults?: components["schemas"]["VaultGrant"][];
        };
        /** @description The response of `createUser`. */
        CreateUserOutput: {
            /** @description An id that starts with user_. */
            id: string;
            /** @description The address they log in with. */
            email: string;
            /** @description Display name. */
            name: string;
            role: components["schemas"]["Role"];
            status: components["schemas"]["UserStatus"];
            /** @description If false, the user cannot log in with a password. */
            has_password: boolean;
            /** @description Whether this owner can sign in without the identity provider that the tenant requires. */
            break_glass: boolean;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /** @description When their newest request was that the audit log lists, to about a minute; null if there was none lately. */
            last_seen_at: string | null;
            /** @description What they show besides a password, oldest first; empty if nothing does. Recovery codes are not in it. */
            second_factors: components["schemas"]["SecondFactorOfUser"][];
            invitation?: components["schemas"]["Invitation"];
        };
        /** @description The request body of `createVault`. */
        CreateVaultInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name: string;
            /** @description Purpose of the vault. */
            description?: string;
            /** @description The environment: development (dev), homologation (hml), staging (stg) or production (prd, prod); stored as the full name. */
            environment?: string;
            /** @description Tags for filtering lists. */
            tags?: string[];
            /** @description Encryption settings; omitted fields use the defaults. */
            encryption?: {
                /**
                 * @description Encryption algorithm of the values.
                 * @enum {string}
                 */
                algorithm?: "AES-256-GCM";
                key_source?: components["schemas"]["KeySource"];
                /**
                 * Format: int32
                 * @description Interval between rotations of the vault’s key, in days; default: 90.
                 */
                rotation_days?: number;
            };
            audit?: components["schemas"]["VaultAuditChange"];
            change_control?: components["schemas"]["ChangeControl"];
            /** @description If true, clients encrypt the values and the service never sees the plaintext. Cannot be changed later. */
            is_zero_knowledge?: boolean;
        };
        /** @description The request body of `createWebhook`. */
        CreateWebhookInput: {
            /**
             * @description Where events are sent: https, without a user, a password or a fragment. Redirects are not followed.
             * @example https://hooks.example.com/coffer
             */
            url: string;
            /** @description The events to send. */
            events: components["schemas"]["WebhookEventName"][];
            /** @description Anomalies below it are not sent. Default: low. */
            min_severity?: components["schemas"]["Severity"];
            /** @description Default: standard. */
            format?: components["schemas"]["WebhookFormat"];
            /** @description PagerDuty’s integration key. Never shown again. */
            routing_key?: string;
            /** @description Whether events are sent. Those that happen meanwhile are not sent later. */
            enabled?: boolean;
        };
        /**
         * @description The request body of `createWorkloadMethod`.
         * @example {
         *       "name": "payments-on-aws",
         *       "type": "aws_iam",
         *       "app_connection_id": 1,
         *       "config": {
         *         "allowed_arns": [
         *           "arn:aws:iam::123456789012:role/payments"
         *         ]
         *       }
         *     }
         */
        CreateWorkloadMethodInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name: string;
            type: components["schemas"]["WorkloadMethodType"];
            /**
             * Format: int64
             * @description The AppConnection that its tokens are bound to.
             */
            app_connection_id: number;
            /** @description Fields by type. k8s_sa: issuer, ca_cert_pem, allowed_namespaces, allowed_sa_names, api_server_url?, token_reviewer_jwt?. aws_iam: allowed_arns, sts_endpoint?. gcp_iam: expected_audience, allowed_emails, issuer?. azure_msi: expected_audience, allowed_object_ids, tenant_id?, issuer?. oidc_generic: expected_issuer, expected_audience, allowed_subjects. spiffe: trust_domain, trust_bundle_pem, expected_audience, allowed_spiffe_ids. */
            config: {
                [key: string]: unknown;
            };
        };
        /** @description The request body of `decryptBatch`. */
        DecryptBatchInput: {
            /** @description The envelopes; results are in the same order. */
            items: components["schemas"]["EaasCiphertext"][];
        };
        /** @description The response of `decryptBatch`. */
        DecryptBatchOutput: {
            results: components["schemas"]["DecryptResult"][];
        };
        /** @description The response of `decrypt`. */
        DecryptOutput: {
            /** @description The plaintext. */
            plaintext: string;
        };
        /** @description The result for one envelope of a batch: its plaintext or an error. */
        DecryptResult: {
            /** @description The plaintext. */
            plaintext?: string;
            /**
             * @description The envelope could not be decrypted.
             * @enum {string}
             */
            error?: "DECRYPT_FAILED";
        };
        /** @description The request body of `deleteEncryptionKey`. */
        DeleteEncryptionKeyInput: {
            /** @description The reason, recorded in the audit log. */
            reason: string;
        };
        /** @description The response of `deleteSecret`. */
        DeleteSecretOutput: {
            /** @description The resource was deleted. */
            deleted: boolean;
            /** @description An id that starts with sec_. */
            id: string;
            /** @description The path of the deleted secret. */
            path: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            deleted_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            purge_at: string;
            /** @description Templates that refer to this place, of which you may see the metadata; at most 100. They cannot be resolved while no secret is there. */
            referred_by: components["schemas"]["SecretName"][];
        };
        /** @description The response of `deleteVault`. */
        DeleteVaultOutput: {
            /** @description An id that starts with vault_. */
            id: string;
            /** @description Its name, which cannot be changed. */
            name: string;
            /** @description Purpose of the vault. */
            description: string;
            environment: components["schemas"]["Stage"];
            /** @description Its tags. */
            tags: string[];
            status: components["schemas"]["VaultStatus"];
            /**
             * Format: int64
             * @description Number of its secrets.
             */
            secrets_count: number;
            /** @description Whether clients encrypt the values, so that the service never sees the plaintext. */
            is_zero_knowledge: boolean;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            deleted_at: string | null;
            purge_at: string | null;
            encryption: components["schemas"]["VaultEncryption"];
            audit: components["schemas"]["VaultAudit"];
            change_control: components["schemas"]["ChangeControl"];
            approval_id: string | null;
            /** @description Ids of its secrets that you may list, except those in `fortress_secret_ids`. */
            secret_ids: string[];
            /** @description Ids of its fortress secrets that you may list. */
            fortress_secret_ids: string[];
            /** @description True if there are more than 1000 of either kind. */
            secret_ids_truncated: boolean;
            /** @description The resource was deleted. */
            deleted: boolean;
        };
        /** @description The response to a deletion. */
        Deleted: {
            /** @description The resource was deleted. */
            deleted: boolean;
        };
        /** @description A Kubernetes Secret as it should be. */
        DesiredSecret: {
            /**
             * @description A namespace of the cluster.
             * @example shop
             */
            namespace: string;
            /**
             * @description The name of the Kubernetes Secret.
             * @example database
             */
            name: string;
            /**
             * @description The type of the Kubernetes Secret, such as Opaque or kubernetes.io/tls.
             * @example Opaque
             */
            type: string;
            /** @description Each value in base64, as Kubernetes has it. */
            data: {
                [key: string]: string;
            };
            /** @description SHA-256, in hex, of the JSON array [namespace, name, type, [[key, data], …]] without whitespace, sorted by key. */
            checksum: string;
        };
        /** @description The response of `detachPolicy`. */
        DetachPolicyOutput: {
            /** @description Name of the policy. */
            policy: string;
            principal: components["schemas"]["AttachedPrincipal"];
        };
        /** @description The request body of `detokenize`. */
        DetokenizeInput: {
            /** @description An id that starts with tok_. */
            token: string;
        };
        /** @description The response of `detokenize`. */
        DetokenizeOutput: {
            /** @description The value. */
            value: string;
        };
        /** @description The request body of `dismissAnomaly`. */
        DismissAnomalyInput: {
            /** @description Why it is a false alarm. */
            reason: string;
        };
        /**
         * @description orphan_account: an account with a key, but nobody who is a member of a vault. missing_key: a member of a vault without a key on production hosts. former_employee_key: a key of somebody who was disabled or deleted.
         * @enum {string}
         */
        DriftKind: "orphan_account" | "former_employee_key" | "missing_key";
        /** @description The request body of `dualSign`. */
        DualSignInput: {
            /** @description The text to sign or verify, at most 1,048,576 bytes in UTF-8. */
            message?: string;
            /** @description Alternatively the SHA-512 digest of the signed bytes, in base64: for data that is not text, or too large to send. */
            digest?: string;
        };
        /** @description The response of `dualSign`. */
        DualSignOutput: {
            /**
             * @description The signature algorithm.
             * @enum {string}
             */
            algorithm: "rsa-pss-3072+ml-dsa-65";
            /** @description The id of the key. */
            key_id: string;
            /** @description In base64: 3,309 bytes of ML-DSA, then 384 of RSA-PSS. */
            signature: string;
            /** @description In base64; store it to verify without the service. */
            public_key: string;
        };
        /**
         * @description The request body of `dualVerify`.
         * @example {
         *       "message": "Release 1.4.2",
         *       "signature": "qg7dbD9L0Wc0Xw==",
         *       "key_id": "Zm5mYzU4NzE2NGM1"
         *     }
         */
        DualVerifyInput: {
            /** @description The text to sign or verify, at most 1,048,576 bytes in UTF-8. */
            message?: string;
            /** @description Alternatively the SHA-512 digest of the signed bytes, in base64: for data that is not text, or too large to send. */
            digest?: string;
            /** @description In base64. */
            signature: string;
            /** @description The id of the key. */
            key_id?: string;
            /** @description A public key in base64, used instead of the tenant's own key. */
            public_key?: string;
        };
        /** @description The response of `dualVerify`. */
        DualVerifyOutput: {
            /** @description Whether both halves are valid. */
            valid: boolean;
            /** @description Whether the RSA-PSS half is valid. */
            rsa_pss_valid: boolean;
            /** @description Whether the ML-DSA half is valid. */
            ml_dsa_valid: boolean;
            /** @description The id of the key. */
            key_id: string;
        };
        /** @description A secret that needs somebody. */
        DueSecret: {
            /** @description An id that starts with sec_. */
            id: string;
            /** @description The name of its vault. */
            vault: string;
            /** @description Path of the secret in the vault. */
            path: string;
            /** @description Type of the secret. */
            type: string;
            environment: components["schemas"]["Stage"];
            /**
             * Format: date-time
             * @description When the rotation failed, when the next one is due, or when the certificate ends.
             */
            at: string;
            /** @description Null unless a rotation failed. */
            failure: string | null;
        };
        /** @description A text to decrypt. */
        EaasCiphertext: {
            /** @description `eaas:v1:<key>:<version>:<iv>:<ciphertext>:<tag>`. */
            envelope: string;
            /** @description Additional authenticated data: not part of the ciphertext, but required again to decrypt it. */
            aad?: string;
        };
        /** @description An encrypted text. */
        EaasEnvelope: {
            /** @description `eaas:v1:<key>:<version>:<iv>:<ciphertext>:<tag>`. */
            envelope: string;
            /**
             * Format: int64
             * @description The version of the key that encrypted it.
             */
            version: number;
        };
        /** @description A text to encrypt. */
        EaasPlaintext: {
            /** @description Text, at most 1,048,576 bytes in UTF-8. Encode binary data first, for example in base64. */
            plaintext: string;
            /** @description Additional authenticated data: not part of the ciphertext, but required again to decrypt it. */
            aad?: string;
        };
        /** @description The request body of `encryptBatch`. */
        EncryptBatchInput: {
            /** @description Their total size is limited to that of a single text. */
            items: components["schemas"]["EaasPlaintext"][];
        };
        /** @description The response of `encryptBatch`. */
        EncryptBatchOutput: {
            /**
             * Format: int64
             * @description The newest version.
             */
            version: number;
            /** @description In the order of the request. */
            envelopes: string[];
        };
        /** @description A key that encrypts and decrypts, and never leaves the service. */
        EncryptionKey: {
            /** @description The name, which never changes. */
            name: string;
            /** @description The purpose of the key. */
            description: string;
            /** @description While true, the key cannot be deleted. */
            delete_protection: boolean;
            status: components["schemas"]["EncryptionKeyStatus"];
            approval_id: string | null;
            /**
             * Format: int64
             * @description The version that encrypts new data.
             */
            latest_version: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            rotated_at: string | null;
        };
        /** @description An encryption key with its versions. */
        EncryptionKeyDetail: {
            /** @description The name, which never changes. */
            name: string;
            /** @description The purpose of the key. */
            description: string;
            /** @description While true, the key cannot be deleted. */
            delete_protection: boolean;
            status: components["schemas"]["EncryptionKeyStatus"];
            approval_id: string | null;
            /**
             * Format: int64
             * @description The version that encrypts new data.
             */
            latest_version: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            rotated_at: string | null;
            versions: components["schemas"]["EncryptionKeyVersion"][];
        };
        /**
         * @description pending_approval: approval of its deletion is pending.
         * @enum {string}
         */
        EncryptionKeyStatus: "active" | "pending_approval";
        /** @description A version of an encryption key. */
        EncryptionKeyVersion: {
            /**
             * Format: int64
             * @description The number of the version.
             */
            version: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
        };
        /** @description The response of `endSessions`. */
        EndSessionsOutput: {
            /**
             * Format: int64
             * @description How many sessions ended.
             */
            sessions_ended: number;
            /**
             * Format: int64
             * @description How many personal access tokens ended.
             */
            tokens_ended: number;
        };
        /** @description An account on a host. */
        EndpointAccount: {
            /** @description An id that starts with acct_. */
            id: string;
            /** @description An id that starts with cluster_. */
            cluster_id: string;
            /** @description The id of the host. */
            host_id: string;
            hostname: string | null;
            /** @description The name of the local account. */
            username: string;
            /**
             * Format: int64
             * @description Its number.
             */
            uid: number;
            gid: number | null;
            home: string | null;
            /** @description Its login shell. */
            shell: string;
            /** @description What the agent noticed about the account. */
            flags: string[];
            /**
             * Format: int64
             * @description How many keys may log in.
             */
            ssh_keys_count: number;
            user_id: string | null;
            /** @description Whether the last scan of the host found it. */
            is_present: boolean;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            first_seen_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            last_seen_at: string;
        };
        /** @description An account on a host, with its keys. */
        EndpointAccountWithKeys: {
            /** @description An id that starts with acct_. */
            id: string;
            /** @description An id that starts with cluster_. */
            cluster_id: string;
            /** @description The id of the host. */
            host_id: string;
            hostname: string | null;
            /** @description The name of the local account. */
            username: string;
            /**
             * Format: int64
             * @description Its number.
             */
            uid: number;
            gid: number | null;
            home: string | null;
            /** @description Its login shell. */
            shell: string;
            /** @description What the agent noticed about the account. */
            flags: string[];
            /**
             * Format: int64
             * @description How many keys may log in.
             */
            ssh_keys_count: number;
            user_id: string | null;
            /** @description Whether the last scan of the host found it. */
            is_present: boolean;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            first_seen_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            last_seen_at: string;
            ssh_keys: components["schemas"]["EndpointSshKey"][];
        };
        /** @description A difference between hosts and members of vaults. */
        EndpointDrift: {
            kind: components["schemas"]["DriftKind"];
            /** @description Null for a missing key. */
            account_id: string | null;
            cluster_id: string | null;
            host_id: string | null;
            hostname: string | null;
            username: string | null;
            user_id: string | null;
            email: string | null;
            fingerprint_sha256: string | null;
            comment: string | null;
        };
        /** @description A key that may log in to an account. */
        EndpointSshKey: {
            /** @description The type of the key. */
            type: string;
            /** @description Its fingerprint. */
            fingerprint_sha256: string;
            /** @description Its comment; empty if it has none. */
            comment: string;
            /** @description What is special about the key: cert_authority and expired mean that it lets nobody in by itself. */
            flags: string[];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            first_seen_at: string;
        };
        /** @description The request body of `enrolPasskey`. */
        EnrolPasskeyInput: {
            /** @description What you call it, such as the device it is on. */
            name: string;
            response: components["schemas"]["PasskeyRegistration"];
            /** @description Whether your first factor counts as shown by adding it, as after POST /auth/step-up: `session` then has your session under a new id, and the old one ends. */
            step_up?: boolean;
        };
        /** @description The response of `enrolPasskey`. */
        EnrolPasskeyOutput: {
            /** @description An id that starts with passkey_. */
            id: string;
            /** @description What you call it. */
            name: string;
            /** @description Whether it can be copied between devices of the person. */
            is_synced: boolean;
            /** @description How browsers reach it, such as internal, hybrid or usb. */
            transports: string[];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            last_used_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            opens_fortress_from: string;
            /** @description Null without `step_up`, to a personal access token, and if you had a factor before: what you showed to add another one counts for its 15 minutes. */
            session: components["schemas"]["ContinuedSession"] | null;
        };
        /** @description The response of `enrolTotp`. */
        EnrolTotpOutput: {
            /** @description Secret for the app, in base32. Returned once. */
            secret: string;
            /** @description The same secret as an `otpauth://` URI, for a QR code. */
            otpauth_uri: string;
        };
        /** @description Consecutive entries of the audit log. */
        EntryRange: {
            /**
             * Format: int64
             * @description The number of the first entry.
             */
            first_seq: number;
            /**
             * Format: int64
             * @description The number of the last entry.
             */
            last_seq: number;
        };
        /** @description A secret bound to a composed environment under a name. */
        EnvironmentBinding: {
            /**
             * Format: int64
             * @description The number of the composed environment.
             */
            environment_id: number;
            /**
             * Format: int64
             * @description The integer `secret_id` of the secret.
             */
            secret_id: number;
            /** @description An id that starts with sec_. */
            secret: string;
            vault: string | null;
            path: string | null;
            /** @description The name that the secret is bound under. */
            key_name: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            bound_at: string;
        };
        /** @description The body of every error response. */
        Error: {
            error: components["schemas"]["ErrorBody"];
        };
        /** @description Why a request was refused. */
        ErrorBody: {
            code: components["schemas"]["ErrorCode"];
            /** @description For people; the wording may change. */
            message: string;
            /** @description The id of the request, also found in the audit log. */
            request_id: string;
            details?: components["schemas"]["ErrorDetails"];
        };
        /**
         * @description Stable: base decisions on this. The responses of each endpoint list its codes.
         * @enum {string}
         */
        ErrorCode: "INVALID_REQUEST" | "INVALID_TOKEN" | "LOGIN_DENIED" | "JWKS_KEY_NOT_FOUND" | "INVALID_DPOP_PROOF" | "INSUFFICIENT_PRIVILEGE" | "IP_NOT_ALLOWED" | "MFA_REQUIRED" | "CERTIFICATE_REQUIRED" | "DPOP_REQUIRED" | "SESSION_LIMIT" | "SESSION_CHANGED" | "TIER_REQUIRED" | "QUOTA_EXCEEDED" | "NOT_FOUND" | "VAULT_NOT_FOUND" | "SECRET_NOT_FOUND" | "VERSION_NOT_FOUND" | "METHOD_NOT_ALLOWED" | "ALREADY_EXISTS" | "VAULT_ALREADY_EXISTS" | "SECRET_ALREADY_EXISTS" | "VERSION_CONFLICT" | "IN_USE" | "KEY_DELETE_PROTECTED" | "ENVIRONMENT_CYCLE" | "ROTATION_IN_PROGRESS" | "VAULT_ENV_PROMOTE_REQUIRED" | "VAULT_ENV_CONFLICT" | "REVIEW_REQUIRED" | "VAULT_OUT_OF_SCOPE" | "ZK_FLAG_IMMUTABLE" | "ZkBoundaryViolation" | "TEMPLATE_UNRESOLVED" | "REGION_FENCED" | "PAYLOAD_TOO_LARGE" | "UNKNOWN_HOST" | "VALIDATION_FAILED" | "ROTATION_NOT_CONFIGURED" | "DECRYPT_FAILED" | "HARDCODED_SECRET" | "RATE_LIMIT_EXCEEDED" | "INTERNAL_ERROR" | "UNAVAILABLE" | "PASSKEYS_DISABLED" | "COPILOT_DISABLED" | "COPILOT_UNAVAILABLE" | "REGION_LOOP";
        /** @description Machine-readable details; the members depend on the code. */
        ErrorDetails: {
            /** @description With VALIDATION_FAILED: every problem found. */
            fields?: components["schemas"]["FieldProblem"][];
        } & {
            [key: string]: unknown;
        };
        /** @description The request body of `exchangeFederatedToken`. */
        ExchangeFederatedTokenInput: {
            /** @description The token of the pipeline. Required unless it is sent as a bearer token. */
            id_token?: string;
        };
        /** @description The response of `exchangeFederatedToken`. */
        ExchangeFederatedTokenOutput: {
            /** @description A client certificate, in PEM. */
            certificate: string;
            /** @description Shown once; not stored. */
            private_key: string;
            /** @description The CA certificates that it chains to, in PEM. */
            ca_chain: string;
            /** @description The client id of the AppConnection. */
            client_id: string;
            /** @description Send it as a bearer token. */
            access_token: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
        };
        /** @description What must be in an attestation document. */
        ExpectedEvidence: {
            /** @description Digests that must be in `measurements` of the response, under the same names, in hexadecimal. */
            measurements?: {
                [key: string]: string;
            };
            /** @description Must be the user data; in SGX and SEV-SNP the report data, followed by zeros. Base64 with padding, at most 512 bytes. */
            user_data?: string;
            /** @description Values that must be in `claims` of the response, such as `module_id`. */
            claims?: {
                [key: string]: string | number | boolean | null;
            };
        };
        /**
         * @description The request body of `explainAccess`.
         * @example {
         *       "action": "secrets:read",
         *       "resource": "vault/payments/database/password"
         *     }
         */
        ExplainAccessInput: {
            /** @description For example secrets:read. */
            action: string;
            /** @description For example vault/payments/db/password. */
            resource: string;
        };
        /** @description The response of `explainAccess`. */
        ExplainAccessOutput: {
            /** @description The decision. */
            allowed: boolean;
            /**
             * @description explicit_deny: a statement denies it. no_match: nothing allows it. out_of_scope, ip_not_allowed: the limits of the credential. policies_too_costly: your policies have too many patterns.
             * @enum {string}
             */
            reason: "allowed" | "explicit_deny" | "no_match" | "policies_too_costly" | "out_of_scope" | "ip_not_allowed";
            /** @description The statements that apply, those that deny first. */
            matched: components["schemas"]["MatchedStatement"][];
            /** @description Whether another address, another time or a second factor would change the refusal. */
            conditional: boolean;
            remedy: components["schemas"]["AccessRemedy"] | null;
            /** @description People who have that right and whom you may read. */
            helpers: components["schemas"]["AllowedPrincipal"][];
            /**
             * Format: int64
             * @description How many more there are.
             */
            hidden_helpers: number;
            /** @description The roles in the tenant that give them the right. */
            hidden_roles: components["schemas"]["Role"][];
        };
        /** @description The request body of `explainRisk`. */
        ExplainRiskInput: {
            /** @description The id of a secret, or its number. */
            secret_id: number | string;
        };
        /** @description The response of `explainRisk`. */
        ExplainRiskOutput: {
            /** @description The id of the secret. */
            secret_id: string;
            /**
             * Format: int32
             * @description The sum of the points of its factors, at most 100.
             */
            risk_score: number;
            /** @description Reasons for the score. Those about the value are shown only to callers who may read it. */
            factors: components["schemas"]["RiskFactor"][];
            /** @description The risk in words. */
            explanation: string;
            /** @description What would lower the risk. */
            actions: components["schemas"]["SuggestedTask"][];
            /** @description Whether the model wrote the text. If it could not be reached, the text is a plain one of the service; everything else is the same. */
            phrased: boolean;
            redactions: components["schemas"]["Redactions"];
        };
        /** @description The request body of `exportConnectionBundle`. */
        ExportConnectionBundleInput: {
            /** @description A password of your own for the archive. Anyone who gets the archive can try passwords without limit. */
            password?: string;
            /**
             * Format: int32
             * @description Validity of the certificate, in days. Default: 30.
             */
            certificate_ttl_days?: number;
        };
        /** @description Sends the audit log to a SIEM, each entry at least once and in order. */
        Exporter: {
            /** @description An id that starts with exporter_. */
            id: string;
            /** @description The name of the exporter. */
            name: string;
            type: components["schemas"]["ExporterType"];
            format: components["schemas"]["ExporterFormat"];
            filter: components["schemas"]["AuditFilter"];
            /** @description Where entries are sent. */
            endpoint: string;
            ca_pem: string | null;
            /** @description Whether entries are sent. Those recorded meanwhile are sent later. */
            enabled: boolean;
            /**
             * Format: int64
             * @description The sequence number of the last entry that was sent or passed over.
             */
            cursor: number;
            /**
             * Format: int64
             * @description The number of entries after the cursor.
             */
            lag_entries: number;
            /**
             * Format: int64
             * @description The age of the first entry after the cursor.
             */
            lag_seconds: number;
            /**
             * Format: int64
             * @description Entries that the receiver has taken.
             */
            delivered: number;
            /**
             * Format: int64
             * @description Entries that the receiver refused.
             */
            rejected: number;
            /**
             * Format: int64
             * @description Entries that were not sent, because the receiver would drop them.
             */
            skipped: number;
            /** @description The newest rejected and skipped entries. */
            losses: components["schemas"]["ExporterLoss"][];
            last_success_at: string | null;
            last_error: string | null;
            /** @description The id of the creator. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
        };
        /** @description splunk_hec: token. datadog: api_key. elastic: api_key, or username and password. otlp and https_json: token, if the receiver needs one. Never shown again. */
        ExporterCredentials: {
            /** @description A token. */
            token?: string;
            /** @description An API key. */
            api_key?: string;
            /** @description A user name. */
            username?: string;
            /** @description A password. */
            password?: string;
        };
        /**
         * @description native: as GET /v1/audit shows entries. ecs: Elastic Common Schema. ocsf: Open Cybersecurity Schema Framework. cef: Common Event Format.
         * @enum {string}
         */
        ExporterFormat: "native" | "ecs" | "ocsf" | "cef";
        /** @description Entries that the receiver does not have, although the exporter is past them. */
        ExporterLoss: {
            /**
             * Format: int64
             * @description The first of them.
             */
            from_seq: number;
            /**
             * Format: int64
             * @description The last of them.
             */
            to_seq: number;
            /**
             * @description rejected: the receiver refused them. skipped: it would have dropped them.
             * @enum {string}
             */
            kind: "rejected" | "skipped";
            /** @description Why. */
            reason: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            at: string;
        };
        /**
         * @description The protocol of the receiver. splunk_hec: the HTTP Event Collector. elastic: Elasticsearch and OpenSearch. https_json: lines of JSON to any receiver.
         * @enum {string}
         */
        ExporterType: "splunk_hec" | "elastic" | "datadog" | "syslog" | "otlp" | "https_json";
        /** @description Lets pipelines of a CI system act as an AppConnection. */
        Federation: {
            /**
             * Format: int64
             * @description The number of the federation.
             */
            id: number;
            /**
             * Format: int64
             * @description The number of the AppConnection.
             */
            app_connection_id: number;
            /** @description The name of the federation. */
            name: string;
            provider: components["schemas"]["FederationProvider"];
            /** @description The exact `iss` of the tokens. */
            issuer: string;
            jwks_url: string | null;
            /** @description The only accepted `aud`. */
            audience: string;
            /** @description The pattern that the `sub` must match. */
            subject_pattern: string;
            /** @description Claims that the token must contain, with exactly these values. */
            claims: {
                [key: string]: string | number | boolean;
            };
            /**
             * Format: int64
             * @description How long the issued token and certificate are valid, in seconds.
             */
            token_ttl_seconds: number;
            /** @description Whether tokens are accepted. */
            enabled: boolean;
            /** @description The id of the creator. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
        };
        /**
         * @description The CI system. Known settings of github, gitlab and bitbucket are filled in.
         * @enum {string}
         */
        FederationProvider: "github" | "gitlab" | "bitbucket" | "jenkins" | "teamcity" | "custom";
        /** @description A problem with one field of a request. */
        FieldProblem: {
            /** @description The location: `/path`, `/query` or `/body`, followed by the names that lead to the field. */
            pointer: string;
            /** @description What is wrong, or what the field must be. */
            reason: string;
        };
        /** @description The request body of `findKnownValues`. */
        FindKnownValuesInput: {
            /** @description SHA-256 of `coffer known value`, a line feed and the whole value in UTF-8, in hexadecimal. At most 100. Required unless `values` is given. */
            digests?: string[];
            /** @description Deprecated: send `digests`. Whole values, at most 100, and 256 KiB in all. */
            values?: string[];
        };
        /** @description The response of `findKnownValues`. */
        FindKnownValuesOutput: {
            /** @description Only values that some secret has. */
            known: components["schemas"]["KnownValue"][];
            /** @description Positions in `values` of those that could be found by trying, for example those under 12 characters. They were compared only with secrets you may read. The service cannot say this of a digest. */
            guessable: number[];
            /** @description False while fingerprints are being recomputed, for example after an upgrade: some secrets could not be compared; repeat it in a few minutes. */
            complete: boolean;
        };
        /** @description The response of `findSecrets`. */
        FindSecretsOutput: {
            secrets: components["schemas"]["FoundSecret"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The request body of `finishBrowserSignIn`. */
        FinishBrowserSignInInput: {
            /**
             * @description From the provider.
             * @example SplxlOBeZQQYbYS6WxSbIA
             */
            code: string;
            /**
             * @description From the provider, as it was sent there.
             * @example af0ifjsldkj
             */
            state: string;
            /** @description The issuer (RFC 9207). */
            iss?: string;
            /**
             * @description The address to which the provider sent the browser, without its query.
             * @example https://coffer.example/auth/sso/callback/tenant_01/okta
             */
            redirect_uri: string;
            /**
             * @description What the page got when it began the sign-in, which proves that the same page finishes it.
             * @example wq3L0pR7cX9sTn2VbYk5mJ8dHfG1aZ4eQ6uI0oP7xRs
             */
            flow_key: string;
        };
        /** @description The response of `finishBrowserSignIn`. */
        FinishBrowserSignInOutput: {
            /** @description Returned once. */
            token: string;
            /** @description An id that starts with token_. */
            token_id: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            /** @description An id that starts with user_. */
            user_id: string;
            /** @description An id that starts with tenant_. */
            tenant_id: string;
        };
        /** @description The request body of `finishSsoSignIn`. */
        FinishSsoSignInInput: {
            /**
             * @description From the provider.
             * @example SplxlOBeZQQYbYS6WxSbIA
             */
            code: string;
            /**
             * @description From the provider, as it was sent there.
             * @example af0ifjsldkj
             */
            state: string;
            /** @description The issuer (RFC 9207). */
            iss?: string;
            /** @description The code that the command line shows, in any case. */
            user_code: string;
        };
        /** @description A secret that was found in one of the vaults. */
        FoundSecret: {
            /** @description An id that starts with sec_. */
            id: string;
            /** @description The name of its vault. */
            vault: string;
            /** @description Path of the secret in the vault. */
            path: string;
            /** @description Type of the secret. */
            type: string;
            environment: components["schemas"]["Stage"];
            protection: components["schemas"]["Protection"];
            /**
             * Format: int64
             * @description The newest version.
             */
            version: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
        };
        /**
         * @description The request body of `generateCode`.
         * @example {
         *       "language": "python",
         *       "prompt": "Read the secret database/main of a vault."
         *     }
         */
        GenerateCodeInput: {
            /** @description The programming language, such as python. */
            language: string;
            /** @description What the code should do. */
            prompt: string;
        };
        /** @description The response of `generateCode`. */
        GenerateCodeOutput: {
            /** @description The code. */
            code: string;
            /** @description What should be looked at before the code is used. */
            findings: components["schemas"]["CodeFinding"][];
            redactions: components["schemas"]["Redactions"];
        };
        /** @description How a new value is generated. Omitted options default to those of the secret’s type. */
        Generator: {
            /**
             * Format: int32
             * @description Random characters, not counting the prefix.
             */
            length?: number;
            charset?: components["schemas"]["GeneratorCharset"];
            /** @description Prefix of the value. */
            prefix?: string;
            /** @description Requires at least one character of each class of the charset: lower case, upper case, digit, symbol. */
            require_each_class?: boolean;
        };
        /**
         * @description The character set; `ascii` is letters, digits and `-._~`, starting with a letter or digit.
         * @enum {string}
         */
        GeneratorCharset: "alphanumeric" | "ascii" | "hex" | "base64url" | "digits";
        /** @description The response of `getPassphraseCheck`. */
        GetPassphraseCheckOutput: {
            check: string | null;
            former: string | null;
            /**
             * Format: int32
             * @description 0 while the vault has no check.
             */
            version: number;
            updated_at: string | null;
        };
        /** @description A payment is overdue. Until this time the tenant keeps its plan; then the limits of its plan without subscription apply to new things. */
        GracePeriod: {
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            until: string;
            /**
             * @description Why it runs.
             * @enum {string}
             */
            reason: "past_due";
        };
        /** @description Where a right comes from. */
        GrantedBy: {
            /**
             * @description role: the role in the tenant. membership: of the vault. access: to the vault for a time. group: its memberships and policies. policy: attached to the principal. connection: the paths and scopes of the connection.
             * @enum {string}
             */
            kind: "role" | "membership" | "access" | "group" | "policy" | "connection";
            /** @description Name of the role, group, policy or connection; the role in the vault. */
            name: string;
            /** @description When an access ends by itself; null for everything else. */
            until: string | null;
        };
        /** @description Users who share the same permissions. */
        Group: {
            /** @description An id that starts with group_. */
            id: string;
            /** @description The name, which never changes. */
            name: string;
            /** @description The purpose of the group. */
            description: string;
            /**
             * Format: int64
             * @description The number of members.
             */
            members_count: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
        };
        /** @description A member of a group. */
        GroupMember: {
            /** @description An id that starts with group_. */
            group_id: string;
            /** @description An id that starts with user_. */
            user_id: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            added_at: string;
        };
        /** @description The response of `health`. */
        HealthOutput: {
            /**
             * @description The process responds.
             * @enum {string}
             */
            status: "ok";
            /** @description The release of this node. */
            release: string;
            /**
             * @description The commit that the release was made from, or `unknown`.
             * @example 9fceb02d0ae598e95dc970b74767f19372d61af8
             * @example unknown
             */
            commit: string;
            /**
             * Format: int64
             * @description The newest schema of the database that the release knows.
             */
            schema_version: number;
        };
        /** @description Result of an import for one path. */
        ImportChange: {
            /** @description Path of the secret. */
            path: string;
            /**
             * @description The change made at this path.
             * @enum {string}
             */
            change: "create" | "update" | "unchanged" | "skip";
            /**
             * Format: int64
             * @description The version after the import.
             */
            version: number;
        };
        /** @description Why one entry could not be imported. */
        ImportProblem: {
            /**
             * @description Stable code for programs.
             * @enum {string}
             */
            code: "SECRET_ALREADY_EXISTS" | "ROTATION_IN_PROGRESS" | "VALIDATION_FAILED";
            /** @description Explanation of the problem. */
            message: string;
            /** @description Path of the entry; ? if it does not look like one. */
            path: string;
        };
        /**
         * @description The request body of `importSecrets`.
         * @example {
         *       "secrets": {
         *         "database/user": "payments",
         *         "database/password": "s3cr3t"
         *       }
         *     }
         */
        ImportSecretsInput: {
            /** @description Values by path. */
            secrets?: {
                [key: string]: string;
            };
            /** @description The text of a .env file. */
            dotenv?: string;
            /** @description Prepended to each path, separated by a slash; `shop` and `shop/` are the same. */
            prefix?: string;
            /** @description Type of the created secrets. */
            type?: string;
            /** @description The environment: development (dev), homologation (hml), staging (stg) or production (prd, prod); stored as the full name. */
            environment?: string;
            /** @description Allows secrets without an environment in a production vault; they become production secrets. */
            promote?: boolean;
            /**
             * @description What to do with existing secrets; default: update.
             * @enum {string}
             */
            on_existing?: "update" | "skip" | "fail";
            /** @description If true, only shows what would change. */
            dry_run?: boolean;
            /** @description Only with `dry_run`. If true, entries that exist already, are being rotated or do not have the required format are listed in `problems`, and the others are planned. Otherwise the first of them refuses the import. */
            keep_going?: boolean;
            /** @description Paths, with the prefix, of entries that are not imported. */
            leave_out?: string[];
        };
        /** @description The response of `importSecrets`. */
        ImportSecretsOutput: {
            /** @description True if nothing was written. */
            dry_run: boolean;
            /**
             * Format: int64
             * @description Number of created secrets.
             */
            created: number;
            /**
             * Format: int64
             * @description Number of secrets with a new version.
             */
            updated: number;
            /**
             * Format: int64
             * @description Number of secrets whose value is unchanged.
             */
            unchanged: number;
            /**
             * Format: int64
             * @description Number of existing secrets that were skipped.
             */
            skipped: number;
            changes: components["schemas"]["ImportChange"][];
            /** @description Lines of the .env file that may not mean what you intended; empty if there are none. */
            warnings: components["schemas"]["ImportWarning"][];
            /** @description With `keep_going`, the entries that could not be imported; otherwise empty. */
            problems: components["schemas"]["ImportProblem"][];
        };
        /** @description A line of a .env file that may not mean what was intended. */
        ImportWarning: {
            /**
             * @description Stable code for programs.
             * @enum {string}
             */
            code: "repeated_key" | "unexpanded_variable";
            /** @description Explanation of the warning. */
            message: string;
            /** @description Path of the imported secret. */
            path: string;
            /**
             * Format: int64
             * @description The number of the line.
             */
            line: number;
        };
        /** @description An invitation, with which a user chooses a password once. */
        Invitation: {
            /** @description Returned once. The user sends it to POST /auth/accept-invite. */
            token: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            /** @description Whether it is mailed to the user. False if the tenant wants no mail, or there was too much: then hand the token over yourself. */
            mailed: boolean;
        };
        /** @description A background job. */
        Job: {
            /** @description The name of the job. */
            name: string;
            /**
             * Format: int32
             * @description How long after a run the next one is due.
             */
            interval_seconds: number;
            /** @description Whether it removes what has expired. Such a job runs only while the clock can be trusted, and removes no more than its share. */
            is_removing: boolean;
            /** @description Whether a node runs it now. */
            is_running: boolean;
            /** @description When it last started, on whichever node. Null if it never did. */
            last_started_at: string | null;
            /** @description When it last ended. Null if it never did. */
            last_finished_at: string | null;
            /** @description How its last run ended; `refused`: it would have removed too much and removed nothing. Null if it never ran. */
            last_outcome: ("success" | "failure" | "refused") | null;
            /** @description What its last run that failed said, in one line; the log has more. Null if none failed. */
            last_error: string | null;
            /** @description When it last failed. */
            last_failed_at: string | null;
            /** @description When it is due. Null if it runs as soon as a node is free. */
            next_run_at: string | null;
            /**
             * Format: int64
             * @description How often it ended, on any node.
             */
            runs: number;
        };
        /** @description A public key that verifies access tokens (RFC 7517). */
        JsonWebKey: {
            /** @description The kind of key. */
            kty: string;
            /** @description The curve. */
            crv: string;
            /** @description The key, in base64url. */
            x: string;
            /** @description The key id (`kid`) in tokens. */
            kid: string;
            /** @description The algorithm of the signatures. */
            alg: string;
            /** @description The use of the key: signatures. */
            use: string;
        };
        /**
         * @description The classical algorithm combined with ML-KEM-768.
         * @enum {string}
         */
        KemAlgorithm: "ecdh-p256+ml-kem-768" | "rsa-oaep-2048+ml-kem-768";
        /**
         * @description Who manages the key of the vault.
         * @enum {string}
         */
        KeySource: "service_managed" | "customer_managed";
        /** @description A secret that has a value you sent, or the digest of which you sent. */
        KnownSecret: {
            /** @description An id that starts with sec_. */
            id: string;
            /** @description The name of its vault. */
            vault: string;
            /** @description Path of the secret in the vault. */
            path: string;
        };
        /** @description A value or digest you sent that is of the newest value of a secret. */
        KnownValue: {
            /**
             * Format: int64
             * @description Its position in `digests` or `values`, from 0.
             */
            index: number;
            /** @description At most 50 are listed. */
            secrets: components["schemas"]["KnownSecret"][];
            /**
             * Format: int64
             * @description Total number you may list; at most 1,000 secrets with the same value are examined.
             */
            secrets_total: number;
        };
        /** @description The request body of `linkEndpointAccount`. */
        LinkEndpointAccountInput: {
            /** @description A user, by id or e-mail address; null removes the link. */
            user: string | null;
        };
        /** @description The response of `listAccess`. */
        ListAccessOutput: {
            access: components["schemas"]["TimedAccess"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listAccessPaths`. */
        ListAccessPathsOutput: {
            /** @description By vault, then secret, then principal. Each request decides a bounded number of times. */
            access_paths: components["schemas"]["AccessPath"][];
            /**
             * Format: int64
             * @description How many ways this page leaves out because of a link that you may not see.
             */
            hidden: number;
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listAnomalies`. */
        ListAnomaliesOutput: {
            anomalies: components["schemas"]["Anomaly"][];
            /**
             * Format: int64
             * @description Total number on all pages.
             */
            total: number;
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listApprovals`. */
        ListApprovalsOutput: {
            approvals: components["schemas"]["Approval"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listAttackPaths`. */
        ListAttackPathsOutput: {
            attack_paths: components["schemas"]["AttackPath"][];
            /** @description When they were last found; null before the first time. */
            computed_at: string | null;
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listAudit`. */
        ListAuditOutput: {
            entries: components["schemas"]["AuditEntry"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
            /** @description Entries that cannot be listed, because somebody changed them in the database so that they cannot be read. Normally empty; if it is not, verify the log. */
            unreadable: components["schemas"]["EntryRange"][];
            /** @description If the page ends the list and the period reaches back to entries that were moved to the archive: the time up to which they were. They are not listed until the operator restores them. */
            archived_until: string | null;
        };
        /** @description The response of `listAutoPaths`. */
        ListAutoPathsOutput: {
            paths: components["schemas"]["AutoPath"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listCheckpoints`. */
        ListCheckpointsOutput: {
            checkpoints: components["schemas"]["Checkpoint"][];
            /** @description The public keys, newest first. Their ids are derived from them: store one id elsewhere. */
            keys: components["schemas"]["CheckpointKey"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listClusterAudit`. */
        ListClusterAuditOutput: {
            /** @description An id that starts with cluster_. */
            cluster_id: string;
            /**
             * Format: int64
             * @description The current generation.
             */
            generation: number;
            /** @description When the operator last reported, whether or not anything changed. */
            last_report_at: string | null;
            entries: components["schemas"]["ClusterApplyLogEntry"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listClusterPolicies`. */
        ListClusterPoliciesOutput: {
            policies: components["schemas"]["ClusterPolicy"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listClusters`. */
        ListClustersOutput: {
            clusters: components["schemas"]["Cluster"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listCollisions`. */
        ListCollisionsOutput: {
            collisions: components["schemas"]["Collision"][];
            /**
             * Format: int64
             * @description Total number on all pages.
             */
            total: number;
            /** @description False while fingerprints are being recomputed under another key, for example after an upgrade: some equal values may be missing; retry in a few minutes. Also false if a value is in more than 8,000 secrets and all examined ones are in one vault. */
            complete: boolean;
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listConnectionCertificates`. */
        ListConnectionCertificatesOutput: {
            certificates: components["schemas"]["ConnectionCertificate"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listConnections`. */
        ListConnectionsOutput: {
            app_connections: components["schemas"]["AppConnection"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listDueSecrets`. */
        ListDueSecretsOutput: {
            secrets: components["schemas"]["DueSecret"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listEncryptionKeys`. */
        ListEncryptionKeysOutput: {
            keys: components["schemas"]["EncryptionKey"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listEndpointAccounts`. */
        ListEndpointAccountsOutput: {
            accounts: components["schemas"]["EndpointAccount"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listEndpointDrift`. */
        ListEndpointDriftOutput: {
            drift: components["schemas"]["EndpointDrift"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listEnvironmentSecrets`. */
        ListEnvironmentSecretsOutput: {
            secrets: components["schemas"]["EnvironmentBinding"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listEnvironments`. */
        ListEnvironmentsOutput: {
            environments: components["schemas"]["ComposedEnvironment"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listExporters`. */
        ListExportersOutput: {
            exporters: components["schemas"]["Exporter"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listFederations`. */
        ListFederationsOutput: {
            federations: components["schemas"]["Federation"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listGroupMembers`. */
        ListGroupMembersOutput: {
            members: components["schemas"]["GroupMember"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listGroups`. */
        ListGroupsOutput: {
            groups: components["schemas"]["Group"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listJobs`. */
        ListJobsOutput: {
            /** @description The jobs, in the order of their names. */
            jobs: components["schemas"]["Job"][];
        };
        /** @description The response of `listNodes`. */
        ListNodesOutput: {
            /** @description The nodes, in the order of their ids. */
            nodes: components["schemas"]["Node"][];
        };
        /** @description The response of `listPasskeys`. */
        ListPasskeysOutput: {
            passkeys: components["schemas"]["Passkey"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listPlans`. */
        ListPlansOutput: {
            plans: components["schemas"]["PlanWithLimits"][];
        };
        /** @description The response of `listPolicies`. */
        ListPoliciesOutput: {
            policies: components["schemas"]["Policy"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listPolicyVersions`. */
        ListPolicyVersionsOutput: {
            versions: components["schemas"]["PolicyVersion"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listPqcKeys`. */
        ListPqcKeysOutput: {
            keys: components["schemas"]["PqcKey"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listScimGroups`. */
        ListScimGroupsOutput: {
            /** @description Contains urn:ietf:params:scim:api:messages:2.0:ListResponse. */
            schemas: string[];
            /**
             * Format: int64
             * @description How many match, on all pages.
             */
            totalResults: number;
            /**
             * Format: int64
             * @description The index of the first, from 1.
             */
            startIndex: number;
            /**
             * Format: int64
             * @description How many are on this page.
             */
            itemsPerPage: number;
            /** @description The page. */
            Resources: components["schemas"]["ScimGroup"][];
        };
        /** @description The response of `listScimTokens`. */
        ListScimTokensOutput: {
            /** @description The tokens. */
            tokens: components["schemas"]["ScimToken"][];
        };
        /** @description The response of `listScimUsers`. */
        ListScimUsersOutput: {
            /** @description Contains urn:ietf:params:scim:api:messages:2.0:ListResponse. */
            schemas: string[];
            /**
             * Format: int64
             * @description How many match, on all pages.
             */
            totalResults: number;
            /**
             * Format: int64
             * @description The index of the first, from 1.
             */
            startIndex: number;
            /**
             * Format: int64
             * @description How many are on this page.
             */
            itemsPerPage: number;
            /** @description The page. */
            Resources: components["schemas"]["ScimUser"][];
        };
        /** @description The response of `listSecretVersions`. */
        ListSecretVersionsOutput: {
            versions: components["schemas"]["SecretVersion"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listSecrets`. */
        ListSecretsOutput: {
            secrets: components["schemas"]["ListedSecret"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listSessions`. */
        ListSessionsOutput: {
            sessions: components["schemas"]["Session"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listShares`. */
        ListSharesOutput: {
            shares: components["schemas"]["Share"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listSsoLinks`. */
        ListSsoLinksOutput: {
            links: components["schemas"]["SignOnLink"][];
        };
        /** @description The response of `listSsoProviders`. */
        ListSsoProvidersOutput: {
            providers: components["schemas"]["SsoProvider"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listTenantRegions`. */
        ListTenantRegionsOutput: {
            tenant_regions: components["schemas"]["TenantRegion"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listTenants`. */
        ListTenantsOutput: {
            tenants: components["schemas"]["Tenant"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listTokens`. */
        ListTokensOutput: {
            tokens: components["schemas"]["Token"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listUsers`. */
        ListUsersOutput: {
            users: components["schemas"]["User"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listVaultMembers`. */
        ListVaultMembersOutput: {
            members: components["schemas"]["VaultMember"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listVaultsOfUser`. */
        ListVaultsOfUserOutput: {
            vaults: components["schemas"]["VaultOfUser"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listVaults`. */
        ListVaultsOutput: {
            vaults: components["schemas"]["VaultSummary"][];
            /**
             * Format: int64
             * @description Total number on all pages.
             */
            total: number;
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listWebhookDeliveries`. */
        ListWebhookDeliveriesOutput: {
            deliveries: components["schemas"]["WebhookDelivery"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listWebhooks`. */
        ListWebhooksOutput: {
            webhooks: components["schemas"]["Webhook"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description The response of `listWorkloadMethods`. */
        ListWorkloadMethodsOutput: {
            methods: components["schemas"]["WorkloadMethod"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description A secret in a list. */
        ListedSecret: {
            /** @description An id that starts with sec_. */
            id: string;
            /**
             * Format: int64
             * @description Integer id of the same secret.
             */
            secret_id: number;
            /** @description Path of the secret in the vault. */
            path: string;
            /** @description Type of the secret. */
            type: string;
            environment: components["schemas"]["Stage"];
            protection: components["schemas"]["Protection"];
            /**
             * Format: int64
             * @description The newest version.
             */
            version: number;
            /** @description Null if you may list the secret, but not read it or its metadata. */
            metadata: components["schemas"]["SecretMetadata"] | null;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            rotated_at: string | null;
            next_rotation: string | null;
            /** @description When the value ends. Null without an end, and like the metadata. */
            expires_at: string | null;
            /** @description Null without automatic rotation, and like the metadata. */
            rotation: components["schemas"]["RotationSettings"] | null;
            /** @description Null like the metadata, and until it was first computed. */
            risk_score: number | null;
            /** @description Null if the score is. */
            risk_factors: components["schemas"]["RiskFactor"][] | null;
            /**
             * Format: date-time
             * @description Only present for deleted secrets.
             */
            deleted_at?: string;
            /** @description Only of a template of which you may read every part: changes whenever the version of a part does, or a part is moved or deleted. */
            parts_version?: string;
        };
        /** @description The request body of `login`. */
        LoginInput: {
            /** @description An e-mail address. The part before the @ may have letters of one script; the domain is ASCII (`xn--…`). */
            email: string;
            /** @description The current password. */
            password: string;
            /** @description Six digits from the authenticator, or a recovery code. */
            otp?: string;
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            tenant?: string;
        };
        /** @description The response of `login`. */
        LoginOutput: {
            /** @description Returned once. */
            token: string;
            /** @description An id that starts with token_. */
            token_id: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            /** @description An id that starts with user_. */
            user_id: string;
            /** @description An id that starts with tenant_. */
            tenant_id: string;
        };
        /** @description Occasions on which mail is sent: `invitations` to whom is invited, with the token; `approvals` to the owners and admins when a change waits; `expiry` to the managers of a vault when a secret in it expires soon; `security` to a person whose recovery code was used, and to the owners and admins when a break-glass owner signs in. */
        MailNotices: ("invitations" | "approvals" | "expiry" | "security")[];
        /** @description The response of `makeRecoveryCodes`. */
        MakeRecoveryCodesOutput: {
            /** @description Returned once; each can be used once. */
            recovery_codes: string[];
        };
        /** @description A statement that matches the simulated request. */
        MatchedStatement: {
            /** @description Name of the policy. */
            policy: string;
            sid: string | null;
            effect: components["schemas"]["PolicyEffect"];
        };
        /**
         * @description Kind of a member.
         * @enum {string}
         */
        MemberKind: "user" | "group";
        /** @description The response of `moveSecret`. */
        MoveSecretOutput: {
            /** @description An id that starts with sec_. */
            id: string;
            /**
             * Format: int64
             * @description Integer id of the same secret.
             */
            secret_id: number;
            /** @description Path of the secret in the vault. */
            path: string;
            /** @description Type of the secret. */
            type: string;
            environment: components["schemas"]["Stage"];
            protection: components["schemas"]["Protection"];
            /**
             * Format: int64
             * @description The newest version.
             */
            version: number;
            metadata: components["schemas"]["SecretMetadata"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            rotated_at: string | null;
            next_rotation: string | null;
            /** @description When the value ends: as it was given, or as a certificate says. Null without an end. */
            expires_at: string | null;
            /** @description The name of its vault. */
            vault: string;
            rotation: components["schemas"]["RotationSettings"] | null;
            rotation_status: components["schemas"]["RotationStatus"] | null;
            /** @description The score that was last computed; null until then. For callers who may not read the value it leaves out what tells something about it. */
            risk_score: number | null;
            /** @description Templates that refer to this place, of which you may see the metadata; at most 100. They cannot be resolved while no secret is there. */
            referred_by: components["schemas"]["SecretName"][];
        };
        /** @description A process that serves requests. */
        Node: {
            /** @description New with each start. */
            id: string;
            /** @description The release of the node. */
            release: string;
            /**
             * @description The commit that the release was made from, or `unknown`.
             * @example 9fceb02d0ae598e95dc970b74767f19372d61af8
             * @example unknown
             */
            commit: string;
            /**
             * Format: int64
             * @description The newest schema of the database that the release knows.
             */
            schema_version: number;
            /** @description The region of the node. Null if the installation has no regions. */
            region: string | null;
            /**
             * Format: date-time
             * @description When the node started.
             */
            started_at: string;
            /**
             * Format: date-time
             * @description When the node last reported itself, which it does every ten seconds.
             */
            seen_at: string;
            /** @description True for the one node that wrote this response, which is where the request happened to arrive, and false for all others. It does not say whether a node works: `seen_at` does, and `/health/ready` of the node. */
            is_answering: boolean;
        };
        /** @description The response of `openShare`. */
        OpenShareOutput: {
            /**
             * @description The value, sealed by the client library or `coffer share`: `share:v1:key:<iv>:<ciphertext>`, or `share:v1:passphrase:<salt>:<iv>:<ciphertext>`, each part in base64url. The key never leaves the link.
             * @example share:v1:key:kPp1x0o7w2N4q8aB:3mJtqg0zcQfUqS1v8X9pLwYkZrA7
             */
            envelope: string;
            /**
             * Format: int64
             * @description How often it may still be opened.
             */
            views_left: number;
        };
        /** @description A secret with its value, as returned to the External Secrets Operator. */
        OperatorSecret: {
            /** @description An id that starts with sec_. */
            id: string;
            /** @description The path of the secret. Send it as `name` to `/eso/secrets/by-name`. */
            name: string;
            /** @description The name of its vault. */
            vault: string;
            /** @description The path of the secret in the vault. */
            path: string;
            /** @description The type of the secret. */
            type: string;
            /**
             * Format: int64
             * @description The requested version, or the newest.
             */
            version: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            /** @description The value. */
            value: string;
            /** @description Only of a template that was resolved: the secrets whose values are in its value. */
            parts?: components["schemas"]["TemplatePart"][];
        };
        /** @description A secret as listed for the External Secrets Operator. */
        OperatorSecretSummary: {
            /** @description An id that starts with sec_. */
            id: string;
            /** @description The path of the secret. Send it as `name` to `/eso/secrets/by-name`. */
            name: string;
            /** @description The name of its vault. */
            vault: string;
            /** @description The path of the secret in the vault. */
            path: string;
            /** @description The type of the secret. */
            type: string;
            /**
             * Format: int64
             * @description The requested version, or the newest.
             */
            version: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
        };
        /** @description The response of `operatorVault`. */
        OperatorVaultOutput: {
            /** @description The name of the vault. */
            vault: string;
            secrets: components["schemas"]["OperatorSecretSummary"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description A passkey of yours. */
        Passkey: {
            /** @description An id that starts with passkey_. */
            id: string;
            /** @description What you call it. */
            name: string;
            /** @description Whether it can be copied between devices of the person. */
            is_synced: boolean;
            /** @description How browsers reach it, such as internal, hybrid or usb. */
            transports: string[];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            last_used_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            opens_fortress_from: string;
        };
        /** @description A signature algorithm that is accepted. */
        PasskeyAlgorithm: {
            /**
             * @description Always public-key.
             * @enum {string}
             */
            type: "public-key";
            /**
             * Format: int64
             * @description Its number in COSE.
             */
            alg: number;
        };
        /** @description What `navigator.credentials.get` answers, as JSON (AuthenticationResponseJSON of WebAuthn). */
        PasskeyAssertion: {
            /**
             * @description The id of the credential.
             * @example nLzJ5rTqQ0mT8w1ZkXk2Zg
             */
            id: string;
            /**
             * @description The same id.
             * @example nLzJ5rTqQ0mT8w1ZkXk2Zg
             */
            rawId: string;
            /**
             * @description Always public-key.
             * @enum {string}
             */
            type: "public-key";
            authenticatorAttachment?: components["schemas"]["AuthenticatorAttachment"] | null;
            clientExtensionResults?: components["schemas"]["PasskeyExtensionResults"];
            /** @description What the authenticator signed, and its signature. */
            response: {
                /**
                 * @description What the browser signed for, with challenge and origin.
                 * @example e30
                 */
                clientDataJSON: string;
                /**
                 * @description What the authenticator signed.
                 * @example AA
                 */
                authenticatorData: string;
                /**
                 * @description The signature.
                 * @example AA
                 */
                signature: string;
                /** @description Whose passkey it is. */
                userHandle?: string | null;
            };
        };
        /** @description For `navigator.credentials.create`, as JSON (PublicKeyCredentialCreationOptionsJSON of WebAuthn). */
        PasskeyCreationOptions: {
            /** @description The service. */
            rp: {
                /** @description The host name that the passkey belongs to. */
                id: string;
                /** @description The name of the service. */
                name: string;
            };
            /** @description You. */
            user: {
                /** @description Whose passkey it will be, in base64url. */
                id: string;
                /** @description Your e-mail address. */
                name: string;
                /** @description Your name. */
                displayName: string;
            };
            /** @description To be signed once, within five minutes; in base64url. */
            challenge: string;
            pubKeyCredParams: components["schemas"]["PasskeyAlgorithm"][];
            /**
             * Format: int64
             * @description How long the browser waits, in milliseconds.
             */
            timeout: number;
            /**
             * @description No proof of the maker of the authenticator is requested.
             * @enum {string}
             */
            attestation: "none";
            /** @description Passkeys that you have already. */
            excludeCredentials: components["schemas"]["PasskeyDescriptor"][];
            /** @description What the authenticator must be able to do. */
            authenticatorSelection: {
                /**
                 * @description The authenticator finds the passkey by itself.
                 * @enum {string}
                 */
                residentKey: "required";
                /** @description The same, for older browsers. */
                requireResidentKey: boolean;
                /**
                 * @description The authenticator demands a PIN, a fingerprint or the like.
                 * @enum {string}
                 */
                userVerification: "required";
            };
        };
        /** @description A passkey, as browsers name it. */
        PasskeyDescriptor: {
            /** @description The id of the credential, in base64url. */
            id: string;
            /**
             * @description Always public-key.
             * @enum {string}
             */
            type: "public-key";
            /** @description Its transports. */
            transports: string[];
        };
        /** @description The response of `passkeyEnrolmentOptions`. */
        PasskeyEnrolmentOptionsOutput: {
            options: components["schemas"]["PasskeyCreationOptions"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
        };
        /** @description What extensions reported. Not used. */
        PasskeyExtensionResults: {
            [key: string]: unknown;
        };
        /** @description The request body of `passkeyLogin`. */
        PasskeyLoginInput: {
            response: components["schemas"]["PasskeyAssertion"];
        };
        /** @description The response of `passkeyLoginOptions`. */
        PasskeyLoginOptionsOutput: {
            options: components["schemas"]["PasskeyRequestOptions"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
        };
        /** @description The response of `passkeyLogin`. */
        PasskeyLoginOutput: {
            /** @description Returned once. */
            token: string;
            /** @description An id that starts with token_. */
            token_id: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            /** @description An id that starts with user_. */
            user_id: string;
            /** @description An id that starts with tenant_. */
            tenant_id: string;
        };
        /** @description What `navigator.credentials.create` answers, as JSON (RegistrationResponseJSON of WebAuthn). */
        PasskeyRegistration: {
            /**
             * @description The id of the credential.
             * @example nLzJ5rTqQ0mT8w1ZkXk2Zg
             */
            id: string;
            /**
             * @description The same id.
             * @example nLzJ5rTqQ0mT8w1ZkXk2Zg
             */
            rawId: string;
            /**
             * @description Always public-key.
             * @enum {string}
             */
            type: "public-key";
            authenticatorAttachment?: components["schemas"]["AuthenticatorAttachment"] | null;
            clientExtensionResults?: components["schemas"]["PasskeyExtensionResults"];
            /** @description What the authenticator made. */
            response: {
                /**
                 * @description What the browser signed for, with challenge and origin.
                 * @example e30
                 */
                clientDataJSON: string;
                /**
                 * @description The new public key, in CBOR.
                 * @example oA
                 */
                attestationObject: string;
                /** @description Part of the attestation object. Not used. */
                authenticatorData?: string;
                /** @description Its transports. */
                transports?: string[];
                /**
                 * Format: int32
                 * @description Part of the attestation object. Not used.
                 */
                publicKeyAlgorithm?: number;
                /** @description Part of the attestation object. Not used. */
                publicKey?: string;
            };
        };
        /** @description For `navigator.credentials.get`, as JSON (PublicKeyCredentialRequestOptionsJSON of WebAuthn). */
        PasskeyRequestOptions: {
            /** @description The host name that the passkey belongs to. */
            rpId: string;
            /** @description To be signed once, within five minutes; in base64url. */
            challenge: string;
            /**
             * Format: int64
             * @description How long the browser waits, in milliseconds.
             */
            timeout: number;
            /**
             * @description The authenticator demands a PIN, a fingerprint or the like.
             * @enum {string}
             */
            userVerification: "required";
            /** @description The passkeys that can be used; empty for any. */
            allowCredentials: components["schemas"]["PasskeyDescriptor"][];
        };
        /** @description The request was accepted and is waiting for approval by another person. */
        PendingApproval: {
            /**
             * @description Approval is pending; nothing has changed yet.
             * @enum {string}
             */
            status: "pending_approval";
            /** @description An id that starts with approval_. */
            approval_id: string;
            approval: components["schemas"]["ApprovalKind"];
            /** @description The resource that the request would change. */
            resource: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
        };
        /**
         * @description The plan of a tenant, which sets its quotas, rate limits and features.
         * @enum {string}
         */
        Plan: "starter" | "professional" | "enterprise";
        /** @description How many of each a tenant of the plan may have, by the name of the quota; null: no limit. */
        PlanQuotas: {
            [key: string]: number | null;
        };
        /** @description A plan and its limits. */
        PlanWithLimits: {
            plan: components["schemas"]["Plan"];
            quotas: components["schemas"]["PlanQuotas"];
            /** @description Requests a minute, by class. */
            requests_per_minute: components["schemas"]["RateLimits"];
            /** @description When the operator last set the limits; null if they are those of the service. */
            updated_at: string | null;
        };
        /** @description A policy: what it allows and denies to the principals it is attached to. */
        Policy: {
            /** @description An id that starts with policy_. */
            id: string;
            /** @description Its name, which cannot be changed. */
            name: string;
            /** @description Purpose of the policy. */
            description: string;
            document: components["schemas"]["PolicyDocument"];
            /**
             * Format: int64
             * @description Increases with every change; send it as expected_version to protect against lost updates.
             */
            version: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
        };
        /** @description Attachment of a policy to a principal. */
        PolicyAttachment: {
            principal: components["schemas"]["AttachedPrincipal"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            attached_at: string;
        };
        /** @description The principal to attach the policy to or detach it from. */
        PolicyAttachmentInput: {
            principal: components["schemas"]["PolicyPrincipal"];
        };
        /** @description When a statement applies: every given key must match, and within a list one entry is enough. */
        PolicyCondition: {
            /** @description Addresses and CIDR ranges that the request comes from. */
            ip_cidr?: string[];
            /** @description Environments of the vault or secret. */
            environment?: string[];
            /** @description Whether a second factor was used. */
            mfa?: boolean[];
            /** @description Times of day in UTC. */
            time_between?: components["schemas"]["TimeRange"][];
            /** @description Tags of the vault or secret. */
            tag_equals?: string[];
        };
        /** @description A policy with its attachments. */
        PolicyDetail: {
            /** @description An id that starts with policy_. */
            id: string;
            /** @description Its name, which cannot be changed. */
            name: string;
            /** @description Purpose of the policy. */
            description: string;
            document: components["schemas"]["PolicyDocument"];
            /**
             * Format: int64
             * @description Increases with every change; send it as expected_version to protect against lost updates.
             */
            version: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            attachments: components["schemas"]["PolicyAttachment"][];
        };
        /**
         * @description The document of a policy.
         * @example {
         *       "version": "2026-01-01",
         *       "statement": [
         *         {
         *           "effect": "allow",
         *           "action": [
         *             "secrets:list",
         *             "secrets:read"
         *           ],
         *           "resource": [
         *             "vault/payments/database/**"
         *           ]
         *         }
         *       ]
         *     }
         */
        PolicyDocument: {
            /**
             * Format: date
             * @description A date of your choice, such as 2026-01-01. It does not change how the document is evaluated.
             */
            version: string;
            /** @description All statements apply; their order does not matter. */
            statement: components["schemas"]["PolicyStatement"][];
        };
        /**
         * @description A deny wins over every allow.
         * @enum {unknown}
         */
        PolicyEffect: "allow" | "deny";
        /** @description The principal a policy applies to: exactly one of the three. */
        PolicyPrincipal: {
            /** @description A group, by id or name. */
            group?: string;
            /** @description A user, by id or e-mail address. */
            user?: string;
            /** @description An AppConnection, by its number or client id. */
            app_connection?: number | string;
        };
        /** @description Allows or denies actions on resources. A deny wins over every allow; anything that no statement allows is denied. */
        PolicyStatement: {
            /** @description A name for the statement, shown by `simulate`. */
            sid?: string;
            effect: components["schemas"]["PolicyEffect"];
            /** @description `<resource>:<verb>` such as secrets:read; `*` may replace either half. */
            action: string[];
            /** @description Such as vault/<name>/<path>. `*` matches within one segment; a final `/*` or `**` matches several. */
            resource: string[];
            condition?: components["schemas"]["PolicyCondition"];
        };
        /** @description A policy as it was, or is, in one of its versions. */
        PolicyVersion: {
            /**
             * Format: int64
             * @description The number of the version.
             */
            version: number;
            /** @description Purpose of the policy. */
            description: string;
            document: components["schemas"]["PolicyDocument"];
            /**
             * Format: date-time
             * @description When this version was written.
             */
            written_at: string;
            /** @description Whether this is the version that counts. */
            is_current: boolean;
        };
        /** @description The request body of `pollDeviceLogin`. */
        PollDeviceLoginInput: {
            /**
             * @description The secret of the command line.
             * @example cv_dev_7Qm2xV9kLr4Tn8
             */
            device_code: string;
        };
        /** @description The response of `pollDeviceLogin`. */
        PollDeviceLoginOutput: {
            /**
             * @description Whether it is confirmed.
             * @enum {string}
             */
            status: "pending" | "approved";
            /** @description The session token. Returned once. */
            token?: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at?: string;
        };
        /**
         * @description The algorithm of the key: for wrapping keys, or for signing.
         * @enum {string}
         */
        PqcAlgorithm: "ecdh-p256+ml-kem-768" | "rsa-oaep-2048+ml-kem-768" | "rsa-pss-3072+ml-dsa-65";
        /** @description A public key of the tenant. */
        PqcKey: {
            /** @description The id of the key. */
            key_id: string;
            algorithm: components["schemas"]["PqcAlgorithm"];
            /**
             * Format: int64
             * @description Starts at 1 for each algorithm.
             */
            version: number;
            /** @description In base64: the ML-KEM or ML-DSA key, then the classical one. */
            public_key: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
        };
        /** @description The request body of `promoteTenantRegion`. */
        PromoteTenantRegionInput: {
            /**
             * @description The region that takes over, to which this request is sent.
             * @example eu
             */
            region: string;
            /** @description Why, for the audit log. */
            reason: string;
        };
        /**
         * @description fortress: encrypted under its own key, and each use requires a recent second factor.
         * @enum {string}
         */
        Protection: "standard" | "fortress";
        /** @description The request body of `pushDirectory`. */
        PushDirectoryInput: {
            /** @description What to note. */
            operations: components["schemas"]["RegionOperation"][];
        };
        /** @description The response of `pushDirectory`. */
        PushDirectoryOutput: {
            /** @description One for each operation. */
            results: ("merged" | "known" | "superseded")[];
            /** @description For each operation that is a promotion: how far the tenant’s log had come here when it was noted. */
            heads: (components["schemas"]["TenantHead"] | null)[];
            /**
             * Format: int32
             * @description How long this region waits for a former primary region, so that one may rely on this answer. 0 if it does not wait.
             * @example 30000
             */
            lease_ms: number;
        };
        /** @description The request body of `putPassphraseCheck`. */
        PutPassphraseCheckInput: {
            /**
             * @description A fixed text that the client library sealed under the passphrase or key of the vault.
             * @example zk:v1:aes-256-gcm:argon2id:Sg8vDgEcQXlIvCnMYgrRjQ:HX6VOWwXzqyuB0MF:T2vqdBrzOtp0iXbPcA:q7zvS1pCwdm_FWqQWVTXDA
             */
            check: string;
            former?: string | null;
            /**
             * Format: int32
             * @description The version that was read, 0 if there was none.
             * @example 0
             */
            expected_version: number;
        };
        /** @description The response of `putPassphraseCheck`. */
        PutPassphraseCheckOutput: {
            check: string | null;
            former: string | null;
            /**
             * Format: int32
             * @description 0 while the vault has no check.
             */
            version: number;
            updated_at: string | null;
        };
        /**
         * @description The request body of `putPlan`.
         * @example {
         *       "quotas": {
         *         "vaults": 20,
         *         "secrets": 1000
         *       },
         *       "requests_per_minute": {
         *         "read": 2000
         *       }
         *     }
         */
        PutPlanInput: {
            quotas?: components["schemas"]["PlanQuotas"];
            /** @description Requests a minute, by class. */
            requests_per_minute?: components["schemas"]["RateLimits"];
        };
        /** @description A quota and what is used of it. */
        QuotaUse: {
            /** @description Null: no limit. */
            limit: number | null;
            /**
             * Format: int64
             * @description More than the limit after a change to a smaller plan.
             */
            used: number;
        };
        /** @description Rate limits of this tenant, which override those of its plan. */
        RateLimits: {
            /**
             * Format: int32
             * @description Reads per minute.
             */
            read?: number;
            /**
             * Format: int32
             * @description Changes per minute.
             */
            write?: number;
            /**
             * Format: int32
             * @description Rotations per minute.
             */
            rotate?: number;
            /**
             * Format: int32
             * @description Requests that read many items per minute.
             */
            aggregate?: number;
        };
        /** @description Requests of the last minute, by class. */
        RateUse: {
            read: components["schemas"]["QuotaUse"];
            write: components["schemas"]["QuotaUse"];
            rotate: components["schemas"]["QuotaUse"];
            aggregate: components["schemas"]["QuotaUse"];
        };
        /** @description The response of `readAnomalyBaselines`. */
        ReadAnomalyBaselinesOutput: {
            /** @description The resource. */
            resource: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            from: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            to: string;
            baselines: components["schemas"]["ResourceBaseline"][];
            hours: components["schemas"]["ResourceHours"];
        };
        /** @description The response of `readAnomalyModels`. */
        ReadAnomalyModelsOutput: {
            /**
             * @description The model that decides, as configured.
             * @enum {string}
             */
            active: "v1" | "shadow" | "v2" | "ensemble";
            /**
             * Format: int64
             * @description How often at least one model would have raised an anomaly.
             */
            compared: number;
            /**
             * Format: int64
             * @description How often v1 and v2 agreed to raise one.
             */
            both: number;
            models: components["schemas"]["AnomalyModelReport"][];
            /** @description When the last scan ended; null before the first one. */
            last_scanned_at: string | null;
            /** @description When a scan was requested that has not ended yet. */
            requested_at: string | null;
        };
        /** @description The response of `readAuditActivity`. */
        ReadAuditActivityOutput: {
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            from: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            to: string;
            /** @description In order. */
            spans: components["schemas"]["AuditSpan"][];
            /** @description At most ten, the most active first, of the last seven days of the period at most. With a filter: of this page. */
            most_active: components["schemas"]["ActiveActor"][];
            /** @description The first hour that has counts; null if none has, or with a filter. */
            counted_since: string | null;
            /** @description If so much was recorded that counting is behind: entries from this time on are not counted yet. */
            counted_until: string | null;
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /**
         * @description The request body of `readCapabilities`.
         * @example {
         *       "checks": [
         *         {
         *           "action": "secrets:read",
         *           "resource": "vault/payments/db/password"
         *         }
         *       ]
         *     }
         */
        ReadCapabilitiesInput: {
            /** @description What to decide. */
            checks: components["schemas"]["CapabilityCheck"][];
        };
        /** @description The response of `readCapabilities`. */
        ReadCapabilitiesOutput: {
            /** @description Whether each check is allowed, in their order. */
            allowed: boolean[];
        };
        /** @description The response of `readDesiredState`. */
        ReadDesiredStateOutput: {
            /** @description An id that starts with cluster_. */
            cluster_id: string;
            /**
             * Format: int64
             * @description Grows whenever the content changes, and only then.
             */
            generation: number;
            /** @description Sorted by namespace and name. */
            secrets: components["schemas"]["DesiredSecret"][];
            /** @description Policies that deliver nothing now, and why. */
            withheld: components["schemas"]["WithheldSecret"][];
            /** @description SHA-256, in hex, of the JSON array [cluster_id, generation, [checksum, …], [[namespace, name, reason], …]] without whitespace: the checksums of `secrets`, then `withheld`. */
            checksum: string;
        };
        /** @description The response of `readEndpointStats`. */
        ReadEndpointStatsOutput: {
            /**
             * Format: int64
             * @description How many hosts have reported.
             */
            hosts_scanned: number;
            /**
             * Format: int64
             * @description How many accounts they have.
             */
            accounts: number;
            /**
             * Format: int64
             * @description How many keys may log in to them.
             */
            ssh_keys: number;
            /**
             * Format: int64
             * @description How many differences from the members of vaults there are.
             */
            drift: number;
        };
        /** @description The request body of `readInvite`. */
        ReadInviteInput: {
            /**
             * @description The token of the invitation.
             * @example cv_inv_7Qm2xV9kLr4Tn8
             */
            token: string;
        };
        /** @description The response of `readInvite`. */
        ReadInviteOutput: {
            /** @description The name of the tenant that the account belongs to. */
            organization: string;
            /** @description The address that was invited, with which you log in. */
            email: string;
            role: components["schemas"]["Role"];
            invited_by: string | null;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
        };
        /** @description The response of `readJwks`. */
        ReadJwksOutput: {
            keys: components["schemas"]["JsonWebKey"][];
        };
        /** @description The response of `readMe`. */
        ReadMeOutput: {
            /** @description The current user. */
            user: {
                /** @description An id that starts with user_. */
                id: string;
                /** @description The address you log in with. */
                email: string;
                /** @description Display name. */
                name: string;
                role: components["schemas"]["Role"];
            };
            /** @description The tenant you belong to. */
            tenant: {
                /** @description An id that starts with tenant_. */
                id: string;
                /** @description Its name. */
                name: string;
                plan: components["schemas"]["Plan"];
            };
            /** @description The credential of this request. */
            credential: {
                kind: components["schemas"]["TokenKind"];
                /** @description An id that starts with token_. */
                id: string;
                /**
                 * Format: date-time
                 * @description ISO 8601 in UTC, with milliseconds.
                 */
                expires_at: string;
                mfa_at: string | null;
            };
            /** @description Warnings for owners and admins about their tenant; empty for others. `first_token` is for the owner who has it and another way in. */
            warnings: components["schemas"]["TenantWarning"][];
            tls_url: string | null;
        };
        /** @description The response of `readMfa`. */
        ReadMfaOutput: {
            /** @description The authenticator app. */
            totp: {
                /** @description Whether an authenticator app is enrolled and confirmed. */
                enrolled: boolean;
                confirmed_at: string | null;
                /** @description When it opens fortress secrets: a day after it was confirmed, or when it was trusted. */
                opens_fortress_from: string | null;
            };
            /**
             * Format: int64
             * @description Number of passkeys.
             */
            passkeys: number;
            /**
             * Format: int64
             * @description Number of unused recovery codes.
             */
            recovery_codes_left: number;
        };
        /** @description The response of `readRecoveryCodes`. */
        ReadRecoveryCodesOutput: {
            /**
             * Format: int64
             * @description Number of unused recovery codes.
             */
            left: number;
        };
        /** @description The response of `readReferences`. */
        ReadReferencesOutput: {
            /** @description Null if you may not read the secret. */
            refers_to: components["schemas"]["SecretName"][] | null;
            /** @description Templates that refer to it, of which you may see the metadata; at most 100. */
            referred_by: components["schemas"]["SecretName"][];
        };
        /** @description The response of `readSecretRisk`. */
        ReadSecretRiskOutput: {
            /** @description An id that starts with sec_. */
            id: string;
            /** @description The name of its vault. */
            vault: string;
            /** @description Path of the secret in the vault. */
            path: string;
            /**
             * Format: int32
             * @description The sum of the points of its factors, at most 100.
             */
            risk_score: number;
            /** @description Reasons for the score. Those about the value are shown only to callers who may read it. */
            risk_factors: components["schemas"]["RiskFactor"][];
            /** @description The newest day first, at most 35 days. */
            history: components["schemas"]["RiskDay"][];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            computed_at: string;
        };
        /** @description The response of `readSsoSignOut`. */
        ReadSsoSignOutOutput: {
            /** @description The provider at which this session began; null if it began without one. */
            provider: string | null;
            /** @description The page of the provider; null if it has none or cannot be reached. */
            url: string | null;
        };
        /** @description The response of `readWebhookUrl`. */
        ReadWebhookUrlOutput: {
            /** @description Where events are sent. */
            url: string;
        };
        /** @description The response of `ready`. */
        ReadyOutput: {
            /**
             * @description The service can serve requests.
             * @enum {string}
             */
            status: "ready";
            /** @description Further details. */
            details: {
                /** @description Problems an operator should fix. */
                warnings: ("plain_http" | "database_without_tls" | "expired_certificate")[];
            };
        };
        /** @description The response of `recomputeAttackPaths`. */
        RecomputeAttackPathsOutput: {
            /**
             * @description It begins within seconds.
             * @constant
             */
            status: "scheduled";
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            requested_at: string;
        };
        /** @description How often something of each kind was masked, in what was sent and in the reply: private_key, secret, token, password, card, iban, personal_id, email, phone, internal_address, internal_host. What it was is shown nowhere. */
        Redactions: {
            [key: string]: number;
        };
        /** @description One write to the directory that regions share, signed by the region that made it. */
        RegionOperation: {
            /**
             * @description The name of a region.
             * @example eu
             */
            origin: string;
            /**
             * Format: int64
             * @description Its number among the operations of its origin.
             */
            seq: number;
            /**
             * Format: int64
             * @description The time of the origin’s hybrid logical clock, in milliseconds.
             */
            ms: number;
            /**
             * Format: int64
             * @description Tells operations of the same millisecond apart.
             */
            counter: number;
            /**
             * @description What is written.
             * @enum {string}
             */
            kind: "tenant" | "primary" | "head" | "published" | "public_key" | "revoked_token";
            /**
             * @description The id of the tenant, key or token.
             * @example tenant_01m7m3k33y000btqw090vrtdx9
             */
            key: string;
            /**
             * @description The addition to a set that this is about; otherwise empty.
             * @example
             */
            tag: string;
            /** @description Whether that addition is removed. */
            isRemoved: boolean;
            /**
             * @description JSON.
             * @example {"name":"acme"}
             */
            value: string;
            /** @description Base64. */
            signature: string;
        };
        /** @description What a region lacks of the directory, or as much as fits. */
        RegionSyncPage: {
            /**
             * @description The name of a region.
             * @example eu
             */
            region: string;
            /** @description By origin and number. */
            operations: components["schemas"]["RegionOperation"][];
            /** @description What the caller has with these. */
            vector: components["schemas"]["RegionVectorEntry"][];
            /** @description False if there is more. */
            complete: boolean;
            /** @description With the last page: promotions that this region was told ahead of earlier operations of their origins. `vector` does not include them. */
            pushed: components["schemas"]["RegionOperation"][];
            /**
             * Format: int32
             * @description How long this region waits for a former primary region, so that one may rely on this answer. 0 if it does not wait.
             * @example 30000
             */
            lease_ms: number;
            /** @description A digest of the whole directory, if it was requested. */
            digest: string | null;
        };
        /** @description Up to which number the operations of an origin are included. */
        RegionVectorEntry: {
            /**
             * @description The name of a region.
             * @example eu
             */
            origin: string;
            /**
             * Format: int64
             * @description The number.
             */
            seq: number;
        };
        /** @description The request body of `rejectApproval`. */
        RejectApprovalInput: {
            /** @description The reason for the decision. */
            reason?: string;
        };
        /** @description The request body of `renamePasskey`. */
        RenamePasskeyInput: {
            /** @description What you call it, such as the device it is on. */
            name: string;
        };
        /**
         * @description The request body of `replaceScimGroup`.
         * @example {
         *       "schemas": [
         *         "urn:ietf:params:scim:schemas:core:2.0:Group"
         *       ],
         *       "displayName": "Platform Team"
         *     }
         */
        ReplaceScimGroupInput: {
            /**
             * @description Contains urn:ietf:params:scim:schemas:core:2.0:Group.
             * @example [
             *       "urn:ietf:params:scim:schemas:core:2.0:Group"
             *     ]
             */
            schemas?: unknown;
            /** @description Unique in the provider, in any case. */
            displayName?: string | null;
            /**
             * @description The id of the provider.
             * @example 8f3a
             */
            externalId?: unknown;
            /**
             * @description Objects whose `value` is the id of a user.
             * @example []
             */
            members?: unknown;
        } & {
            [key: string]: unknown;
        };
        /**
         * @description The request body of `replaceScimUser`.
         * @example {
         *       "schemas": [
         *         "urn:ietf:params:scim:schemas:core:2.0:User"
         *       ],
         *       "userName": "grace@acme.example",
         *       "displayName": "Grace",
         *       "active": true
         *     }
         */
        ReplaceScimUserInput: {
            /**
             * @description Contains urn:ietf:params:scim:schemas:core:2.0:User.
             * @example [
             *       "urn:ietf:params:scim:schemas:core:2.0:User"
             *     ]
             */
            schemas?: unknown;
            /** @description Unique in the provider, in any case. */
            userName?: string | null;
            /**
             * @description Equals the subject with which the person signs in.
             * @example 00u1b2c3
             */
            externalId?: unknown;
            /**
             * @description A boolean, or its name as text.
             * @example true
             */
            active?: unknown;
            /** @description The name that is shown. */
            displayName?: string | null;
            /**
             * @description formatted, givenName and familyName.
             * @example {
             *       "givenName": "Ada",
             *       "familyName": "Lovelace"
             *     }
             */
            name?: unknown;
            /**
             * @description The primary one counts, or else that of type work, or else the first.
             * @example [
             *       {
             *         "value": "ada@acme.example",
             *         "type": "work",
             *         "primary": true
             *       }
             *     ]
             */
            emails?: unknown;
        } & {
            [key: string]: unknown;
        };
        /** @description The request body of `replayExporter`. */
        ReplayExporterInput: {
            /**
             * Format: date-time
             * @description The time of the first entry to send. A time such as 2026-11-14T10:00:00.000Z, or a date such as 2026-11-14, which means midnight UTC.
             */
            from: string;
            /** @description Leaves out the entries before `from` that were not sent. Default: false. */
            skip?: boolean;
        };
        /** @description The request body of `reportClusterStatus`. */
        ReportClusterStatusInput: {
            /**
             * Format: int64
             * @description The generation that was applied.
             * @example 0
             */
            generation: number;
            /** @description What became of each Kubernetes Secret. */
            results: components["schemas"]["ClusterApplyResult"][];
        };
        /** @description The response of `reportClusterStatus`. */
        ReportClusterStatusOutput: {
            /** @description An id that starts with cluster_. */
            cluster_id: string;
            /**
             * Format: int64
             * @description The generation that was reported.
             */
            generation: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            received_at: string;
        };
        /** @description The request body of `reportEndpointAccounts`. */
        ReportEndpointAccountsInput: {
            /**
             * @description The stable id of the host: `host_` and 1 to 64 letters, digits, dots, underscores or hyphens.
             * @example host_3f9c2a7d41b8e6053f9c2a7d41b8e605
             */
            host_id: string;
            /** @description The name of the host. */
            hostname?: string;
            /**
             * Format: date-time
             * @description When the host was scanned.
             */
            scanned_at: string;
            /** @description What the agent could not look at. */
            flags?: string[];
            /** @description All local accounts. */
            accounts: components["schemas"]["ReportedAccount"][];
        };
        /** @description The response of `reportEndpointAccounts`. */
        ReportEndpointAccountsOutput: {
            /** @description The id of the host. */
            host_id: string;
            /**
             * Format: int64
             * @description How many accounts the service has of this scan; 0 if it is older than the last one.
             */
            accepted: number;
            /**
             * Format: int64
             * @description How many accounts were left out because nobody can log in to them.
             */
            excluded: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            scanned_at: string;
            /** @description False if a newer scan of the host is known, so this one was ignored. */
            is_newest: boolean;
        };
        /** @description A local account. */
        ReportedAccount: {
            /** @description The name of the local account. */
            username: string;
            /**
             * Format: int64
             * @description Its number.
             */
            uid: number;
            /**
             * Format: int64
             * @description The number of its group.
             */
            gid?: number;
            /** @description The home directory. */
            home?: string;
            /** @description The login shell. Accounts with nologin or false are excluded. */
            shell: string;
            /** @description What the agent noticed about the account. */
            flags?: string[];
            /** @description The keys that may log in. */
            ssh_keys: components["schemas"]["ReportedSshKey"][];
        };
        /** @description A key that may log in to an account. Private keys are never sent. */
        ReportedSshKey: {
            /**
             * @description The type of the key, such as ssh-ed25519 or ssh-rsa.
             * @example ssh-ed25519
             */
            type: string;
            /**
             * @description The SHA-256 fingerprint as OpenSSH writes it.
             * @example SHA256:uNiVztksCsDhcc0u9e8BrqxBcnhBlckLxyNDRJf2SPM
             */
            fingerprint_sha256: string;
            /** @description The comment of the key. */
            comment?: string;
            /** @description What is special about the key: cert_authority and expired mean that it lets nobody in by itself. */
            flags?: string[];
        };
        /**
         * @description The request body of `requestAccess`.
         * @example {
         *       "vault": "payments",
         *       "role": "reader",
         *       "ttl_seconds": 3600,
         *       "reason": "Incident 4711"
         *     }
         */
        RequestAccessInput: {
            /** @description Name of the vault. */
            vault: string;
            /** @description Only the secret at this path and those below it; default: the whole vault. */
            path?: string;
            role: components["schemas"]["TimedRole"];
            /**
             * Format: int32
             * @description How long the access lasts once it is approved.
             */
            ttl_seconds: number;
            /** @description What it is needed for. */
            reason: string;
        };
        /** @description The request body of `resendVerification`. */
        ResendVerificationInput: {
            /** @description An e-mail address. The part before the @ may have letters of one script; the domain is ASCII (`xn--…`). */
            email: string;
        };
        /** @description The response of `resendVerification`. */
        ResendVerificationOutput: {
            /**
             * @description Whatever the address: a mail says what comes next.
             * @enum {string}
             */
            status: "pending_verification";
        };
        /** @description What is usual for a resource, over the last 30 days. */
        ResourceBaseline: {
            /**
             * @description What is counted.
             * @enum {string}
             */
            metric: "reads_per_hour" | "denied_per_hour" | "distinct_actors_per_day" | "distinct_countries_per_day";
            /** @description The mean. Hours and days without any count as zero. */
            mean: number;
            /** @description The 95th percentile. */
            p95: number;
            /**
             * Format: int64
             * @description How many hours or days it is computed from.
             */
            samples: number;
        };
        /** @description The reads of a resource hour by hour, over the last 31 days, beside what is usual. */
        ResourceHours: {
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            from: string;
            /** @description The reads of each hour, from `from` on. */
            reads: number[];
            /** @description The refused reads of each hour. */
            denied: number[];
            /** @description The usual reads at each hour of the week: the first is that of `from`, and after 168 hours the same one comes again. */
            usual: number[];
            /** @description From how many reads on each of these hours is unusual, by the model v2 with its default threshold. */
            limit: number[];
            /** @description Whether there is enough history: with less than seven days nothing is raised. */
            judged: boolean;
            /** @description The times that open or acknowledged anomalies of this resource are about. */
            unusual: components["schemas"]["UnusualTime"][];
        };
        /**
         * @description The request body of `restoreSecret`.
         * @example {}
         */
        RestoreSecretInput: {
            /** @description Which of the secrets deleted at this path, by its integer `secret_id` or its `id`; default: the most recently deleted. */
            secret_id?: number | string;
        };
        /** @description The response of `revealApproval`. */
        RevealApprovalOutput: {
            /** @description The path of the secret. */
            path: string;
            /** @description Null if the secret would be created. */
            version: number | null;
            /** @description Null if the secret would be created. */
            before: string | null;
            /** @description Null if the request has no new value, or the service makes it. */
            after: string | null;
        };
        /** @description The response of `reviewVaultMembers`. */
        ReviewVaultMembersOutput: {
            /** @description Its name. */
            vault: string;
            /**
             * Format: int64
             * @description Number of reviewed members.
             */
            reviewed: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            reviewed_at: string;
        };
        /** @description The request body of `revokeCertificate`. */
        RevokeCertificateInput: {
            /** @description The reason for the revocation. */
            reason?: string;
        };
        /** @description The risk of a secret at the end of a day. */
        RiskDay: {
            /**
             * Format: date
             * @description A day in UTC.
             */
            day: string;
            /**
             * Format: int32
             * @description The sum of the points of its factors, at most 100.
             */
            risk_score: number;
        };
        /** @description One reason for the risk score of a secret. */
        RiskFactor: {
            /**
             * @description The kind of reason; the guide page on risk explains each.
             * @enum {string}
             */
            factor: "age" | "no_rotation" | "readers" | "production" | "weak_value" | "repeated_value" | "stale_readers" | "open_anomalies" | "ends_soon";
            /**
             * Format: int32
             * @description What it adds to the score.
             */
            points: number;
            /** @description What was found, in words. */
            why: string;
        };
        /**
         * @description owner: everything. admin: everything except what only owners may do. auditor: reads the audit log and metadata, never values. member: nothing beyond their own account without a policy or a vault membership.
         * @enum {string}
         */
        Role: "owner" | "admin" | "auditor" | "member";
        /** @description The request body of `rollbackSecret`. */
        RollbackSecretInput: {
            /**
             * Format: int32
             * @description The version to roll back to.
             */
            to_version: number;
            /** @description Reason for the change, stored with the version. */
            reason?: string;
            /**
             * Format: int32
             * @description Fails unless this is still the newest version; `If-Match: "v3"` means the same.
             */
            expected_version?: number;
        };
        /** @description The response of `rollbackSecret`. */
        RollbackSecretOutput: {
            /** @description An id that starts with sec_. */
            id: string;
            /**
             * Format: int64
             * @description Integer id of the same secret.
             */
            secret_id: number;
            /** @description Path of the secret in the vault. */
            path: string;
            /** @description Type of the secret. */
            type: string;
            environment: components["schemas"]["Stage"];
            protection: components["schemas"]["Protection"];
            /**
             * Format: int64
             * @description The newest version.
             */
            version: number;
            metadata: components["schemas"]["SecretMetadata"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            rotated_at: string | null;
            next_rotation: string | null;
            /** @description When the value ends: as it was given, or as a certificate says. Null without an end. */
            expires_at: string | null;
            /** @description The name of its vault. */
            vault: string;
            rotation: components["schemas"]["RotationSettings"] | null;
            rotation_status: components["schemas"]["RotationStatus"] | null;
            /** @description The score that was last computed; null until then. For callers who may not read the value it leaves out what tells something about it. */
            risk_score: number | null;
            /**
             * Format: int64
             * @description The version whose value was restored.
             */
            restored_from: number;
        };
        /** @description The request body of `rotateClusterToken`. */
        RotateClusterTokenInput: {
            /**
             * Format: int32
             * @description How long the previous token is still accepted. Default: 0, so it is revoked at once.
             */
            overlap_seconds?: number;
        };
        /** @description The request body of `rotateConnection`. */
        RotateConnectionInput: {
            /** @description Create a new client secret. */
            client_secret?: boolean;
            /** @description Issue a new certificate. */
            certificate?: boolean;
            /** @description Certificate signing request for the new certificate. */
            csr_pem?: string;
            /**
             * Format: int32
             * @description How long the previous secret and certificates stay valid, in seconds. Default: 0.
             */
            overlap_seconds?: number;
            /**
             * Format: int32
             * @description Validity of the certificate, in days. Default: 30.
             */
            certificate_ttl_days?: number;
        };
        /** @description The response of `rotateConnection`. */
        RotateConnectionOutput: {
            /**
             * Format: int64
             * @description The number of the connection.
             */
            id: number;
            /** @description The client id of the connection: a UUID. */
            client_id: string;
            client_secret: string | null;
            certificate_signing_request: string | null;
            certificate: string | null;
            ca_chain: string | null;
            private_key: string | null;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            rotated_at: string;
            former_valid_until: string | null;
        };
        /** @description The request body of `rotateEncryptionKey`. */
        RotateEncryptionKeyInput: {
            /** @description The reason, recorded in the audit log. */
            reason?: string;
        };
        /** @description The response of `rotateEncryptionKey`. */
        RotateEncryptionKeyOutput: {
            /** @description The name of the key. */
            name: string;
            /**
             * Format: int64
             * @description The newest version.
             */
            version: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            rotated_at: string;
        };
        /** @description The request body of `rotatePqcKey`. */
        RotatePqcKeyInput: {
            algorithm: components["schemas"]["PqcAlgorithm"];
            /** @description Reason for the audit log. */
            reason?: string;
        };
        /**
         * @description The request body of `rotateScimToken`.
         * @example {
         *       "overlap_seconds": 3600
         *     }
         */
        RotateScimTokenInput: {
            /**
             * Format: int32
             * @description How long the former token is accepted. Default: 0.
             */
            overlap_seconds?: number;
        };
        /**
         * @description The request body of `rotateSecret`.
         * @example {
         *       "generator": {
         *         "length": 32,
         *         "charset": "alphanumeric"
         *       },
         *       "reason": "Quarterly"
         *     }
         */
        RotateSecretInput: {
            /** @description Reason for the change, stored with the version. */
            reason?: string;
            /** @description At most 1 MiB; may be empty if the type allows it. */
            value?: string;
            generator?: components["schemas"]["Generator"];
            /**
             * Format: date-time
             * @description When the value ends, in the future. A certificate says so itself. A time such as 2026-11-14T10:00:00.000Z, or a date such as 2026-11-14, which means midnight UTC.
             */
            expires_at?: string;
            /**
             * Format: int32
             * @description Fails unless this is still the newest version; `If-Match: "v3"` means the same.
             */
            expected_version?: number;
        };
        /** @description The response of `rotateSecret`. */
        RotateSecretOutput: {
            /** @description An id that starts with rotation_. */
            rotation_id: string;
            status: components["schemas"]["SecretRotationProgress"];
            /**
             * Format: int64
             * @description The newest version; while the rotation is in progress, still the old one.
             */
            version: number;
            rotated_at: string | null;
            next_rotation: string | null;
        };
        /** @description An external credential that is changed together with the value. */
        RotationBackend: {
            /**
             * @description postgres_role: changes the password of the role in the value of a database secret.
             * @enum {string}
             */
            kind: "postgres_role";
        };
        /** @description Automatic rotation: how often and how. */
        RotationSettings: {
            /**
             * Format: int32
             * @description Interval between rotations, in days.
             */
            interval_days: number;
            generator?: components["schemas"]["Generator"];
            backend?: components["schemas"]["RotationBackend"];
        };
        /** @description Result of the latest rotation through a backend. */
        RotationStatus: {
            /** @description An id that starts with rotation_. */
            rotation_id: string;
            /**
             * @description Status of the rotation.
             * @enum {string}
             */
            status: "in_progress" | "completed" | "failed";
            /** @description Why it failed; empty if it did not. */
            failure: string;
        };
        /** @description A row that was changed outside the service. */
        RowProblem: {
            /** @description The table. */
            table: string;
            /** @description The row in it. */
            row: string;
            /**
             * @description What is wrong with it.
             * @enum {string}
             */
            problem: "forged" | "rolled_back" | "resurrected" | "missing" | "unrecorded" | "replaced" | "unlinked";
        };
        /** @description The response of `scanAnomalies`. */
        ScanAnomaliesOutput: {
            /** @description When the last scan ended; null before the first one. */
            last_scanned_at: string | null;
            /** @description When a scan was requested that has not ended yet. */
            requested_at: string | null;
        };
        /** @description What this service supports of SCIM (RFC 7643, 5 to 7). */
        ScimDocument: {
            /** @description The schema of the document. */
            schemas: string[];
        } & {
            [key: string]: unknown;
        };
        /** @description The e-mail address of the account. There is one. */
        ScimEmail: {
            /** @description The address. */
            value?: string;
            /** @description work */
            type?: string;
            /** @description true */
            primary?: boolean;
        };
        /** @description An error of a SCIM endpoint (RFC 7644, 3.12). */
        ScimError: {
            /** @description Contains urn:ietf:params:scim:api:messages:2.0:Error. */
            schemas: string[];
            /** @description The HTTP status, as text. */
            status: string;
            /** @description The kind of error, where SCIM names one. */
            scimType?: string;
            /** @description For people; the wording may change. */
            detail: string;
        };
        /** @description A group of the provider (RFC 7643, 4.2). */
        ScimGroup: {
            /** @description Contains urn:ietf:params:scim:schemas:core:2.0:Group. */
            schemas: string[];
            /** @description The id of the group. */
            id: string;
            /** @description The id of the provider. */
            externalId?: string;
            /** @description Unique in the provider, in any case. */
            displayName?: string;
            /** @description Its members. */
            members?: components["schemas"]["ScimMember"][];
            meta?: components["schemas"]["ScimMeta"];
        };
        /** @description A member of a group. */
        ScimMember: {
            /** @description The id of the user. */
            value?: string;
            /** @description Their URL. */
            $ref?: string;
            /** @description User */
            type?: string;
            /** @description The userName. */
            display?: string;
        };
        /** @description A group that a person is in. */
        ScimMembership: {
            /** @description The id of the group. */
            value?: string;
            /** @description Its URL. */
            $ref?: string;
            /** @description Its displayName. */
            display?: string;
            /** @description direct */
            type?: string;
        };
        /** @description When a resource was made and changed, and where it is. */
        ScimMeta: {
            /** @description User or Group. */
            resourceType?: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created?: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            lastModified?: string;
            /** @description Its address. */
            location?: string;
            /** @description Its ETag. */
            version?: string;
        };
        /** @description The parts of a name. */
        ScimName: {
            /** @description The whole name. */
            formatted?: string;
            /** @description The given name. */
            givenName?: string;
            /** @description The family name. */
            familyName?: string;
        };
        /** @description A change of one attribute, or of several without a path. */
        ScimOperation: {
            /**
             * @description add, replace or remove, in any case.
             * @example replace
             */
            op?: unknown;
            /**
             * @description The attribute. Without one, `value` has attributes.
             * @example active
             */
            path?: unknown;
            /**
             * @description The new value; for a removal, the members to remove.
             * @example false
             */
            value?: unknown;
        } & {
            [key: string]: unknown;
        };
        /** @description A person or a group, as `meta.resourceType` says. */
        ScimResource: {
            /** @description The schema of the resource. */
            schemas: string[];
            /** @description Its id. */
            id: string;
        } & {
            [key: string]: unknown;
        };
        /** @description A token with which a provider uses SCIM. */
        ScimToken: {
            /** @description An id that starts with scim_. */
            id: string;
            /** @description The provider whose people and groups it manages. */
            provider: string;
            /** @description What it is for. */
            description: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            /** @description Until when the token that it replaced is accepted; null if it is not. */
            former_token_until: string | null;
            /** @description The id of the creator. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
        };
        /** @description A token with which a provider uses SCIM, just made. */
        ScimTokenWithText: {
            /** @description An id that starts with scim_. */
            id: string;
            /** @description The provider whose people and groups it manages. */
            provider: string;
            /** @description What it is for. */
            description: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            /** @description Until when the token that it replaced is accepted; null if it is not. */
            former_token_until: string | null;
            /** @description The id of the creator. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /** @description The token (`cv_scim_…`). Returned once. */
            token: string;
            /** @description The address to configure at the provider. */
            base_url: string;
        };
        /** @description A person whom the provider provisions (RFC 7643, 4.1). */
        ScimUser: {
            /** @description Contains urn:ietf:params:scim:schemas:core:2.0:User. */
            schemas: string[];
            /** @description The id of the user. */
            id: string;
            /** @description Equals the subject with which the person signs in. */
            externalId?: string;
            /** @description Unique in the provider, in any case. */
            userName?: string;
            name?: components["schemas"]["ScimName"];
            /** @description The name that is shown. */
            displayName?: string;
            /** @description One address. */
            emails?: components["schemas"]["ScimEmail"][];
            /** @description Whether the account can be used. */
            active?: boolean;
            /** @description The groups of the provider that the person is in, if any. */
            groups?: components["schemas"]["ScimMembership"][];
            meta?: components["schemas"]["ScimMeta"];
        };
        /** @description A secret whose value contains the text. */
        SearchMatch: {
            /** @description An id that starts with sec_. */
            id: string;
            /** @description Path of the secret in the vault. */
            path: string;
            /** @description Type of the secret. */
            type: string;
            /**
             * Format: int64
             * @description The newest version.
             */
            version: number;
        };
        /**
         * @description The request body of `searchScimGroups`.
         * @example {
         *       "schemas": [
         *         "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
         *       ],
         *       "filter": "displayName sw \"A\"",
         *       "startIndex": 1,
         *       "count": 10
         *     }
         */
        SearchScimGroupsInput: {
            /**
             * @description Contains urn:ietf:params:scim:api:messages:2.0:SearchRequest.
             * @example [
             *       "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
             *     ]
             */
            schemas?: unknown;
            /** @description Attributes to return besides id and schemas. */
            attributes?: string[];
            /** @description Attributes to leave out, such as members. */
            excludedAttributes?: string[];
            /**
             * @description Attributes compared by eq, ne, co, sw, ew and pr, joined by and, or, not and parentheses.
             * @example userName eq "ada@acme.example"
             */
            filter?: string;
            /**
             * Format: int64
             * @description The index of the first, from 1; less counts as 1.
             */
            startIndex?: number;
            /**
             * Format: int64
             * @description The number of resources, at most 200; 0 or less gives the total alone. Default: 100.
             */
            count?: number;
        } & {
            [key: string]: unknown;
        };
        /** @description The response of `searchScimGroups`. */
        SearchScimGroupsOutput: {
            /** @description Contains urn:ietf:params:scim:api:messages:2.0:ListResponse. */
            schemas: string[];
            /**
             * Format: int64
             * @description How many match, on all pages.
             */
            totalResults: number;
            /**
             * Format: int64
             * @description The index of the first, from 1.
             */
            startIndex: number;
            /**
             * Format: int64
             * @description How many are on this page.
             */
            itemsPerPage: number;
            /** @description The page. */
            Resources: components["schemas"]["ScimGroup"][];
        };
        /**
         * @description The request body of `searchScim`.
         * @example {
         *       "schemas": [
         *         "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
         *       ],
         *       "filter": "displayName sw \"A\"",
         *       "startIndex": 1,
         *       "count": 10
         *     }
         */
        SearchScimInput: {
            /**
             * @description Contains urn:ietf:params:scim:api:messages:2.0:SearchRequest.
             * @example [
             *       "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
             *     ]
             */
            schemas?: unknown;
            /** @description Attributes to return besides id and schemas. */
            attributes?: string[];
            /** @description Attributes to leave out, such as members. */
            excludedAttributes?: string[];
            /**
             * @description Attributes compared by eq, ne, co, sw, ew and pr, joined by and, or, not and parentheses.
             * @example userName eq "ada@acme.example"
             */
            filter?: string;
            /**
             * Format: int64
             * @description The index of the first, from 1; less counts as 1.
             */
            startIndex?: number;
            /**
             * Format: int64
             * @description The number of resources, at most 200; 0 or less gives the total alone. Default: 100.
             */
            count?: number;
        } & {
            [key: string]: unknown;
        };
        /** @description The response of `searchScim`. */
        SearchScimOutput: {
            /** @description Contains urn:ietf:params:scim:api:messages:2.0:ListResponse. */
            schemas: string[];
            /**
             * Format: int64
             * @description How many match, on all pages.
             */
            totalResults: number;
            /**
             * Format: int64
             * @description The index of the first, from 1.
             */
            startIndex: number;
            /**
             * Format: int64
             * @description How many are on this page.
             */
            itemsPerPage: number;
            /** @description The page. */
            Resources: components["schemas"]["ScimResource"][];
        };
        /**
         * @description The request body of `searchScimUsers`.
         * @example {
         *       "schemas": [
         *         "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
         *       ],
         *       "filter": "displayName sw \"A\"",
         *       "startIndex": 1,
         *       "count": 10
         *     }
         */
        SearchScimUsersInput: {
            /**
             * @description Contains urn:ietf:params:scim:api:messages:2.0:SearchRequest.
             * @example [
             *       "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
             *     ]
             */
            schemas?: unknown;
            /** @description Attributes to return besides id and schemas. */
            attributes?: string[];
            /** @description Attributes to leave out, such as members. */
            excludedAttributes?: string[];
            /**
             * @description Attributes compared by eq, ne, co, sw, ew and pr, joined by and, or, not and parentheses.
             * @example userName eq "ada@acme.example"
             */
            filter?: string;
            /**
             * Format: int64
             * @description The index of the first, from 1; less counts as 1.
             */
            startIndex?: number;
            /**
             * Format: int64
             * @description The number of resources, at most 200; 0 or less gives the total alone. Default: 100.
             */
            count?: number;
        } & {
            [key: string]: unknown;
        };
        /** @description The response of `searchScimUsers`. */
        SearchScimUsersOutput: {
            /** @description Contains urn:ietf:params:scim:api:messages:2.0:ListResponse. */
            schemas: string[];
            /**
             * Format: int64
             * @description How many match, on all pages.
             */
            totalResults: number;
            /**
             * Format: int64
             * @description The index of the first, from 1.
             */
            startIndex: number;
            /**
             * Format: int64
             * @description How many are on this page.
             */
            itemsPerPage: number;
            /** @description The page. */
            Resources: components["schemas"]["ScimUser"][];
        };
        /** @description The request body of `searchSecrets`. */
        SearchSecretsInput: {
            /** @description Substring of the value, case-sensitive. */
            query: string;
            /** @description Only paths that start with this text. */
            prefix?: string;
            /** @description `next_cursor` of the previous page, with the same filters. */
            cursor?: string;
        };
        /** @description The response of `searchSecrets`. */
        SearchSecretsOutput: {
            matches: components["schemas"]["SearchMatch"][];
            /** @description Null on the last page. Items that you may not read are omitted, so a page before it can be short or empty. */
            next_cursor: string | null;
        };
        /** @description A second factor that a user has confirmed. */
        SecondFactorOfUser: {
            /**
             * @description totp: an authenticator app. passkey: a passkey or security key.
             * @enum {string}
             */
            kind: "totp" | "passkey";
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            added_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            opens_fortress_from: string;
        };
        /** @description A secret, without its value. */
        Secret: {
            /** @description An id that starts with sec_. */
            id: string;
            /**
             * Format: int64
             * @description Integer id of the same secret.
             */
            secret_id: number;
            /** @description Path of the secret in the vault. */
            path: string;
            /** @description Type of the secret. */
            type: string;
            environment: components["schemas"]["Stage"];
            protection: components["schemas"]["Protection"];
            /**
             * Format: int64
             * @description The newest version.
             */
            version: number;
            metadata: components["schemas"]["SecretMetadata"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            rotated_at: string | null;
            next_rotation: string | null;
            /** @description When the value ends: as it was given, or as a certificate says. Null without an end. */
            expires_at: string | null;
            /** @description The name of its vault. */
            vault: string;
            rotation: components["schemas"]["RotationSettings"] | null;
            rotation_status: components["schemas"]["RotationStatus"] | null;
            /** @description The score that was last computed; null until then. For callers who may not read the value it leaves out what tells something about it. */
            risk_score: number | null;
        };
        /** @description One change of a secret: what is done, where, and the fields that the endpoint for it alone takes. */
        SecretChangeInput: {
            op: components["schemas"]["SecretChangeOperation"];
            /** @description segment/segment/… */
            path: string;
            /**
             * Format: int32
             * @description Fails unless this is still the newest version; `If-Match: "v3"` means the same.
             */
            expected_version?: number;
            /** @description At most 1 MiB; may be empty if the type allows it. */
            value?: string;
            /** @description api_key, password, token, database, … */
            type?: string;
            generator?: components["schemas"]["Generator"];
            metadata?: components["schemas"]["SecretMetadataChange"];
            /** @description The environment: development (dev), homologation (hml), staging (stg) or production (prd, prod); stored as the full name. */
            environment?: string;
            protection?: components["schemas"]["Protection"];
            /** @description Allows a secret without an environment in a production vault; it becomes a production secret. */
            promote?: boolean;
            rotation?: components["schemas"]["RotationSettings"] | null;
            /** @description When the value ends; null removes the end. */
            expires_at?: string | null;
            /** @description For a move: the new path in the same vault. */
            to_path?: string;
            /**
             * Format: int32
             * @description For a rollback: the version to roll back to.
             */
            to_version?: number;
            /** @description Reason for the change, stored with the version. */
            reason?: string;
        };
        /**
         * @description What is done.
         * @enum {string}
         */
        SecretChangeOperation: "create" | "update" | "delete" | "move" | "rotate" | "rollback";
        /** @description Metadata of a secret. */
        SecretMetadata: {
            /** @description Its tags. */
            tags: string[];
            /** @description Description of the secret. */
            description?: string;
            /** @description The person or team responsible for it. */
            owner?: string;
        } & {
            [key: string]: unknown | string;
        };
        /** @description Given fields are replaced, null removes a field, omitted fields are unchanged. */
        SecretMetadataChange: {
            description?: string | null;
            owner?: string | null;
            tags?: string[] | null;
        } & {
            [key: string]: unknown | (string | null);
        };
        /** @description Metadata of a secret: the named fields, and any further string fields. */
        SecretMetadataInput: {
            /** @description Description of the secret. */
            description?: string;
            /** @description The person or team responsible for it. */
            owner?: string;
            /** @description Tags for filtering lists. */
            tags?: string[];
        } & {
            [key: string]: unknown | string;
        };
        /** @description A secret by the names that requests use. */
        SecretName: {
            /** @description The name of its vault. */
            vault: string;
            /** @description Its path in the vault. */
            path: string;
        };
        /** @description The destination of a secret. */
        SecretRelocation: {
            /** @description The name of the destination vault; default: the same vault. */
            to_vault?: string;
            /** @description segment/segment/… */
            to_path: string;
            /** @description Allows a secret without an environment in a production vault; it becomes a production secret. */
            promote?: boolean;
            /** @description Required in a zero-knowledge vault, and only allowed there: the value, sealed for the destination vault and path. */
            value?: string;
        };
        /**
         * @description in_progress: a backend makes the new value.
         * @enum {string}
         */
        SecretRotationProgress: "completed" | "in_progress";
        /** @description A version of a secret, without its value. */
        SecretVersion: {
            /**
             * Format: int64
             * @description Its number.
             */
            version: number;
            /**
             * @description The operation that created it.
             * @enum {string}
             */
            operation: "create" | "update" | "rotate" | "rollback" | "promote" | "copy";
            /** @description The reason given for the change. */
            reason: string;
            restored_from: number | null;
            author: components["schemas"]["VersionAuthor"];
            metadata: components["schemas"]["SecretMetadata"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /** @description False if only metadata or rotation changed, and the value is that of the version before. */
            has_new_value: boolean;
            /** @description Whether it is the newest version. */
            is_current: boolean;
        };
        /** @description A secret with its value. */
        SecretWithValue: {
            /** @description An id that starts with sec_. */
            id: string;
            /**
             * Format: int64
             * @description Integer id of the same secret.
             */
            secret_id: number;
            /** @description Path of the secret in the vault. */
            path: string;
            /** @description Type of the secret. */
            type: string;
            environment: components["schemas"]["Stage"];
            protection: components["schemas"]["Protection"];
            /**
             * Format: int64
             * @description The newest version.
             */
            version: number;
            metadata: components["schemas"]["SecretMetadata"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            rotated_at: string | null;
            next_rotation: string | null;
            /** @description When the value ends: as it was given, or as a certificate says. Null without an end. */
            expires_at: string | null;
            /** @description The name of its vault. */
            vault: string;
            rotation: components["schemas"]["RotationSettings"] | null;
            rotation_status: components["schemas"]["RotationStatus"] | null;
            /** @description The score that was last computed; null until then. For callers who may not read the value it leaves out what tells something about it. */
            risk_score: number | null;
            /** @description The value. */
            value: string;
            /** @description Only of a template that was resolved: the secrets whose values are in its value. */
            parts?: components["schemas"]["TemplatePart"][];
        };
        /** @description A session of yours that has not ended. */
        Session: {
            /** @description An id that starts with token_. */
            id: string;
            /** @description Whether it is the session of this request. */
            is_current: boolean;
            /** @description How it was opened; sign_on: with an OpenID provider; device: by a code on a command line, which another session or a sign-in with a provider confirmed. Null if it is older than this field. */
            method: ("password" | "passkey" | "sign_on" | "invitation" | "device") | null;
            /** @description The second factor that was shown; null if none was. */
            factor: ("totp" | "passkey" | "recovery_code") | null;
            /** @description The address that opened it. */
            address: string | null;
            mfa_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
        };
        /**
         * @description What happens when a new session would exceed the limit.
         * @enum {string}
         */
        SessionAction: "reject" | "evict_oldest";
        /**
         * @description How serious an anomaly is.
         * @enum {string}
         */
        Severity: "low" | "medium" | "high" | "critical";
        /** @description A value that is shared by a link. The service can neither open nor show it. */
        Share: {
            /** @description An id that starts with share_. */
            id: string;
            /** @description An id that starts with user_. */
            created_by: string;
            /**
             * @description open: it can still be opened. opened: as often as it was allowed.
             * @enum {string}
             */
            status: "open" | "opened" | "expired" | "revoked";
            /**
             * Format: int64
             * @description How often it may be opened in all.
             */
            views: number;
            /**
             * Format: int64
             * @description How often it may still be opened.
             */
            views_left: number;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            /** @description When it was last opened. */
            opened_at: string | null;
        };
        /** @description A provider of the tenant, and whether you sign in with it. */
        SignOnLink: {
            /** @description Its name. */
            provider: string;
            /** @description Since when you can sign in with it; null if you cannot. */
            linked_at: string | null;
        };
        /**
         * @description The request body of `signUp`.
         * @example {
         *       "email": "ann@example.com",
         *       "password": "tulips over Zagreb",
         *       "organization": "Example Ltd"
         *     }
         */
        SignUpInput: {
            /** @description An e-mail address. The part before the @ may have letters of one script; the domain is ASCII (`xn--…`). */
            email: string;
            /** @description A new password, at least 12 characters. */
            password: string;
            /** @description The name of your organization, from which the name of the tenant is made. */
            organization: string;
        };
        /** @description The response of `signUp`. */
        SignUpOutput: {
            /** @description An id that starts with tenant_. */
            tenant_id: string;
            /**
             * @description Whatever the address: a mail says what comes next.
             * @enum {string}
             */
            status: "pending_verification";
        };
        /**
         * @description The request body of `simulatePolicy`.
         * @example {
         *       "principal": {
         *         "user": "ada@example.com"
         *       },
         *       "action": "secrets:read",
         *       "resource": "vault/payments/database/password"
         *     }
         */
        SimulatePolicyInput: {
            /** @description A policy, by name. */
            policy?: string;
            document?: components["schemas"]["PolicyDocument"];
            principal?: components["schemas"]["PolicyPrincipal"];
            /** @description For example secrets:read. */
            action: string;
            /** @description For example vault/payments/db/password. */
            resource: string;
            /** @description The circumstances of the request. */
            context?: {
                /** @description Source IP address. */
                ip?: string;
                /** @description Whether a second factor was used. */
                mfa?: boolean;
                /**
                 * Format: date-time
                 * @description Time of the request.
                 */
                time?: string;
                /** @description The environment: development (dev), homologation (hml), staging (stg) or production (prd, prod); stored as the full name. */
                environment?: string;
                /** @description Tags of the vault or secret. */
                tags?: string[];
            };
        };
        /** @description The response of `simulatePolicy`. */
        SimulatePolicyOutput: {
            /** @description The decision. */
            decision: components["schemas"]["PolicyEffect"];
            /** @description Explanation of the decision. */
            reason: string;
            matched: components["schemas"]["MatchedStatement"][];
        };
        /** @description An OpenID provider with which people of the tenant sign in. */
        SsoProvider: {
            /** @description Its name, which is part of the address of the sign-in. */
            name: string;
            /** @description The issuer of its tokens. */
            issuer: string;
            /** @description The client id of this service. */
            client_id: string;
            /** @description Whether a client secret is stored. */
            has_client_secret: boolean;
            /** @description Requested scopes. */
            scopes: string[];
            subject_claim: components["schemas"]["SsoSubjectClaim"];
            /** @description The claim that lists the groups of a person. */
            groups_claim: string;
            /** @description Group of the provider → role. */
            role_mapping: {
                [key: string]: components["schemas"]["SsoRole"];
            };
            /** @description Group of the provider → name of a group here. */
            group_mapping: {
                [key: string]: string;
            };
            /** @description The role of people whose groups give none; null refuses them. */
            default_role: components["schemas"]["SsoRole"] | null;
            /** @description Whether only break-glass owners can log in with a password or a passkey; every owner while there is none. */
            required: boolean;
            /** @description Whether people can sign in with it. */
            enabled: boolean;
            /** @description The address to register with the provider. No other provider has it. */
            redirect_uri: string;
            /** @description The address to register for people who sign out at the provider. */
            post_logout_redirect_uri: string;
            /** @description The address to register for back-channel logout, with which the provider ends sessions here. */
            backchannel_logout_uri: string;
            /** @description The id of the creator. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
        };
        /**
         * @description A role that a provider can give. Only an owner can make an owner.
         * @enum {string}
         */
        SsoRole: "admin" | "auditor" | "member";
        /**
         * @description The claim that says who somebody is, and equals externalId in SCIM: oid for Entra, sub for others.
         * @enum {string}
         */
        SsoSubjectClaim: "sub" | "oid";
        /**
         * @description The environment that a vault or a secret belongs to.
         * @enum {string}
         */
        Stage: "development" | "homologation" | "staging" | "production";
        /**
         * @description The request body of `startDeviceLogin`.
         * @example {
         *       "client": "cli",
         *       "provider": "okta",
         *       "tenant": "acme"
         *     }
         */
        StartDeviceLoginInput: {
            /**
             * @description The kind of client.
             * @enum {string}
             */
            client: "cli";
            /** @description The OpenID provider to sign in with. */
            provider?: string;
            /** @description The tenant. Default: the tenant of the operator. */
            tenant?: string;
        };
        /** @description The response of `startDeviceLogin`. */
        StartDeviceLoginOutput: {
            /** @description The secret of the command line. Returned once. */
            device_code: string;
            /** @description The code to show to the person. */
            user_code: string;
            /** @description The page to open; null without a provider. */
            verification_uri: string | null;
            /**
             * Format: int64
             * @description How long both are valid, in seconds.
             */
            expires_in: number;
            /**
             * Format: int64
             * @description How long to wait between polls, in seconds.
             */
            interval: number;
        };
        /**
         * @description The request body of `stepUp`.
         * @example {
         *       "otp": "123456"
         *     }
         */
        StepUpInput: {
            response?: components["schemas"]["PasskeyAssertion"];
            /** @description Six digits from the authenticator, or a recovery code. */
            otp?: string;
        };
        /** @description The response of `stepUpOptions`. */
        StepUpOptionsOutput: {
            /** @description What you can show. */
            methods: ("passkey" | "totp" | "recovery_code")[];
            /** @description For the browser; null without a passkey. */
            options: components["schemas"]["PasskeyRequestOptions"] | null;
            expires_at: string | null;
        };
        /** @description A request to this service that you can send yourself. The assistant sends none. */
        SuggestedRequest: {
            /**
             * @description Method of the request.
             * @enum {string}
             */
            method: "GET" | "POST" | "PUT" | "DELETE";
            /** @description Path of the request. */
            path: string;
            /** @description Body of the request, if it has one. */
            body?: {
                [key: string]: unknown;
            };
        };
        /** @description Something to do, computed from the data of the tenant. */
        SuggestedTask: {
            /** @description What to do. */
            title: string;
            /** @description The reason. */
            why: string;
            request: components["schemas"]["SuggestedRequest"];
        };
        /** @description The request body of `summarizePath`. */
        SummarizePathInput: {
            /** @description The id of an attack path. */
            attack_path_id: string;
        };
        /** @description The response of `summarizePath`. */
        SummarizePathOutput: {
            /** @description The path in words. */
            summary: string;
            /** @description Each link of the path and its weakness. */
            steps: string[];
            /** @description What would break the path. */
            mitigations: components["schemas"]["SuggestedTask"][];
            /** @description Whether the model wrote the text. If it could not be reached, the text is a plain one of the service; everything else is the same. */
            phrased: boolean;
            redactions: components["schemas"]["Redactions"];
        };
        /** @description A secret that the value of a template was resolved from. */
        TemplatePart: {
            /** @description The name of its vault. */
            vault: string;
            /** @description Its path in the vault. */
            path: string;
            /** @description An id that starts with sec_. */
            id: string;
            /**
             * Format: int64
             * @description The version whose value was used.
             */
            version: number;
        };
        /** @description A tenant of the installation. */
        Tenant: {
            /** @description An id that starts with tenant_. */
            id: string;
            /** @description Its name. */
            name: string;
            status: components["schemas"]["TenantStatus"];
            plan: components["schemas"]["Plan"];
            rate_limits: components["schemas"]["RateLimits"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
        };
        /** @description The last entry of a tenant’s audit log. */
        TenantHead: {
            /**
             * Format: int64
             * @description Its number.
             */
            seq: number;
            /** @description Its hash in the chain. */
            hash: string;
        };
        /** @description The primary region of a tenant. */
        TenantRegion: {
            /** @description An id that starts with tenant_. */
            tenant_id: string;
            /** @description The name of the tenant; null if its region has not told it yet. */
            name: string | null;
            /** @description The region that handles the tenant. Null if none is assigned: then it is handled wherever its data is. */
            region: string | null;
            /** @description The URL of the region; null if it is not configured here. */
            url: string | null;
            /**
             * Format: int64
             * @description Increases with each promotion; 0 if no region is assigned.
             */
            epoch: number;
            /** @description The primary region before the last promotion. */
            previous: string | null;
            /** @description When the region was assigned or promoted. */
            since: string | null;
            /**
             * @description `starting`: this region waits until the former one has certainly stopped, and handles no request of the tenant yet.
             * @enum {string}
             */
            state: "active" | "starting";
            /** @description In the primary region: as it was when that region took over. Null if this region has no data of the tenant. */
            replica: components["schemas"]["TenantReplica"] | null;
        };
        /** @description How far the data of a tenant in this region is behind what its primary region last published. */
        TenantReplica: {
            /**
             * Format: int64
             * @description The last entry of the audit log that this region has.
             */
            local_seq: number;
            /** @description The last entry that the primary region had published. */
            published_seq: number | null;
            /** @description As of when that is known. */
            published_at: string | null;
            /** @description Entries of the audit log, and so reads and acknowledged changes, that are missing here. Entries after `published_at` are not counted; if the former region has noted a promotion, there are none. Null if it is not known. */
            missing_entries: number | null;
            /** @description False if this region has other entries than the primary region published; null if that cannot be compared. */
            is_same_history: boolean | null;
        };
        /** @description Settings of a tenant that its own admins can change. */
        TenantSettings: {
            /** @description An id that starts with tenant_. */
            tenant_id: string;
            /** @description If true, users without a second factor can only enrol one: sessions opened without it, and tokens of users who have none, can do nothing else. */
            require_mfa: boolean;
            anomaly_thresholds: components["schemas"]["AnomalyThresholds"];
            mail_notices: components["schemas"]["MailNotices"];
        };
        /**
         * @description All credentials of a suspended tenant are rejected; nothing is deleted.
         * @enum {string}
         */
        TenantStatus: "active" | "suspended";
        /** @description A warning for owners and admins about their tenant. */
        TenantWarning: {
            /**
             * @description Stable code for programs.
             * @enum {string}
             */
            code: "two_admins" | "break_glass" | "first_token";
            /** @description What it means and what to do. */
            message: string;
            at: string | null;
        };
        /** @description The response of `testExporter`. */
        TestExporterOutput: {
            /** @description Whether the receiver took the entry. */
            delivered: boolean;
            /** @description What the receiver responded, or why it could not be reached. */
            message: string;
            /**
             * Format: int64
             * @description How long it took.
             */
            duration_ms: number;
        };
        /** @description The response of `testWebhook`. */
        TestWebhookOutput: {
            /** @description Whether the receiver took the event. */
            delivered: boolean;
            response_status: number | null;
            error: string | null;
            /**
             * Format: int64
             * @description How long it took.
             */
            duration_ms: number;
        };
        /** @description The plan of a tenant, and what it uses of it. */
        Tier: {
            tier: components["schemas"]["Plan"];
            /** @description What the plan limits. */
            quotas: {
                vaults: components["schemas"]["QuotaUse"];
                secrets: components["schemas"]["QuotaUse"];
                users: components["schemas"]["QuotaUse"];
                app_connections: components["schemas"]["QuotaUse"];
                clusters: components["schemas"]["QuotaUse"];
                requests_per_minute: components["schemas"]["RateUse"];
            };
            /** @description Null unless a payment is overdue. */
            grace_period: components["schemas"]["GracePeriod"] | null;
        };
        /** @description A time of day in UTC; a range that ends before it begins continues past midnight. */
        TimeRange: {
            /** @description Hours and minutes, such as 08:30. */
            from: string;
            /** @description Hours and minutes, such as 08:30. */
            to: string;
        };
        /** @description A role in a vault, or below a path in it, that somebody has until a time. */
        TimedAccess: {
            /** @description An id that starts with access_. */
            id: string;
            /** @description The name of the vault. */
            vault: string;
            /** @description The path that it is limited to, with everything below; null for the whole vault. */
            path: string | null;
            /** @description An id that starts with user_. */
            user_id: string;
            role: components["schemas"]["TimedRole"];
            /** @description What it was requested for. */
            reason: string;
            /** @description An id that starts with approval_. */
            approval_id: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            granted_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            status: components["schemas"]["AccessStatus"];
            ended_at: string | null;
            /** @description The user who ended it early; null if it ended by itself. */
            ended_by: string | null;
        };
        /**
         * @description reader: lists and reads secrets. writer: also changes secrets. Nobody manages a vault for a time.
         * @enum {string}
         */
        TimedRole: "reader" | "writer";
        /** @description Description of a token, without the token itself. */
        Token: {
            /** @description An id that starts with token_. */
            id: string;
            kind: components["schemas"]["TokenKind"];
            /** @description Purpose of the token. */
            name: string;
            /** @description An id that starts with user_. */
            user_id: string;
            /** @description The session or token that it was created with; of a session, the one that confirmed its device code. Null if there is none, or it is older than this field. */
            parent_id: string | null;
            /** @description Whether it ends when that session is ended, when all sessions are, and when the password changes. A token always ends with the token that created it. */
            ends_with_sessions: boolean;
            /** @description What it may do at most: its own scope, within those of the tokens that it was created with. */
            scope: components["schemas"]["TokenScope"] | null;
            /** @description Where it may be used, in the same way: addresses and ranges; null for anywhere. */
            ip_allowlist: string[] | null;
            dpop_jkt: string | null;
            status: components["schemas"]["TokenStatus"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
            revoked_at: string | null;
        };
        /**
         * @description pat: a personal access token. session: created by a login.
         * @enum {string}
         */
        TokenKind: "pat" | "session";
        /** @description Restricts what a token may do, regardless of what its owner may do. An omitted list is unrestricted; an empty list allows nothing. */
        TokenScope: {
            /** @description Names of vaults; `*` matches any text. */
            vaults?: string[];
            /** @description Actions such as secrets:read; `*` may replace either half. */
            actions?: string[];
        };
        /**
         * @description Whether it can still be used, or why not.
         * @enum {string}
         */
        TokenStatus: "active" | "expired" | "revoked";
        /** @description The request body of `tokenize`. */
        TokenizeInput: {
            /** @description The value to store. */
            value: string;
            /**
             * Format: int32
             * @description Lifetime in days; without it the value does not expire.
             */
            ttl_days?: number;
        };
        /** @description The response of `tokenize`. */
        TokenizeOutput: {
            /** @description An id that starts with tok_. */
            token: string;
            expires_at: string | null;
        };
        /** @description The response of `trustMfa`. */
        TrustMfaOutput: {
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            trusted_at: string;
        };
        /** @description A time that an anomaly is about. */
        UnusualTime: {
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            from: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            to: string;
        };
        /** @description The request body of `unwrapKey`. */
        UnwrapKeyInput: {
            algorithm: components["schemas"]["KemAlgorithm"];
            /** @description The id of the key. */
            key_id: string;
            /** @description In base64. */
            wrapped: string;
        };
        /** @description The response of `unwrapKey`. */
        UnwrapKeyOutput: {
            algorithm: components["schemas"]["KemAlgorithm"];
            /** @description The id of the key. */
            key_id: string;
            /** @description The 32 bytes in base64. */
            key: string;
        };
        /** @description The request body of `updateConnection`. */
        UpdateConnectionInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name?: string;
            status?: components["schemas"]["ConnectionStatus"];
            /** @description The vaults that the connection may access, by id. */
            vault_ids?: string[];
            /** @description The purpose of the connection. */
            description?: string;
            /** @description Paths of secrets, without a leading slash. `*` matches within one segment, a final `/*` matches everything below; `["*"]` matches every path. */
            allowed_paths?: string[];
            /** @description The actions that it may perform there. Default: secrets:read, secrets:read_metadata, secrets:list, secrets:aggregate, eso:read. A policy attached to it can allow more, in the same vaults and paths. */
            scopes?: string[];
            /** @description The connection must present a client certificate. Default: true. */
            mtls_required?: boolean;
            /** @description The connection must send DPoP proofs. Default: false. */
            require_dpop?: boolean;
            concurrent_session_limit?: number | null;
            concurrent_session_action?: components["schemas"]["SessionAction"];
            /**
             * Format: int32
             * @description A session without requests for this long has expired, in seconds.
             */
            concurrent_session_ttl_seconds?: number;
            ip_allowlist?: string[] | null;
            environment?: string | null;
            dpop_jkt?: string | null;
            external_ca_pem?: string | null;
            /** @description SHA-256 thumbprints, as 64 lower-case hex digits, of certificates to refuse: of a client, or of a CA whose client certificates are all to be refused. */
            denied_thumbprints?: string[];
        };
        /** @description The request body of `updateEncryptionKey`. */
        UpdateEncryptionKeyInput: {
            /** @description The purpose of the key. */
            description?: string;
            /** @description While true, the key cannot be deleted. */
            delete_protection?: boolean;
        };
        /**
         * @description The request body of `updateEnvironment`.
         * @example {
         *       "name": "payments-eu"
         *     }
         */
        UpdateEnvironmentInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name?: string;
            /** @description The purpose of the composed environment. */
            description?: string;
            parent_id?: number | null;
            /** @description The same by number or name. If both fields are sent, they must refer to the same composed environment. */
            parent?: number | string | null;
        };
        /** @description The request body of `updateExporter`. */
        UpdateExporterInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name?: string;
            /**
             * @description Where entries are sent: a URL; for syslog tls://host:port, or tcp://host:port for a private host that the operator has allowed. elastic: the URL of the data stream or index. otlp: with or without /v1/logs.
             * @example https://siem.example.com/audit
             */
            endpoint?: string;
            format?: components["schemas"]["ExporterFormat"];
            filter?: components["schemas"]["AuditFilter"];
            credentials?: components["schemas"]["ExporterCredentials"];
            ca_pem?: string | null;
            /** @description Whether entries are sent. Those recorded meanwhile are sent later. */
            enabled?: boolean;
        };
        /** @description The request body of `updateFederation`. */
        UpdateFederationInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name?: string;
            provider?: components["schemas"]["FederationProvider"];
            /** @description The exact `iss` of the tokens. Default for github and gitlab: that of the provider. */
            issuer?: string;
            jwks_url?: string | null;
            audience?: string | null;
            /** @description Claims that the token must contain, with exactly these values. */
            claims?: {
                [key: string]: string | number | boolean;
            };
            /**
             * Format: int32
             * @description How long the issued token and certificate are valid, in seconds. Default: 900.
             */
            token_ttl_seconds?: number;
            /** @description Whether tokens are accepted. Default: true. */
            enabled?: boolean;
            /** @description The pattern that the whole `sub` must match, case-sensitively: `*` matches text without `:` and `/`, `**` any text. The part that names the owner must not contain a wildcard. */
            subject_pattern?: string;
        };
        /** @description The request body of `updateGroup`. */
        UpdateGroupInput: {
            /** @description The purpose of the group. */
            description: string;
        };
        /** @description The request body of `updateMe`. */
        UpdateMeInput: {
            /** @description Display name. */
            name: string;
        };
        /** @description The request body of `updatePolicy`. */
        UpdatePolicyInput: {
            /** @description Purpose of the policy. */
            description?: string;
            document: components["schemas"]["PolicyDocument"];
            /**
             * Format: int32
             * @description Fails unless this is still the current version.
             */
            expected_version?: number;
        };
        /**
         * @description The request body of `updateScimGroup`.
         * @example {
         *       "schemas": [
         *         "urn:ietf:params:scim:api:messages:2.0:PatchOp"
         *       ],
         *       "Operations": [
         *         {
         *           "op": "replace",
         *           "path": "active",
         *           "value": false
         *         }
         *       ]
         *     }
         */
        UpdateScimGroupInput: {
            /**
             * @description Contains urn:ietf:params:scim:api:messages:2.0:PatchOp.
             * @example [
             *       "urn:ietf:params:scim:api:messages:2.0:PatchOp"
             *     ]
             */
            schemas?: unknown;
            /** @description Carried out in order, all or none. */
            Operations: components["schemas"]["ScimOperation"][];
        } & {
            [key: string]: unknown;
        };
        /**
         * @description The request body of `updateScimUser`.
         * @example {
         *       "schemas": [
         *         "urn:ietf:params:scim:api:messages:2.0:PatchOp"
         *       ],
         *       "Operations": [
         *         {
         *           "op": "replace",
         *           "path": "active",
         *           "value": false
         *         }
         *       ]
         *     }
         */
        UpdateScimUserInput: {
            /**
             * @description Contains urn:ietf:params:scim:api:messages:2.0:PatchOp.
             * @example [
             *       "urn:ietf:params:scim:api:messages:2.0:PatchOp"
             *     ]
             */
            schemas?: unknown;
            /** @description Carried out in order, all or none. */
            Operations: components["schemas"]["ScimOperation"][];
        } & {
            [key: string]: unknown;
        };
        /** @description The request body of `updateSecret`. */
        UpdateSecretInput: {
            /** @description At most 1 MiB; may be empty if the type allows it. */
            value?: string;
            /** @description api_key, password, token, database, … */
            type?: string;
            protection?: components["schemas"]["Protection"];
            metadata?: components["schemas"]["SecretMetadataChange"];
            rotation?: components["schemas"]["RotationSettings"] | null;
            /** @description When the value ends; null removes the end. */
            expires_at?: string | null;
            /** @description Reason for the change, stored with the version. */
            reason?: string;
            /**
             * Format: int32
             * @description Fails unless this is still the newest version; `If-Match: "v3"` means the same.
             */
            expected_version?: number;
        };
        /**
         * @description The request body of `updateSsoProvider`.
         * @example {
         *       "role_mapping": {
         *         "Platform Admins": "admin"
         *       },
         *       "default_role": "member"
         *     }
         */
        UpdateSsoProviderInput: {
            /** @description The issuer; the rest is found by OpenID Connect discovery. */
            issuer?: string;
            /** @description The client id that the provider gave this service. */
            client_id?: string;
            /** @description The new client secret; null removes it. */
            client_secret?: string | null;
            /** @description Scopes to request; must contain openid. Default: openid, email, profile. */
            scopes?: string[];
            /** @description The claim that lists the groups of a person. Default: groups. */
            groups_claim?: string;
            /** @description Group of the provider → role. Of several the highest counts: admin, auditor, member. */
            role_mapping?: {
                [key: string]: components["schemas"]["SsoRole"];
            };
            /** @description Group of the provider → name of a group here. People join and leave these groups at each sign-in. */
            group_mapping?: {
                [key: string]: string;
            };
            /** @description The role of people whose groups give none; null refuses them, and is required for an issuer at which anybody can have an account, such as Google. Default: null. */
            default_role?: components["schemas"]["SsoRole"] | null;
            /** @description If true, only break-glass owners can log in with a password or a passkey; every owner while there is none. Default: false. */
            required?: boolean;
            /** @description Whether people can sign in with it. Default: true. */
            enabled?: boolean;
        };
        /** @description The request body of `updateTenant`. */
        UpdateTenantInput: {
            plan?: components["schemas"]["Plan"];
            rate_limits?: components["schemas"]["RateLimits"];
            status?: components["schemas"]["TenantStatus"];
        };
        /** @description The request body of `updateTenantSettings`. */
        UpdateTenantSettingsInput: {
            /** @description If true, users without a second factor can only enrol one. */
            require_mfa?: boolean;
            /** @description Replaces all of them; a type that is left out has its default again. */
            anomaly_thresholds?: components["schemas"]["AnomalyThresholds"];
            mail_notices?: components["schemas"]["MailNotices"];
        };
        /** @description The request body of `updateUser`. */
        UpdateUserInput: {
            /** @description Display name. */
            name?: string;
            role?: components["schemas"]["Role"];
            /**
             * @description A disabled user cannot log in; their sessions and tokens are revoked.
             * @enum {string}
             */
            status?: "active" | "disabled";
            /** @description A new password, at least 12 characters. */
            password?: string;
            /** @description For an active owner who is linked with no identity provider: can sign in without the identity provider that the tenant requires, and cannot be disabled, demoted or deleted. Each sign-in is reported to the owners and admins. */
            break_glass?: boolean;
        };
        /** @description The request body of `updateVault`. */
        UpdateVaultInput: {
            /** @description Purpose of the vault. */
            description?: string;
            /** @description Tags for filtering lists. */
            tags?: string[];
            /** @description Encryption settings. */
            encryption?: {
                /**
                 * Format: int32
                 * @description Interval between rotations of the vault’s key, in days.
                 */
                rotation_days: number;
            };
            audit?: components["schemas"]["VaultAuditChange"];
            change_control?: components["schemas"]["ChangeControl"];
            /** @description Cannot be changed, because paths and policies refer to it. */
            name?: unknown;
            /** @description Cannot be changed. */
            is_zero_knowledge?: unknown;
        };
        /** @description The request body of `updateWebhook`. */
        UpdateWebhookInput: {
            /**
             * @description Where events are sent: https, without a user, a password or a fragment. Redirects are not followed.
             * @example https://hooks.example.com/coffer
             */
            url?: string;
            /** @description The events to send. */
            events?: components["schemas"]["WebhookEventName"][];
            /** @description Anomalies below it are not sent. Default: low. */
            min_severity?: components["schemas"]["Severity"];
            format?: components["schemas"]["WebhookFormat"];
            /** @description PagerDuty’s integration key. Never shown again. */
            routing_key?: string;
            /** @description Whether events are sent. Those that happen meanwhile are not sent later. */
            enabled?: boolean;
        };
        /** @description The request body of `updateWorkloadMethod`. */
        UpdateWorkloadMethodInput: {
            /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
            name?: string;
            type?: components["schemas"]["WorkloadMethodType"];
            /**
             * Format: int64
             * @description The AppConnection that its tokens are bound to.
             */
            app_connection_id?: number;
            /** @description Fields by type. k8s_sa: issuer, ca_cert_pem, allowed_namespaces, allowed_sa_names, api_server_url?, token_reviewer_jwt?. aws_iam: allowed_arns, sts_endpoint?. gcp_iam: expected_audience, allowed_emails, issuer?. azure_msi: expected_audience, allowed_object_ids, tenant_id?, issuer?. oidc_generic: expected_issuer, expected_audience, allowed_subjects. spiffe: trust_domain, trust_bundle_pem, expected_audience, allowed_spiffe_ids. */
            config?: {
                [key: string]: unknown;
            };
        };
        /** @description A user of the tenant. */
        User: {
            /** @description An id that starts with user_. */
            id: string;
            /** @description The address they log in with. */
            email: string;
            /** @description Display name. */
            name: string;
            role: components["schemas"]["Role"];
            status: components["schemas"]["UserStatus"];
            /** @description If false, the user cannot log in with a password. */
            has_password: boolean;
            /** @description Whether this owner can sign in without the identity provider that the tenant requires. */
            break_glass: boolean;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /** @description When their newest request was that the audit log lists, to about a minute; null if there was none lately. */
            last_seen_at: string | null;
            /** @description What they show besides a password, oldest first; empty if nothing does. Recovery codes are not in it. */
            second_factors: components["schemas"]["SecondFactorOfUser"][];
        };
        /**
         * @description invited: has not accepted the invitation yet. disabled: cannot log in; sessions and tokens are revoked.
         * @enum {string}
         */
        UserStatus: "invited" | "active" | "disabled";
        /**
         * @description The request body of `validationTasks`.
         * @example {
         *       "vault_id": "payments",
         *       "policy": {
         *         "version": "2026-01-01",
         *         "statement": [
         *           {
         *             "sid": "team",
         *             "effect": "allow",
         *             "action": [
         *               "secrets:read"
         *             ],
         *             "resource": [
         *               "vault/payments/*"
         *             ]
         *           }
         *         ]
         *       }
         *     }
         */
        ValidationTasksInput: {
            /** @description A vault, by its id or name. */
            vault_id: string;
            /** @description The name of a policy, or a document. */
            policy: string | components["schemas"]["PolicyDocument"];
        };
        /** @description The response of `validationTasks`. */
        ValidationTasksOutput: {
            /** @description What to check, the most far-reaching rights first. */
            tasks: components["schemas"]["SuggestedTask"][];
            /** @description What the policy does in this vault, in words. */
            summary: string;
            /** @description Whether the model wrote the text. If it could not be reached, the text is a plain one of the service; everything else is the same. */
            phrased: boolean;
            redactions: components["schemas"]["Redactions"];
        };
        /** @description A vault: it holds secrets of one environment. */
        Vault: {
            /** @description An id that starts with vault_. */
            id: string;
            /** @description Its name, which cannot be changed. */
            name: string;
            /** @description Purpose of the vault. */
            description: string;
            environment: components["schemas"]["Stage"];
            /** @description Its tags. */
            tags: string[];
            status: components["schemas"]["VaultStatus"];
            /**
             * Format: int64
             * @description Number of its secrets.
             */
            secrets_count: number;
            /** @description Whether clients encrypt the values, so that the service never sees the plaintext. */
            is_zero_knowledge: boolean;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            deleted_at: string | null;
            purge_at: string | null;
            encryption: components["schemas"]["VaultEncryption"];
            audit: components["schemas"]["VaultAudit"];
            change_control: components["schemas"]["ChangeControl"];
            approval_id: string | null;
            /** @description Ids of its secrets that you may list, except those in `fortress_secret_ids`. */
            secret_ids: string[];
            /** @description Ids of its fortress secrets that you may list. */
            fortress_secret_ids: string[];
            /** @description True if there are more than 1000 of either kind. */
            secret_ids_truncated: boolean;
        };
        /** @description Audit settings of a vault. */
        VaultAudit: {
            /** @description If false, successful reads of ordinary secrets are not logged individually, but counted per reader in one entry each minute. Denied requests, changes and fortress secrets are always logged. */
            log_reads: boolean;
            retention_days: number | null;
        };
        /** @description Audit settings to change; omitted fields keep their value or default. */
        VaultAuditChange: {
            /** @description If false, successful reads of ordinary secrets are not logged individually, but counted per reader in one entry each minute. Denied requests, changes and fortress secrets are always logged. */
            log_reads?: boolean;
            retention_days?: number | null;
        };
        /** @description A vault with your role in it and the policies that apply to it. */
        VaultDetail: {
            /** @description An id that starts with vault_. */
            id: string;
            /** @description Its name, which cannot be changed. */
            name: string;
            /** @description Purpose of the vault. */
            description: string;
            environment: components["schemas"]["Stage"];
            /** @description Its tags. */
            tags: string[];
            status: components["schemas"]["VaultStatus"];
            /**
             * Format: int64
             * @description Number of its secrets.
             */
            secrets_count: number;
            /** @description Whether clients encrypt the values, so that the service never sees the plaintext. */
            is_zero_knowledge: boolean;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            deleted_at: string | null;
            purge_at: string | null;
            encryption: components["schemas"]["VaultEncryption"];
            audit: components["schemas"]["VaultAudit"];
            change_control: components["schemas"]["ChangeControl"];
            approval_id: string | null;
            /** @description Ids of its secrets that you may list, except those in `fortress_secret_ids`. */
            secret_ids: string[];
            /** @description Ids of its fortress secrets that you may list. */
            fortress_secret_ids: string[];
            /** @description True if there are more than 1000 of either kind. */
            secret_ids_truncated: boolean;
            /** @description Your role as a member, or that of a group you are in if it is higher; null if you are no member. Your role in the tenant and policies may allow more or less. */
            your_role: components["schemas"]["VaultRole"] | null;
            /** @description Attached policies that apply to the vault or its secrets. */
            policies: components["schemas"]["VaultPolicy"][];
        };
        /** @description Encryption settings of a vault. */
        VaultEncryption: {
            /**
             * @description Encryption algorithm of the values.
             * @enum {string}
             */
            algorithm: "AES-256-GCM";
            key_source: components["schemas"]["KeySource"];
            /**
             * Format: int64
             * @description Interval between rotations of the vault's key, in days; values under older key versions can still be read.
             */
            rotation_days: number;
        };
        /** @description A vault, and the role that a new user gets in it. */
        VaultGrant: {
            /** @description Name of the vault. */
            vault: string;
            role: components["schemas"]["VaultRole"];
        };
        /** @description A user or group that is a member of a vault. */
        VaultMember: {
            /** @description Id of the user or group. */
            id: string;
            kind: components["schemas"]["MemberKind"];
            role: components["schemas"]["VaultRole"];
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            added_at: string;
            reviewed_at: string | null;
            reviewed_by: string | null;
        };
        /** @description A vault that a user is a member of. */
        VaultOfUser: {
            /** @description Its name. */
            vault: string;
            environment: components["schemas"]["Stage"];
            role: components["schemas"]["VaultRole"];
            /** @description The group that is the member, by name, or by id if you may not read it; null if it is the user themselves. */
            group: string | null;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            added_at: string;
        };
        /** @description A policy that applies to a vault. */
        VaultPolicy: {
            /** @description Its name. */
            name: string;
        };
        /**
         * @description reader: lists and reads secrets. writer: also changes secrets. manager: also changes the vault and its members.
         * @enum {string}
         */
        VaultRole: "reader" | "writer" | "manager";
        /**
         * @description A deleted vault can be restored until it is purged.
         * @enum {string}
         */
        VaultStatus: "active" | "pending_deletion" | "deleted";
        /** @description A vault in a list. */
        VaultSummary: {
            /** @description An id that starts with vault_. */
            id: string;
            /** @description Its name, which cannot be changed. */
            name: string;
            /** @description Purpose of the vault. */
            description: string;
            environment: components["schemas"]["Stage"];
            /** @description Its tags. */
            tags: string[];
            status: components["schemas"]["VaultStatus"];
            /**
             * Format: int64
             * @description Number of its secrets.
             */
            secrets_count: number;
            /** @description Whether clients encrypt the values, so that the service never sees the plaintext. */
            is_zero_knowledge: boolean;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            deleted_at: string | null;
            purge_at: string | null;
            /** @description Your role as a member, or that of a group you are in if it is higher; null if you are no member. Your role in the tenant and policies may allow more or less. */
            your_role: components["schemas"]["VaultRole"] | null;
        };
        /**
         * @description The request body of `verifyAttestation`.
         * @example {
         *       "format": "amd-sev-snp-report",
         *       "document": "AgAAAAAAAAAAAAMAAAAAAAAAAAAA"
         *     }
         */
        VerifyAttestationInput: {
            /** @description The format of the document. Default: aws-nitro-cose-sign1. */
            format?: components["schemas"]["AttestationFormat"];
            /** @description The document. Base64 with padding, at most 32768 bytes. */
            document: string;
            /** @description Must be in the document: a nonce of your own, or one from `POST /attestation/nonce`, which is used up by this request. Base64 with padding, at most 512 bytes. */
            nonce?: string;
            expected?: components["schemas"]["ExpectedEvidence"];
        };
        /** @description The response of `verifyAttestation`. */
        VerifyAttestationOutput: {
            format: components["schemas"]["AttestationFormat"];
            /** @description The manufacturer signed it, with certificates that are valid now. Always false for SGX and SEV-SNP. */
            signature_validated: boolean;
            /** @description The signature is valid and no warning prevents verification. */
            verified: boolean;
            /** @description The manufacturer signed it, with certificates that have expired since: the evidence is old, not forged. It is still not verified. */
            expired: boolean;
            /** @description The manufacturer signed it, with certificates that were valid at the time stated in the document. Always false for SGX and SEV-SNP. */
            signature_valid_at_document_time: boolean;
            /** @description Digests of the running code, in hexadecimal. */
            measurements: {
                [key: string]: string;
            };
            /** @description All other contents of the document. */
            claims: {
                [key: string]: unknown;
            };
            /** @description Each is a stable code, a colon, and an explanation. Those that prevent verification come first. */
            warnings: string[];
        };
        /** @description The response of `verifyAudit`. */
        VerifyAuditOutput: {
            /** @description No problem was found in the log or the rows. */
            valid: boolean;
            /**
             * Format: int64
             * @description The number of entries in the chain, including purged and archived ones.
             */
            entries: number;
            /**
             * Format: int64
             * @description The number of entries that were deleted because the retention of their vault ended; an entry `audit:purge` records each deletion.
             */
            purged: number;
            /**
             * Format: int64
             * @description The number of entries that were moved to the archive. Of these the record of each range is checked, and what stays of it in the database.
             */
            archived: number;
            first_broken: {
                /**
                 * Format: int64
                 * @description The number of the entry.
                 */
                seq: number;
                /** @description What is wrong with the entry. */
                reason: string;
            } | null;
            /**
             * Format: int64
             * @description The number of checkpoints that match the log, each with two valid signatures.
             */
            checkpoints: number;
            /**
             * Format: int64
             * @description The last entry that a checkpoint covers; 0 if there is none.
             */
            signed_seq: number;
            /** @description The result of checking the rows that decide access. */
            rows: {
                /**
                 * Format: int64
                 * @description The number of rows checked: those that decide access or define a secret, each against its MAC and its latest record in the log.
                 */
                checked: number;
                /**
                 * Format: int64
                 * @description The number of rows with a problem.
                 */
                problems_count: number;
                /** @description The first hundred problems. */
                problems: components["schemas"]["RowProblem"][];
            };
        };
        /** @description The request body of `verifySignup`. */
        VerifySignupInput: {
            /**
             * @description The token in the mail.
             * @example cv_verify_7Qm2xV9kLr4Tn8
             */
            token: string;
            /** @description The password of the sign-up; with `replace_password` the one that replaces it. */
            password: string;
            /** @description Sets `password` as the password of the owner, for somebody who forgot the one of the sign-up, or for whom somebody else signed up. */
            replace_password?: boolean;
        };
        /** @description The response of `verifySignup`. */
        VerifySignupOutput: {
            /** @description An id that starts with tenant_. */
            tenant_id: string;
            /** @description The name of the tenant, for `POST /auth/login`. */
            tenant: string;
            /**
             * @description The tenant exists.
             * @enum {string}
             */
            status: "active";
        };
        /** @description The user or machine that created a version. */
        VersionAuthor: {
            /** @description A user or a machine. */
            kind: string;
            /** @description The id. */
            id: string;
            /** @description The name. */
            name: string;
        };
        /** @description A subscription to events. */
        Webhook: {
            /** @description An id that starts with webhook_. */
            id: string;
            /** @description Where events are sent. Of the formats slack, teams and pagerduty it is a secret, of which the origin and the last four characters are shown: `https://hooks.slack.com/…wxyz`. */
            url: string;
            /** @description The events that are sent. */
            events: components["schemas"]["WebhookEventName"][];
            min_severity: components["schemas"]["Severity"];
            format: components["schemas"]["WebhookFormat"];
            /** @description Whether events are sent. Those that happen meanwhile are not sent later. */
            enabled: boolean;
            disabled_reason: string | null;
            /** @description The id of the creator. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
        };
        /** @description One event on its way to one webhook. */
        WebhookDelivery: {
            /** @description An id that starts with delivery_. */
            id: string;
            /** @description The name of the event. */
            event: string;
            /**
             * @description pending: it waits for its next attempt.
             * @enum {string}
             */
            status: "pending" | "delivered" | "failed";
            /**
             * Format: int64
             * @description How often it was sent.
             */
            attempts: number;
            response_status: number | null;
            duration_ms: number | null;
            error: string | null;
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            ended_at: string | null;
        };
        /**
         * @description The name of an event. `anomaly.detected`: A detector found something unusual. `secret.rotated`: A secret was rotated. `rotation.failed`: A rotation failed or its outcome is unknown. `secret.expiring`: A secret expires soon: 30, 7 or 1 days before its end. `approval.requested`: A change waits for approval. `approval.decided`: A change was approved or rejected. `break_glass.used`: An operator or an owner acted without the approval that others need, or a break-glass owner signed in. `certificate.expiring`: A certificate expires soon. `exporter.failing`: An exporter of the audit log fails again and again. `endpoint.drift`: A host differs from what was recorded of it.
         * @enum {string}
         */
        WebhookEventName: "anomaly.detected" | "secret.rotated" | "rotation.failed" | "secret.expiring" | "approval.requested" | "approval.decided" | "break_glass.used" | "certificate.expiring" | "exporter.failing" | "endpoint.drift";
        /**
         * @description standard: the event as JSON, signed as Standard Webhooks has it. slack, teams and pagerduty: a message for these services.
         * @enum {string}
         */
        WebhookFormat: "standard" | "slack" | "teams" | "pagerduty";
        /** @description A subscription with its signing secret, which is shown once. */
        WebhookWithSecret: {
            /** @description An id that starts with webhook_. */
            id: string;
            /** @description Where events are sent. Of the formats slack, teams and pagerduty it is a secret, of which the origin and the last four characters are shown: `https://hooks.slack.com/…wxyz`. */
            url: string;
            /** @description The events that are sent. */
            events: components["schemas"]["WebhookEventName"][];
            min_severity: components["schemas"]["Severity"];
            format: components["schemas"]["WebhookFormat"];
            /** @description Whether events are sent. Those that happen meanwhile are not sent later. */
            enabled: boolean;
            disabled_reason: string | null;
            /** @description The id of the creator. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
            /** @description Verifies signatures. Store it: it is not shown again. */
            secret: string;
        };
        /**
         * @description The request body of `whoCan`.
         * @example {
         *       "action": "secrets:read",
         *       "resource": "vault/payments/database/password"
         *     }
         */
        WhoCanInput: {
            /** @description For example secrets:read. */
            action: string;
            /** @description For example vault/payments/db/password. */
            resource: string;
        };
        /** @description The response of `whoCan`. */
        WhoCanOutput: {
            /** @description Users first, then connections, by name. */
            principals: components["schemas"]["AllowedPrincipal"][];
            /** @description Whether there are more than are listed. */
            truncated: boolean;
            /**
             * Format: int64
             * @description How many more there are that you may not read.
             */
            hidden: number;
        };
        /** @description A Kubernetes Secret that is not delivered. Leave the copy in the cluster as it is. */
        WithheldSecret: {
            /** @description An id that starts with cpolicy_. */
            policy_id: string;
            /**
             * @description A namespace of the cluster.
             * @example shop
             */
            namespace: string;
            /**
             * @description The name of the Kubernetes Secret.
             * @example database
             */
            name: string;
            /**
             * @description author_inactive: The author was disabled or deleted. access_lost: The author may no longer read all of the secrets. vault_missing: The vault was deleted. environment_missing: The composed environment was deleted. secret_missing: A secret was deleted or moved. fortress: A secret has become a fortress secret. zero_knowledge: A secret is in a zero-knowledge vault. key_conflict: Two secrets would have the same key, or a key would be too long. template_unresolved: A template refers to a secret in a way that cannot be resolved. empty: There is no secret. too_large: The values are larger than a Kubernetes Secret may be, or the whole answer would be too large.
             * @enum {string}
             */
            reason: "author_inactive" | "access_lost" | "vault_missing" | "environment_missing" | "secret_missing" | "fortress" | "zero_knowledge" | "key_conflict" | "template_unresolved" | "empty" | "too_large";
        };
        /**
         * @description The request body of `workloadLogin`.
         * @example {
         *       "method_id": 1,
         *       "jwt_svid": "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"
         *     }
         */
        WorkloadLoginInput: {
            /**
             * Format: int64
             * @description The method.
             */
            method_id: number;
            /** @description k8s_sa: the projected service-account token. */
            k8s_token?: string;
            /** @description aws_iam: a pre-signed GetCallerIdentity URL. */
            aws_signed_url?: string;
            /** @description aws_iam: the headers signed with it, including `X-Coffer-Audience`. */
            aws_signed_headers?: {
                [key: string]: string;
            };
            /** @description gcp_iam: the identity token. */
            gcp_jwt?: string;
            /** @description azure_msi: the access token of the identity endpoint. */
            azure_jwt?: string;
            /** @description oidc_generic: the token. */
            oidc_token?: string;
            /** @description spiffe: the JWT-SVID. */
            jwt_svid?: string;
        };
        /** @description The response of `workloadLogin`. */
        WorkloadLoginOutput: {
            /** @description Send it as a bearer token. */
            cv_jwt: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            expires_at: string;
        };
        /** @description A login method, with which workloads of a cluster, cloud or issuer log in as an AppConnection. */
        WorkloadMethod: {
            /**
             * Format: int64
             * @description Number of the method.
             */
            id: number;
            /** @description Its name. */
            name: string;
            type: components["schemas"]["WorkloadMethodType"];
            /**
             * Format: int64
             * @description The AppConnection that its tokens are bound to.
             */
            app_connection_id: number;
            /** @description The config, without its secret members. */
            config: Record<string, never>;
            /** @description Names of the secret members of the config that are set. */
            secrets_set: string[];
            /** @description Warnings about this config; empty if there are none. */
            warnings: string[];
            /** @description The user or machine that created it. */
            created_by: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601 in UTC, with milliseconds.
             */
            updated_at: string;
        };
        /**
         * @description The kind of identity it accepts.
         * @enum {string}
         */
        WorkloadMethodType: "k8s_sa" | "aws_iam" | "gcp_iam" | "azure_msi" | "oidc_generic" | "spiffe";
        /** @description The request body of `wrapKey`. */
        WrapKeyInput: {
            algorithm: components["schemas"]["KemAlgorithm"];
            /**
             * @description The key to wrap: 32 bytes in base64.
             * @example MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=
             */
            key: string;
            /** @description A public key in base64, used instead of the tenant's own key. */
            public_key?: string;
        };
        /** @description The response of `wrapKey`. */
        WrapKeyOutput: {
            algorithm: components["schemas"]["KemAlgorithm"];
            /** @description The id of the wrapping key; required to unwrap. */
            key_id: string;
            /** @description In base64. */
            wrapped: string;
        };
    };
    responses: never;
    parameters: {
        /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
        IdempotencyKey: string;
        /** @description Executes the change only if this is still the newest version, written as `"v3"`; otherwise the response is VERSION_CONFLICT. */
        IfMatch: string;
        /** @description Executes the change only if this is still the ETag (`meta.version`); otherwise the response is 412. */
        IfMatchETag: string;
        /** @description The ETag of the response that you have; if it is still current, the response is 304 without a body. */
        IfNoneMatch: string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export interface operations {
    listSsoProviders: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListSsoProvidersOutput"];
                };
            };
        };
    };
    createSsoProvider: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateSsoProviderInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["SsoProvider"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    readSsoProvider: {
        parameters: {
            path: {
                /** @description The name of a provider. */
                name: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["SsoProvider"];
                };
            };
        };
    };
    deleteSsoProvider: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The name of a provider. */
                name: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    updateSsoProvider: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The name of a provider. */
                name: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateSsoProviderInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["SsoProvider"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    readSsoSignIn: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the tenant of the operator. */
                tenant?: string;
            };
            path: {
                /** @description The name of a provider. */
                provider: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/html": string;
                };
            };
        };
    };
    beginSsoSignIn: {
        parameters: {
            path: {
                /** @description The name of a provider. */
                provider: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeginSsoSignInInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/html": string;
                };
            };
        };
    };
    beginBrowserSignIn: {
        parameters: {
            path: {
                /** @description The name of a provider. */
                provider: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["BeginBrowserSignInInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["BeginBrowserSignInOutput"];
                };
            };
        };
    };
    finishBrowserSignIn: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["FinishBrowserSignInInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["FinishBrowserSignInOutput"];
                };
            };
        };
    };
    readSsoCallback: {
        parameters: {
            query?: {
                /** @description From the provider. */
                code?: string;
                /** @description From the provider, as it was sent there. */
                state?: string;
                /** @description The issuer (RFC 9207). */
                iss?: string;
                /** @description Why the provider refused. */
                error?: string;
            };
            path: {
                /** @description The id of a tenant. */
                tenant_id: string;
                /** @description The name of a provider. */
                provider: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/html": string;
                };
            };
        };
    };
    finishSsoSignIn: {
        parameters: {
            path: {
                /** @description The id of a tenant. */
                tenant_id: string;
                /** @description The name of a provider. */
                provider: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["FinishSsoSignInInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/html": string;
                };
            };
        };
    };
    readSsoSignOut: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadSsoSignOutOutput"];
                };
            };
        };
    };
    backchannelLogout: {
        parameters: {
            query?: {
                /** @description The tenant. Default: the tenant of the operator. */
                tenant?: string;
            };
            path: {
                /** @description The name of a provider. */
                provider: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["BackchannelLogoutInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["BackchannelLogoutOutput"];
                };
            };
        };
    };
    startDeviceLogin: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartDeviceLoginInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["StartDeviceLoginOutput"];
                };
            };
        };
    };
    pollDeviceLogin: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PollDeviceLoginInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["PollDeviceLoginOutput"];
                };
            };
        };
    };
    approveDeviceLogin: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApproveDeviceLoginInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ApproveDeviceLoginOutput"];
                };
            };
        };
    };
    listSsoLinks: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListSsoLinksOutput"];
                };
            };
        };
    };
    beginSsoLink: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeginSsoLinkInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["BeginSsoLinkOutput"];
                };
            };
        };
    };
    confirmSsoLink: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfirmSsoLinkInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["SignOnLink"];
                };
            };
        };
    };
    deleteSsoLink: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The name of a provider. */
                provider: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    listScimTokens: {
        parameters: {
            path: {
                /** @description The name of a sign-on provider. */
                name: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListScimTokensOutput"];
                };
            };
        };
    };
    createScimToken: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The name of a sign-on provider. */
                name: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CreateScimTokenInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["ScimTokenWithText"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    rotateScimToken: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The name of a sign-on provider. */
                name: string;
                /** @description The id of a SCIM token. */
                token_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateScimTokenInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ScimTokenWithText"];
                };
            };
        };
    };
    revokeScimToken: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The name of a sign-on provider. */
                name: string;
                /** @description The id of a SCIM token. */
                token_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    listScimUsers: {
        parameters: {
            query?: {
                /** @description Attributes to return besides id and schemas, separated by commas. */
                attributes?: string;
                /** @description Attributes to leave out, separated by commas, such as members. */
                excludedAttributes?: string;
                /** @description Attributes compared by eq, ne, co, sw, ew and pr, joined by and, or, not and parentheses. */
                filter?: string;
                /** @description The index of the first, from 1; less counts as 1. */
                startIndex?: number;
                /** @description The number of resources, at most 200; 0 or less gives the total alone. Default: 100. */
                count?: number;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ListScimUsersOutput"];
                    "application/json": components["schemas"]["ListScimUsersOutput"];
                };
            };
        };
    };
    createScimUser: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/scim+json": components["schemas"]["CreateScimUserInput"];
                "application/json": components["schemas"]["CreateScimUserInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/scim+json": components["schemas"]["ScimUser"];
                    "application/json": components["schemas"]["ScimUser"];
                };
            };
        };
    };
    searchScim: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/scim+json": components["schemas"]["SearchScimInput"];
                "application/json": components["schemas"]["SearchScimInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["SearchScimOutput"];
                    "application/json": components["schemas"]["SearchScimOutput"];
                };
            };
        };
    };
    searchScimUsers: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/scim+json": components["schemas"]["SearchScimUsersInput"];
                "application/json": components["schemas"]["SearchScimUsersInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["SearchScimUsersOutput"];
                    "application/json": components["schemas"]["SearchScimUsersOutput"];
                };
            };
        };
    };
    searchScimGroups: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/scim+json": components["schemas"]["SearchScimGroupsInput"];
                "application/json": components["schemas"]["SearchScimGroupsInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["SearchScimGroupsOutput"];
                    "application/json": components["schemas"]["SearchScimGroupsOutput"];
                };
            };
        };
    };
    readScimUser: {
        parameters: {
            query?: {
                /** @description Attributes to return besides id and schemas, separated by commas. */
                attributes?: string;
                /** @description Attributes to leave out, separated by commas, such as members. */
                excludedAttributes?: string;
            };
            header?: {
                /** @description The ETag of the response that you have; if it is still current, the response is 304 without a body. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The id of a user. */
                user_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ScimUser"];
                    "application/json": components["schemas"]["ScimUser"];
                };
            };
        };
    };
    replaceScimUser: {
        parameters: {
            header?: {
                /** @description Executes the change only if this is still the ETag (`meta.version`); otherwise the response is 412. */
                "If-Match"?: components["parameters"]["IfMatchETag"];
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a user. */
                user_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/scim+json": components["schemas"]["ReplaceScimUserInput"];
                "application/json": components["schemas"]["ReplaceScimUserInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ScimUser"];
                    "application/json": components["schemas"]["ScimUser"];
                };
            };
        };
    };
    deleteScimUser: {
        parameters: {
            header?: {
                /** @description Executes the change only if this is still the ETag (`meta.version`); otherwise the response is 412. */
                "If-Match"?: components["parameters"]["IfMatchETag"];
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a user. */
                user_id: string;
            };
        };
        responses: {
            /** @description Done; no content. */
            204: {
                content?: never;
            };
        };
    };
    updateScimUser: {
        parameters: {
            header?: {
                /** @description Executes the change only if this is still the ETag (`meta.version`); otherwise the response is 412. */
                "If-Match"?: components["parameters"]["IfMatchETag"];
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a user. */
                user_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/scim+json": components["schemas"]["UpdateScimUserInput"];
                "application/json": components["schemas"]["UpdateScimUserInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ScimUser"];
                    "application/json": components["schemas"]["ScimUser"];
                };
            };
        };
    };
    listScimGroups: {
        parameters: {
            query?: {
                /** @description Attributes to return besides id and schemas, separated by commas. */
                attributes?: string;
                /** @description Attributes to leave out, separated by commas, such as members. */
                excludedAttributes?: string;
                /** @description Attributes compared by eq, ne, co, sw, ew and pr, joined by and, or, not and parentheses. */
                filter?: string;
                /** @description The index of the first, from 1; less counts as 1. */
                startIndex?: number;
                /** @description The number of resources, at most 200; 0 or less gives the total alone. Default: 100. */
                count?: number;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ListScimGroupsOutput"];
                    "application/json": components["schemas"]["ListScimGroupsOutput"];
                };
            };
        };
    };
    createScimGroup: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 2097152 bytes. */
        requestBody?: {
            content: {
                "application/scim+json": components["schemas"]["CreateScimGroupInput"];
                "application/json": components["schemas"]["CreateScimGroupInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/scim+json": components["schemas"]["ScimGroup"];
                    "application/json": components["schemas"]["ScimGroup"];
                };
            };
        };
    };
    readScimGroup: {
        parameters: {
            query?: {
                /** @description Attributes to return besides id and schemas, separated by commas. */
                attributes?: string;
                /** @description Attributes to leave out, separated by commas, such as members. */
                excludedAttributes?: string;
            };
            header?: {
                /** @description The ETag of the response that you have; if it is still current, the response is 304 without a body. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The id of a group. */
                group_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ScimGroup"];
                    "application/json": components["schemas"]["ScimGroup"];
                };
            };
        };
    };
    replaceScimGroup: {
        parameters: {
            header?: {
                /** @description Executes the change only if this is still the ETag (`meta.version`); otherwise the response is 412. */
                "If-Match"?: components["parameters"]["IfMatchETag"];
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a group. */
                group_id: string;
            };
        };
        /** @description At most 2097152 bytes. */
        requestBody?: {
            content: {
                "application/scim+json": components["schemas"]["ReplaceScimGroupInput"];
                "application/json": components["schemas"]["ReplaceScimGroupInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ScimGroup"];
                    "application/json": components["schemas"]["ScimGroup"];
                };
            };
        };
    };
    deleteScimGroup: {
        parameters: {
            header?: {
                /** @description Executes the change only if this is still the ETag (`meta.version`); otherwise the response is 412. */
                "If-Match"?: components["parameters"]["IfMatchETag"];
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a group. */
                group_id: string;
            };
        };
        responses: {
            /** @description Done; no content. */
            204: {
                content?: never;
            };
        };
    };
    updateScimGroup: {
        parameters: {
            header?: {
                /** @description Executes the change only if this is still the ETag (`meta.version`); otherwise the response is 412. */
                "If-Match"?: components["parameters"]["IfMatchETag"];
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a group. */
                group_id: string;
            };
        };
        /** @description At most 2097152 bytes. */
        requestBody: {
            content: {
                "application/scim+json": components["schemas"]["UpdateScimGroupInput"];
                "application/json": components["schemas"]["UpdateScimGroupInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ScimGroup"];
                    "application/json": components["schemas"]["ScimGroup"];
                };
            };
        };
    };
    readScimServiceProviderConfig: {
        parameters: {
            query?: {
                /** @description Attributes to return besides id and schemas, separated by commas. */
                attributes?: string;
                /** @description Attributes to leave out, separated by commas, such as members. */
                excludedAttributes?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ScimDocument"];
                    "application/json": components["schemas"]["ScimDocument"];
                };
            };
        };
    };
    listScimResourceTypes: {
        parameters: {
            query?: {
                /** @description Attributes to return besides id and schemas, separated by commas. */
                attributes?: string;
                /** @description Attributes to leave out, separated by commas, such as members. */
                excludedAttributes?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ScimDocument"];
                    "application/json": components["schemas"]["ScimDocument"];
                };
            };
        };
    };
    readScimResourceType: {
        parameters: {
            query?: {
                /** @description Attributes to return besides id and schemas, separated by commas. */
                attributes?: string;
                /** @description Attributes to leave out, separated by commas, such as members. */
                excludedAttributes?: string;
            };
            path: {
                /** @description The id of the document. */
                id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ScimDocument"];
                    "application/json": components["schemas"]["ScimDocument"];
                };
            };
        };
    };
    listScimSchemas: {
        parameters: {
            query?: {
                /** @description Attributes to return besides id and schemas, separated by commas. */
                attributes?: string;
                /** @description Attributes to leave out, separated by commas, such as members. */
                excludedAttributes?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ScimDocument"];
                    "application/json": components["schemas"]["ScimDocument"];
                };
            };
        };
    };
    readScimSchema: {
        parameters: {
            query?: {
                /** @description Attributes to return besides id and schemas, separated by commas. */
                attributes?: string;
                /** @description Attributes to leave out, separated by commas, such as members. */
                excludedAttributes?: string;
            };
            path: {
                /** @description The id of the document. */
                id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/scim+json": components["schemas"]["ScimDocument"];
                    "application/json": components["schemas"]["ScimDocument"];
                };
            };
        };
    };
    login: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["LoginOutput"];
                };
            };
        };
    };
    passkeyLoginOptions: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["PasskeyLoginOptionsOutput"];
                };
            };
        };
    };
    passkeyLogin: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasskeyLoginInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["PasskeyLoginOutput"];
                };
            };
        };
    };
    stepUpOptions: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["StepUpOptionsOutput"];
                };
            };
        };
    };
    stepUp: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["StepUpInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ContinuedSession"];
                };
            };
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListSessionsOutput"];
                };
            };
        };
    };
    endSessions: {
        parameters: {
            query?: {
                /** @description If true, the personal access tokens go on that were created with these sessions. Default: false. */
                keep_tokens?: boolean;
            };
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["EndSessionsOutput"];
                };
            };
        };
    };
    endSession: {
        parameters: {
            query?: {
                /** @description If true, the personal access tokens go on that were created with these sessions. Default: false. */
                keep_tokens?: boolean;
            };
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a session, `token_…`. */
                session_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readInvite: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReadInviteInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadInviteOutput"];
                };
            };
        };
    };
    acceptInvite: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcceptInviteInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["AcceptInviteOutput"];
                };
            };
        };
    };
    logout: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        responses: {
            /** @description Done; no content. */
            204: {
                content?: never;
            };
        };
    };
    readMe: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadMeOutput"];
                };
            };
        };
    };
    updateMe: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateMeInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    readCapabilities: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReadCapabilitiesInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadCapabilitiesOutput"];
                };
            };
        };
    };
    changePassword: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangePasswordInput"];
            };
        };
        responses: {
            /** @description Done; no content. */
            204: {
                content?: never;
            };
        };
    };
    listTokens: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
                /** @description The user whose tokens are listed; default: you. */
                user_id?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListTokensOutput"];
                };
            };
        };
    };
    createToken: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateTokenInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["CreateTokenOutput"];
                };
            };
        };
    };
    readToken: {
        parameters: {
            path: {
                /** @description The id of a token, `token_…`. */
                token_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Token"];
                };
            };
        };
    };
    revokeToken: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a token, `token_…`. */
                token_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readJwks: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadJwksOutput"];
                };
            };
        };
    };
    readMfa: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadMfaOutput"];
                };
            };
        };
    };
    enrolTotp: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["EnrolTotpOutput"];
                };
            };
        };
    };
    disableTotp: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            /** @description Not done: approval of the kind `mfa_disable` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    confirmTotp: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfirmTotpInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ConfirmTotpOutput"];
                };
            };
        };
    };
    resetMfa: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a user, `user_…`. */
                user_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            /** @description Not done: approval of the kind `mfa_disable` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    trustMfa: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a user, `user_…`. */
                user_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["TrustMfaOutput"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    askMfaTrust: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["AskMfaTrustOutput"];
                };
            };
            /** @description Not done: approval of the kind `mfa_trust` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    passkeyEnrolmentOptions: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["PasskeyEnrolmentOptionsOutput"];
                };
            };
        };
    };
    listPasskeys: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListPasskeysOutput"];
                };
            };
        };
    };
    enrolPasskey: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["EnrolPasskeyInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["EnrolPasskeyOutput"];
                };
            };
        };
    };
    deletePasskey: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a passkey, `passkey_…`. */
                passkey_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            /** @description Not done: approval of the kind `mfa_disable` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    renamePasskey: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a passkey, `passkey_…`. */
                passkey_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["RenamePasskeyInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Passkey"];
                };
            };
        };
    };
    readRecoveryCodes: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadRecoveryCodesOutput"];
                };
            };
        };
    };
    makeRecoveryCodes: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["MakeRecoveryCodesOutput"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListUsersOutput"];
                };
            };
        };
    };
    createUser: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateUserInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["CreateUserOutput"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    inviteUser: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a user, `user_…`. */
                user_id: string;
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["Invitation"];
                };
            };
        };
    };
    readUser: {
        parameters: {
            path: {
                /** @description The id of a user, `user_…`. */
                user_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    deleteUser: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a user, `user_…`. */
                user_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    updateUser: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a user, `user_…`. */
                user_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateUserInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    listGroups: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListGroupsOutput"];
                };
            };
        };
    };
    createGroup: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateGroupInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
        };
    };
    readGroup: {
        parameters: {
            path: {
                /** @description The id or the name. */
                group_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
        };
    };
    deleteGroup: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id or the name. */
                group_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    updateGroup: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id or the name. */
                group_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateGroupInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
        };
    };
    listGroupMembers: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description The id or the name. */
                group_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListGroupMembersOutput"];
                };
            };
        };
    };
    addGroupMember: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id or the name. */
                group_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddGroupMemberInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["GroupMember"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    removeGroupMember: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id or the name. */
                group_id: string;
                /** @description A user, by id or e-mail address. */
                user_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    listPolicies: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListPoliciesOutput"];
                };
            };
        };
    };
    createPolicy: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreatePolicyInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
        };
    };
    readPolicy: {
        parameters: {
            path: {
                /** @description A policy, by its name or its id. */
                name: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["PolicyDetail"];
                };
            };
        };
    };
    updatePolicy: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description A policy, by its name or its id. */
                name: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdatePolicyInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    deletePolicy: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description A policy, by its name or its id. */
                name: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    listPolicyVersions: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description A policy, by its name or its id. */
                name: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListPolicyVersionsOutput"];
                };
            };
        };
    };
    attachPolicy: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description A policy, by its name or its id. */
                name: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PolicyAttachmentInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["AttachPolicyOutput"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    detachPolicy: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description A policy, by its name or its id. */
                name: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PolicyAttachmentInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["DetachPolicyOutput"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    simulatePolicy: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["SimulatePolicyInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["SimulatePolicyOutput"];
                };
            };
        };
    };
    whoCan: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["WhoCanInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["WhoCanOutput"];
                };
            };
        };
    };
    explainAccess: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExplainAccessInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ExplainAccessOutput"];
                };
            };
        };
    };
    listVaults: {
        parameters: {
            query?: {
                /** @description The environment: development (dev), homologation (hml), staging (stg) or production (prd, prod); stored as the full name. */
                environment?: string;
                /** @description Only vaults with this status; default: all except deleted ones. */
                status?: components["schemas"]["VaultStatus"];
                /** @description Only vaults with all of these tags. */
                tags?: string[];
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListVaultsOutput"];
                };
            };
        };
    };
    createVault: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateVaultInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["Vault"];
                };
            };
            /** @description Not done: approval of the kind `siem_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    readVault: {
        parameters: {
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["VaultDetail"];
                };
            };
        };
    };
    deleteVault: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["DeleteVaultOutput"];
                };
            };
            /** @description Not done: approval of the kind `vault_delete` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    updateVault: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateVaultInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Vault"];
                };
            };
            /** @description Not done: approval of the kind `siem_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    restoreVault: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Vault"];
                };
            };
        };
    };
    listVaultMembers: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListVaultMembersOutput"];
                };
            };
        };
    };
    addVaultMember: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddVaultMemberInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["VaultMember"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    removeVaultMember: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description The id of the user or group. */
                member_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    changeVaultMember: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description The id of the user or group. */
                member_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeVaultMemberInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["VaultMember"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    listVaultsOfUser: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description The id of a user, `user_…`. */
                user_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListVaultsOfUserOutput"];
                };
            };
        };
    };
    reviewVaultMembers: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReviewVaultMembersOutput"];
                };
            };
        };
    };
    getPassphraseCheck: {
        parameters: {
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["GetPassphraseCheckOutput"];
                };
            };
        };
    };
    putPassphraseCheck: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutPassphraseCheckInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["PutPassphraseCheckOutput"];
                };
            };
        };
    };
    listSecrets: {
        parameters: {
            query?: {
                /** @description Only paths that start with this text. */
                prefix?: string;
                /** @description Only secrets with all of these tags. */
                tags?: string[];
                /** @description api_key, password, token, database, … */
                type?: string;
                /** @description failed: only secrets whose latest rotation through a backend failed. */
                rotation?: "failed";
                /** @description Only secrets whose value ends before this time, or has ended. A time such as 2026-11-14T10:00:00.000Z, or a date such as 2026-11-14, which means midnight UTC. */
                expires_before?: string;
                /** @description If true, lists deleted secrets that can be restored, instead of existing ones. */
                deleted?: boolean;
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListSecretsOutput"];
                };
            };
        };
    };
    createSecret: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        /** @description At most 6356992 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateSecretInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            /** @description Not done: approval of the kind `secret_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    readSecret: {
        parameters: {
            query?: {
                /** @description The version to read; default: the newest. */
                version?: number;
                /** @description If false, templates are returned as they are written. Default: with the values that they refer to. */
                resolve?: boolean;
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… May span segments: `/` is sent as it is or as `%2F`. */
                path: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["SecretWithValue"];
                };
            };
        };
    };
    updateSecret: {
        parameters: {
            header?: {
                /** @description Executes the change only if this is still the newest version, written as `"v3"`; otherwise the response is VERSION_CONFLICT. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… May span segments: `/` is sent as it is or as `%2F`. */
                path: string;
            };
        };
        /** @description At most 6356992 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateSecretInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            /** @description Not done: approval of the kind `secret_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    deleteSecret: {
        parameters: {
            header?: {
                /** @description Executes the change only if this is still the newest version, written as `"v3"`; otherwise the response is VERSION_CONFLICT. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… May span segments: `/` is sent as it is or as `%2F`. */
                path: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["DeleteSecretOutput"];
                };
            };
            /** @description Not done: approval of the kind `secret_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    restoreSecret: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… May span segments: `/` is sent as it is or as `%2F`. */
                path: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RestoreSecretInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            /** @description Not done: approval of the kind `secret_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    readReferences: {
        parameters: {
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… May span segments: `/` is sent as it is or as `%2F`. */
                path: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadReferencesOutput"];
                };
            };
        };
    };
    listSecretVersions: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… May span segments: `/` is sent as it is or as `%2F`. */
                path: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListSecretVersionsOutput"];
                };
            };
        };
    };
    rotateSecret: {
        parameters: {
            header?: {
                /** @description Executes the change only if this is still the newest version, written as `"v3"`; otherwise the response is VERSION_CONFLICT. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… May span segments: `/` is sent as it is or as `%2F`. */
                path: string;
            };
        };
        /** @description At most 6356992 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateSecretInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["RotateSecretOutput"];
                };
            };
            /** @description Not done: approval of the kind `secret_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    rollbackSecret: {
        parameters: {
            header?: {
                /** @description Executes the change only if this is still the newest version, written as `"v3"`; otherwise the response is VERSION_CONFLICT. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… May span segments: `/` is sent as it is or as `%2F`. */
                path: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["RollbackSecretInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["RollbackSecretOutput"];
                };
            };
            /** @description Not done: approval of the kind `secret_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    moveSecret: {
        parameters: {
            header?: {
                /** @description Executes the change only if this is still the newest version, written as `"v3"`; otherwise the response is VERSION_CONFLICT. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… May span segments: `/` is sent as it is or as `%2F`. */
                path: string;
            };
        };
        /** @description At most 6356992 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecretRelocation"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["MoveSecretOutput"];
                };
            };
            /** @description Not done: approval of the kind `secret_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    copySecret: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… May span segments: `/` is sent as it is or as `%2F`. */
                path: string;
            };
        };
        /** @description At most 6356992 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecretRelocation"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            /** @description Not done: approval of the kind `secret_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    changeSecrets: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        /** @description At most 6356992 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeSecretsInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ChangeSecretsOutput"];
                };
            };
            /** @description Not done: approval of the kind `secret_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    readSecretRisk: {
        parameters: {
            path: {
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… May span segments: `/` is sent as it is or as `%2F`. */
                path: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadSecretRiskOutput"];
                };
            };
        };
    };
    aggregateSecrets: {
        parameters: {
            query?: {
                /** @description Only paths that start with this text. */
                prefix?: string;
                /** @description If false, templates are returned as they are written. Default: with the values that they refer to. */
                resolve?: boolean;
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["AggregateSecretsOutput"];
                };
            };
        };
    };
    searchSecrets: {
        parameters: {
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["SearchSecretsInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["SearchSecretsOutput"];
                };
            };
        };
    };
    listCollisions: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListCollisionsOutput"];
                };
            };
        };
    };
    findSecrets: {
        parameters: {
            query: {
                /** @description A part of the path. If it is given several times, the path must contain each of them. */
                path: string[];
                /** @description With abbreviation, also paths that have the letters of each part in this order, the first at the start of a word: db finds DATABASE_URL. Default: part. */
                match?: "part" | "abbreviation";
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["FindSecretsOutput"];
                };
            };
        };
    };
    listDueSecrets: {
        parameters: {
            query: {
                /** @description failed_rotation: the latest rotation through a backend failed. rotation: the next rotation is due. expiry: the value ends, as it was given or as a certificate says. */
                kind: "failed_rotation" | "rotation" | "expiry";
                /** @description How far to look ahead, for rotation and expiry. Default: 7. */
                within_days?: number;
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListDueSecretsOutput"];
                };
            };
        };
    };
    findKnownValues: {
        parameters: {
        };
        /** @description At most 262144 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["FindKnownValuesInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["FindKnownValuesOutput"];
                };
            };
        };
    };
    listShares: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListSharesOutput"];
                };
            };
        };
    };
    createShare: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateShareInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["Share"];
                };
            };
        };
    };
    revokeShare: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a share, `share_…`. */
                share_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    openShare: {
        parameters: {
            path: {
                /** @description The id of a share, `share_…`. */
                share_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["OpenShareOutput"];
                };
            };
        };
    };
    getSharePage: {
        parameters: {
            path: {
                /** @description The id of a share, `share_…`. */
                share_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getShareScript: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/javascript": string;
                };
            };
        };
    };
    getShareStyle: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/css": string;
                };
            };
        };
    };
    tokenize: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        /** @description At most 6356992 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenizeInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["TokenizeOutput"];
                };
            };
        };
    };
    detokenize: {
        parameters: {
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        /** @description At most 6356992 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["DetokenizeInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["DetokenizeOutput"];
                };
            };
        };
    };
    importSecrets: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        /** @description At most 12582912 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ImportSecretsInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ImportSecretsOutput"];
                };
            };
        };
    };
    exportSecrets: {
        parameters: {
            query?: {
                /** @description Default: json. */
                format?: "json" | "dotenv" | "docker" | "shell";
                /** @description Only paths that start with this text. */
                prefix?: string;
                /** @description Variable names that may change how programs are loaded or where they connect, such as PATH or HTTPS_PROXY. Without it, files of variables with such a name are refused, because whoever writes a secret chooses its name. */
                permit?: string[];
                /** @description If false, templates are returned as they are written. Default: with the values that they refer to. */
                resolve?: boolean;
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": {
                        [key: string]: string;
                    };
                    "text/plain": string;
                };
            };
        };
    };
    listApprovals: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
                /** @description Only approvals with this status. */
                status?: components["schemas"]["ApprovalStatus"];
                /** @description self: only requests that you made. Default: any. */
                requester?: "self" | "any";
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListApprovalsOutput"];
                };
            };
        };
    };
    readApproval: {
        parameters: {
            path: {
                /** @description The id of an approval, `approval_…`. */
                approval_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ApprovalDetail"];
                };
            };
        };
    };
    revealApproval: {
        parameters: {
            query?: {
                /** @description The path of the change, if the request has several. */
                path?: string;
            };
            path: {
                /** @description The id of an approval, `approval_…`. */
                approval_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["RevealApprovalOutput"];
                };
            };
        };
    };
    approveApproval: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of an approval, `approval_…`. */
                approval_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApproveApprovalInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ApprovalDetail"];
                };
            };
        };
    };
    rejectApproval: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of an approval, `approval_…`. */
                approval_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RejectApprovalInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ApprovalDetail"];
                };
            };
        };
    };
    listAccess: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
                /** @description Only access to the vault of this name. */
                vault?: string;
                /** @description Only access with this status. */
                status?: components["schemas"]["AccessStatus"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListAccessOutput"];
                };
            };
        };
    };
    requestAccess: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["RequestAccessInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["TimedAccess"];
                };
            };
            /** @description Not done: approval of the kind `access_request` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    endAccess: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of an access, `access_…`. */
                access_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    listEnvironments: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListEnvironmentsOutput"];
                };
            };
        };
    };
    createEnvironment: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateEnvironmentInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["ComposedEnvironment"];
                };
            };
        };
    };
    readEnvironment: {
        parameters: {
            path: {
                /** @description The number of a composed environment, or its name. A text of digits is a number, if there is one with that number. */
                environment_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ComposedEnvironment"];
                };
            };
        };
    };
    updateEnvironment: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The number of a composed environment, or its name. A text of digits is a number, if there is one with that number. */
                environment_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateEnvironmentInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ComposedEnvironment"];
                };
            };
        };
    };
    deleteEnvironment: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The number of a composed environment, or its name. A text of digits is a number, if there is one with that number. */
                environment_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    listEnvironmentSecrets: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description The number of a composed environment, or its name. A text of digits is a number, if there is one with that number. */
                environment_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListEnvironmentSecretsOutput"];
                };
            };
        };
    };
    bindEnvironmentSecret: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The number of a composed environment, or its name. A text of digits is a number, if there is one with that number. */
                environment_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["BindEnvironmentSecretInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["EnvironmentBinding"];
                };
            };
        };
    };
    unbindEnvironmentSecret: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The number of a composed environment, or its name. A text of digits is a number, if there is one with that number. */
                environment_id: string;
                /** @description A secret, by its integer `secret_id` or its `id`. */
                secret_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    composeEnvironment: {
        parameters: {
            query?: {
                /** @description Whether to include values. */
                resolve?: boolean;
                /** @description Only names and values, in this format. */
                format?: "dotenv" | "json" | "shell";
                /** @description Only this name, so that no other value is read. */
                key_name?: string;
                /** @description Variable names that may change how programs are loaded or where they connect, such as PATH or HTTPS_PROXY. Without it, files of variables with such a name are refused, because whoever writes a secret chooses its name. */
                permit?: string[];
            };
            path: {
                /** @description The number of a composed environment, or its name. A text of digits is a number, if there is one with that number. */
                environment_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ComposeAnswer"];
                    "text/plain": string;
                };
            };
        };
    };
    readRootCertificate: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/x-pem-file": string;
                };
            };
        };
    };
    readTenantCertificates: {
        parameters: {
            path: {
                /** @description The id of the tenant, `tenant_…`. */
                tenant_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/x-pem-file": string;
                };
            };
        };
    };
    readRevocationList: {
        parameters: {
            path: {
                /** @description The id of the tenant, `tenant_…`. */
                tenant_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/x-pem-file": string;
                };
            };
        };
    };
    readRevocationListDer: {
        parameters: {
            query?: {
                /** @description The number of the CA. Default: the newest. */
                ca?: number;
            };
            path: {
                /** @description The id of the tenant, `tenant_…`. */
                tenant_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/pkix-crl": string;
                };
            };
        };
    };
    listConnections: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListConnectionsOutput"];
                };
            };
        };
    };
    createConnection: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateConnectionInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["CreateConnectionOutput"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    listAutoPaths: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
                /** @description Only paths of this AppConnection, by its client id. */
                client_id?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListAutoPathsOutput"];
                };
            };
        };
    };
    readConnectionByClient: {
        parameters: {
            path: {
                /** @description The client id of an AppConnection. */
                client_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["AppConnection"];
                };
            };
        };
    };
    readConnection: {
        parameters: {
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["AppConnection"];
                };
            };
        };
    };
    deleteConnection: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    updateConnection: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateConnectionInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["AppConnection"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    rotateConnection: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateConnectionInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["RotateConnectionOutput"];
                };
            };
        };
    };
    listConnectionCertificates: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListConnectionCertificatesOutput"];
                };
            };
        };
    };
    revokeCertificate: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
                /** @description The serial number, in hexadecimal. */
                serial: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RevokeCertificateInput"];
            };
        };
        responses: {
            /** @description Done; no content. */
            204: {
                content?: never;
            };
        };
    };
    exportConnectionBundle: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ExportConnectionBundleInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/zip": string;
                };
            };
        };
    };
    fetchConnectionSecret: {
        parameters: {
            path: {
                /** @description The client id of an AppConnection. */
                client_id: string;
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… May span segments: `/` is sent as it is or as `%2F`. */
                secret: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["SecretWithValue"];
                };
            };
        };
    };
    listFederations: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListFederationsOutput"];
                };
            };
        };
    };
    createFederation: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateFederationInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["Federation"];
                };
            };
        };
    };
    readFederation: {
        parameters: {
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
                /** @description The number of a federation. */
                federation_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Federation"];
                };
            };
        };
    };
    updateFederation: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
                /** @description The number of a federation. */
                federation_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateFederationInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Federation"];
                };
            };
        };
    };
    deleteFederation: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
                /** @description The number of a federation. */
                federation_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    exchangeFederatedToken: {
        parameters: {
            path: {
                /** @description An AppConnection, by its number or its client id. */
                connection: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ExchangeFederatedTokenInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ExchangeFederatedTokenOutput"];
                };
            };
        };
    };
    listWorkloadMethods: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListWorkloadMethodsOutput"];
                };
            };
        };
    };
    createWorkloadMethod: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 131072 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWorkloadMethodInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["WorkloadMethod"];
                };
            };
        };
    };
    readWorkloadMethod: {
        parameters: {
            path: {
                /** @description The number of a method. */
                method_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["WorkloadMethod"];
                };
            };
        };
    };
    updateWorkloadMethod: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The number of a method. */
                method_id: string;
            };
        };
        /** @description At most 131072 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateWorkloadMethodInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["WorkloadMethod"];
                };
            };
        };
    };
    deleteWorkloadMethod: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The number of a method. */
                method_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    workloadLogin: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkloadLoginInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["WorkloadLoginOutput"];
                };
            };
        };
    };
    operatorSecretById: {
        parameters: {
            query: {
                /** @description The id of a secret, `sec_…`, or its integer `secret_id`. */
                id: string;
                /** @description The version. Default: the newest. */
                version?: number;
                /** @description Returns one member of a value that is a JSON object as `value`: text as it is, anything else as JSON. A name with dots leads into objects, unless a member has that very name. */
                property?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["OperatorSecret"];
                };
            };
        };
    };
    operatorSecretByName: {
        parameters: {
            query: {
                /** @description Name of the vault. */
                vault: string;
                /** @description segment/segment/… */
                name: string;
                /** @description The version. Default: the newest. */
                version?: number;
                /** @description Returns one member of a value that is a JSON object as `value`: text as it is, anything else as JSON. A name with dots leads into objects, unless a member has that very name. */
                property?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["OperatorSecret"];
                };
            };
        };
    };
    operatorVault: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description Name of the vault. */
                vault: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["OperatorVaultOutput"];
                };
            };
        };
    };
    listClusters: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListClustersOutput"];
                };
            };
        };
    };
    createCluster: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateClusterInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["ClusterWithToken"];
                };
            };
        };
    };
    readCluster: {
        parameters: {
            path: {
                /** @description The id of a cluster. */
                cluster_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Cluster"];
                };
            };
        };
    };
    deleteCluster: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a cluster. */
                cluster_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    rotateClusterToken: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a cluster. */
                cluster_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateClusterTokenInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ClusterWithToken"];
                };
            };
        };
    };
    listClusterPolicies: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description The id of a cluster. */
                cluster_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListClusterPoliciesOutput"];
                };
            };
        };
    };
    createClusterPolicy: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a cluster. */
                cluster_id: string;
            };
        };
        /** @description At most 524288 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateClusterPolicyInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["ClusterPolicy"];
                };
            };
            /** @description Not done: approval of the kind `rbac_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    deleteClusterPolicy: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a cluster. */
                cluster_id: string;
                /** @description The id of a policy of the cluster. */
                policy_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readDesiredState: {
        parameters: {
            header?: {
                /** @description The ETag of the response that you have; if it is still current, the response is 304 without a body. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The id of a cluster. */
                cluster_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadDesiredStateOutput"];
                };
            };
        };
    };
    reportClusterStatus: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a cluster. */
                cluster_id: string;
            };
        };
        /** @description At most 2097152 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportClusterStatusInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReportClusterStatusOutput"];
                };
            };
        };
    };
    listClusterAudit: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description The id of a cluster. */
                cluster_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListClusterAuditOutput"];
                };
            };
        };
    };
    reportEndpointAccounts: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 12582912 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportEndpointAccountsInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReportEndpointAccountsOutput"];
                };
            };
        };
    };
    listEndpointAccounts: {
        parameters: {
            query?: {
                /** @description The id or the name of a host. */
                host?: string;
                /** @description The name of the local account. */
                username?: string;
                /** @description Accounts that have a key of this type. */
                key_type?: string;
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListEndpointAccountsOutput"];
                };
            };
        };
    };
    readEndpointAccount: {
        parameters: {
            path: {
                /** @description The id of an account. */
                account_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["EndpointAccountWithKeys"];
                };
            };
        };
    };
    linkEndpointAccount: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of an account. */
                account_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkEndpointAccountInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["EndpointAccount"];
                };
            };
        };
    };
    readEndpointStats: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadEndpointStatsOutput"];
                };
            };
        };
    };
    listEndpointDrift: {
        parameters: {
            query?: {
                /** @description orphan_account: an account with a key, but nobody who is a member of a vault. missing_key: a member of a vault without a key on production hosts. former_employee_key: a key of somebody who was disabled or deleted. */
                kind?: components["schemas"]["DriftKind"];
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListEndpointDriftOutput"];
                };
            };
        };
    };
    listEncryptionKeys: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListEncryptionKeysOutput"];
                };
            };
        };
    };
    createEncryptionKey: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateEncryptionKeyInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["EncryptionKeyDetail"];
                };
            };
        };
    };
    readEncryptionKey: {
        parameters: {
            path: {
                /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
                name: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["EncryptionKeyDetail"];
                };
            };
        };
    };
    deleteEncryptionKey: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
                name: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeleteEncryptionKeyInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            /** @description Not done: approval of the kind `eaas_key_delete` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    updateEncryptionKey: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
                name: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateEncryptionKeyInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["EncryptionKeyDetail"];
                };
            };
        };
    };
    rotateEncryptionKey: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
                name: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateEncryptionKeyInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["RotateEncryptionKeyOutput"];
                };
            };
        };
    };
    encrypt: {
        parameters: {
            path: {
                /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
                name: string;
            };
        };
        /** @description At most 6455296 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["EaasPlaintext"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["EaasEnvelope"];
                };
            };
        };
    };
    decrypt: {
        parameters: {
            path: {
                /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
                name: string;
            };
        };
        /** @description At most 3151024 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["EaasCiphertext"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["DecryptOutput"];
                };
            };
        };
    };
    encryptBatch: {
        parameters: {
            path: {
                /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
                name: string;
            };
        };
        /** @description At most 6455296 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["EncryptBatchInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["EncryptBatchOutput"];
                };
            };
        };
    };
    decryptBatch: {
        parameters: {
            path: {
                /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
                name: string;
            };
        };
        /** @description At most 3151024 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecryptBatchInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["DecryptBatchOutput"];
                };
            };
        };
    };
    rewrap: {
        parameters: {
            path: {
                /** @description Letters, digits, dot, underscore, hyphen; at most 63 characters. */
                name: string;
            };
        };
        /** @description At most 3151024 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["EaasCiphertext"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["EaasEnvelope"];
                };
            };
        };
    };
    createAttestationNonce: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["CreateAttestationNonceOutput"];
                };
            };
        };
    };
    verifyAttestation: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["VerifyAttestationInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["VerifyAttestationOutput"];
                };
            };
        };
    };
    wrapKey: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["WrapKeyInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["WrapKeyOutput"];
                };
            };
        };
    };
    unwrapKey: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["UnwrapKeyInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["UnwrapKeyOutput"];
                };
            };
        };
    };
    dualSign: {
        parameters: {
        };
        /** @description At most 6356992 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DualSignInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["DualSignOutput"];
                };
            };
        };
    };
    dualVerify: {
        parameters: {
        };
        /** @description At most 6356992 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["DualVerifyInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["DualVerifyOutput"];
                };
            };
        };
    };
    listPqcKeys: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
                /** @description Only keys of this algorithm. */
                algorithm?: components["schemas"]["PqcAlgorithm"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListPqcKeysOutput"];
                };
            };
        };
    };
    rotatePqcKey: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["RotatePqcKeyInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["PqcKey"];
                };
            };
        };
    };
    readPqcKey: {
        parameters: {
            path: {
                /** @description The id of the key. */
                key_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["PqcKey"];
                };
            };
        };
    };
    listTenants: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListTenantsOutput"];
                };
            };
        };
    };
    createTenant: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateTenantInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["CreateTenantOutput"];
                };
            };
        };
    };
    readTenant: {
        parameters: {
            path: {
                /** @description The id of the tenant, `tenant_…`. */
                tenant_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
        };
    };
    updateTenant: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the tenant, `tenant_…`. */
                tenant_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateTenantInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
        };
    };
    readTenantSettings: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["TenantSettings"];
                };
            };
        };
    };
    updateTenantSettings: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateTenantSettingsInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["TenantSettings"];
                };
            };
            /** @description Not done: approval of the kind `mfa_disable` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    listTenantRegions: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListTenantRegionsOutput"];
                };
            };
        };
    };
    readTenantRegion: {
        parameters: {
            path: {
                /** @description The id of the tenant, `tenant_…`. */
                tenant_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["TenantRegion"];
                };
            };
        };
    };
    assignTenantRegion: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the tenant, `tenant_…`. */
                tenant_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssignTenantRegionInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["TenantRegion"];
                };
            };
        };
    };
    promoteTenantRegion: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of the tenant, `tenant_…`. */
                tenant_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PromoteTenantRegionInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["TenantRegion"];
                };
            };
            /** @description Not done: approval of the kind `tenant_region_promote` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    pullDirectory: {
        parameters: {
            query?: {
                /** @description What the caller has: `origin:number`, separated by commas. */
                vector?: string;
                /** @description Asks for a digest of what does not expire up to this time, in ms. */
                digest_at?: number;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["RegionSyncPage"];
                };
            };
        };
    };
    pushDirectory: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PushDirectoryInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["PushDirectoryOutput"];
                };
            };
        };
    };
    signUp: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignUpInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["SignUpOutput"];
                };
            };
        };
    };
    verifySignup: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["VerifySignupInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["VerifySignupOutput"];
                };
            };
        };
    };
    resendVerification: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResendVerificationInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ResendVerificationOutput"];
                };
            };
        };
    };
    readTier: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Tier"];
                };
            };
        };
    };
    listPlans: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListPlansOutput"];
                };
            };
        };
    };
    putPlan: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The plan of a tenant, which sets its quotas, rate limits and features. */
                plan: components["schemas"]["Plan"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PutPlanInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["PlanWithLimits"];
                };
            };
        };
    };
    billingWebhook: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["BillingWebhookOutput"];
                };
            };
        };
    };
    listAudit: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
                /** @description Name of a vault; with a final * every vault whose name starts with the text. */
                vault?: string;
                /** @description Id, name (e-mail address) or key (token id) of the actor; with a final * every one that starts with the text. */
                actor?: string;
                /** @description For example secrets:read; with a final * every action that starts with the text, such as vault_* or secrets:*. */
                action?: string;
                /** @description The exact resource; with a final * every resource that starts with the text. */
                resource?: string;
                /** @description Only entries of this decision. */
                decision?: components["schemas"]["AuditDecision"];
                /** @description Only entries of the request with this `X-Request-Id`. */
                request_id?: string;
                /** @description Whether allowed requests are included that only looked something up: they changed nothing and showed no value of a secret. Default: include. */
                look_ups?: "include" | "exclude";
                /** @description At or after this time. A time such as 2026-11-14T10:00:00.000Z, or a date such as 2026-11-14, which means midnight UTC. */
                from?: string;
                /** @description Before this time. A time such as 2026-11-14T10:00:00.000Z, or a date such as 2026-11-14, which means midnight UTC. */
                to?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListAuditOutput"];
                };
            };
        };
    };
    verifyAudit: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["VerifyAuditOutput"];
                };
            };
        };
    };
    listCheckpoints: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListCheckpointsOutput"];
                };
            };
        };
    };
    createCheckpoint: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["Checkpoint"];
                };
            };
        };
    };
    exportAudit: {
        parameters: {
            query?: {
                /** @description Start at this entry. Default: the first that is not in the archive. */
                from_seq?: number;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    listExporters: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListExportersOutput"];
                };
            };
        };
    };
    createExporter: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateExporterInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["Exporter"];
                };
            };
            /** @description Not done: approval of the kind `siem_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    readExporter: {
        parameters: {
            path: {
                /** @description The id of an exporter. */
                exporter_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Exporter"];
                };
            };
        };
    };
    deleteExporter: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of an exporter. */
                exporter_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            /** @description Not done: approval of the kind `siem_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    updateExporter: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of an exporter. */
                exporter_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateExporterInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Exporter"];
                };
            };
            /** @description Not done: approval of the kind `siem_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    testExporter: {
        parameters: {
            path: {
                /** @description The id of an exporter. */
                exporter_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["TestExporterOutput"];
                };
            };
        };
    };
    replayExporter: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of an exporter. */
                exporter_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplayExporterInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Exporter"];
                };
            };
            /** @description Not done: approval of the kind `siem_change` is pending. */
            202: {
                content: {
                    "application/json": components["schemas"]["PendingApproval"];
                };
            };
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListWebhooksOutput"];
                };
            };
        };
    };
    createWebhook: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWebhookInput"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                content: {
                    "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
        };
    };
    readWebhook: {
        parameters: {
            path: {
                /** @description The id of a webhook. */
                webhook_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    deleteWebhook: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a webhook. */
                webhook_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    updateWebhook: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a webhook. */
                webhook_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateWebhookInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    readWebhookUrl: {
        parameters: {
            path: {
                /** @description The id of a webhook. */
                webhook_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadWebhookUrlOutput"];
                };
            };
        };
    };
    rotateWebhookSecret: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a webhook. */
                webhook_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
        };
    };
    testWebhook: {
        parameters: {
            path: {
                /** @description The id of a webhook. */
                webhook_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["TestWebhookOutput"];
                };
            };
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
            path: {
                /** @description The id of a webhook. */
                webhook_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListWebhookDeliveriesOutput"];
                };
            };
        };
    };
    redeliverWebhook: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of a webhook. */
                webhook_id: string;
                /** @description The id of a delivery. */
                delivery_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
        };
    };
    listAnomalies: {
        parameters: {
            query?: {
                /** @description What was found. `stale_rotation`: A secret was not rotated for longer than allowed. `unusual_access_pattern`: A secret is read far more often than in the last 30 days, or somebody reads many secrets that are new to them. `ip_region_anomaly`: An AppConnection is used from a country not seen in the last 30 days. `backend_drift`: A database server has roles whose names start with cv_ that no secret accounts for. `privilege_creep`: A vault gained members, and nobody reviewed them. `zombie_app_connection`: An active AppConnection is not used. `risk_score_spike`: The risk score of a secret changed much within a day. */
                type?: components["schemas"]["AnomalyType"];
                /** @description How serious an anomaly is. */
                severity?: components["schemas"]["Severity"];
                /** @description Another tenant, by id; only for the operator tenant. */
                tenant?: string;
                /** @description Only anomalies detected at or after this time. A time such as 2026-11-14T10:00:00.000Z, or a date such as 2026-11-14, which means midnight UTC. */
                since?: string;
                /** @description Only anomalies with this status. Default: open. */
                status?: "open" | "acknowledged" | "dismissed" | "resolved" | "all";
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListAnomaliesOutput"];
                };
            };
        };
    };
    readAnomaly: {
        parameters: {
            path: {
                /** @description The id of an anomaly. */
                anomaly_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Anomaly"];
                };
            };
        };
    };
    acknowledgeAnomaly: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of an anomaly. */
                anomaly_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AcknowledgeAnomalyInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Anomaly"];
                };
            };
        };
    };
    dismissAnomaly: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The id of an anomaly. */
                anomaly_id: string;
            };
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["DismissAnomalyInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Anomaly"];
                };
            };
        };
    };
    readAnomalyBaselines: {
        parameters: {
            query: {
                /** @description A secret, as vault/{vault}/{path}. */
                resource: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadAnomalyBaselinesOutput"];
                };
            };
        };
    };
    readAnomalyModels: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadAnomalyModelsOutput"];
                };
            };
        };
    };
    scanAnomalies: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ScanAnomaliesOutput"];
                };
            };
        };
    };
    readAuditActivity: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
                /** @description The maximum number of entries that a page counts, with a filter. Default: as many as it reads. */
                entries?: number;
                /** @description Name of a vault; with a final * every vault whose name starts with the text. */
                vault?: string;
                /** @description Id, name (e-mail address) or key (token id) of the actor; with a final * every one that starts with the text. */
                actor?: string;
                /** @description For example secrets:read; with a final * every action that starts with the text, such as vault_* or secrets:*. */
                action?: string;
                /** @description The exact resource; with a final * every resource that starts with the text. */
                resource?: string;
                /** @description Only entries of this decision. */
                decision?: components["schemas"]["AuditDecision"];
                /** @description Whether allowed requests are included that only looked something up: they changed nothing and showed no value of a secret. Default: include. */
                look_ups?: "include" | "exclude";
                /** @description How long each span is. Default: hour. */
                span?: "hour" | "minute";
                /** @description From this time on, rounded down to a span. Default: 24 hours before the end. A time such as 2026-11-14T10:00:00.000Z, or a date such as 2026-11-14, which means midnight UTC. */
                from?: string;
                /** @description Until this time, rounded up to a span. Default: now. At most 1,000 spans after the beginning. A time such as 2026-11-14T10:00:00.000Z, or a date such as 2026-11-14, which means midnight UTC. */
                to?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadAuditActivityOutput"];
                };
            };
        };
    };
    listAttackPaths: {
        parameters: {
            query?: {
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListAttackPathsOutput"];
                };
            };
        };
    };
    readAttackPath: {
        parameters: {
            path: {
                /** @description The id of an attack path. */
                attack_path_id: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["AttackPath"];
                };
            };
        };
    };
    recomputeAttackPaths: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["RecomputeAttackPathsOutput"];
                };
            };
        };
    };
    listAccessPaths: {
        parameters: {
            query?: {
                /** @description Whether ways end at a vault or at each of its secrets. Default: vaults. */
                depth?: "vaults" | "secrets";
                /** @description Only this vault. */
                vault?: string;
                /** @description Only this secret of the vault. Implies `depth=secrets`. */
                path?: string;
                /** @description Only ways of this user, by id or e-mail address. */
                user?: string;
                /** @description Only ways of this connection, by number, client id or name. */
                app_connection?: string;
                /** @description Only ways through this group, by id or name. */
                group?: string;
                /** @description Only ways through this policy. */
                policy?: string;
                /** @description The maximum number of items. Default: 100. */
                limit?: number;
                /** @description `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListAccessPathsOutput"];
                };
            };
        };
    };
    explainRisk: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExplainRiskInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ExplainRiskOutput"];
                };
            };
        };
    };
    summarizePath: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["SummarizePathInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["SummarizePathOutput"];
                };
            };
        };
    };
    validationTasks: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ValidationTasksInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ValidationTasksOutput"];
                };
            };
        };
    };
    chat: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ChatOutput"];
                    "text/event-stream": string;
                };
            };
        };
    };
    generateCode: {
        parameters: {
        };
        /** @description At most 65536 bytes. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["GenerateCodeInput"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["GenerateCodeOutput"];
                };
            };
        };
    };
    health: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["HealthOutput"];
                };
            };
        };
    };
    ready: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReadyOutput"];
                };
            };
        };
    };
    metrics: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    listNodes: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListNodesOutput"];
                };
            };
        };
    };
    listJobs: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["ListJobsOutput"];
                };
            };
        };
    };
    runJob: {
        parameters: {
            header?: {
                /** @description Executes the change only once: for 24 hours, a repeated request with the same key returns the first response, and a different request with the same key is rejected. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The name of a job. */
                job: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    getConsole: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getConsoleScript: {
        parameters: {
            path: {
                /** @description The name of the file, which contains a digest of its content. */
                file: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/javascript": string;
                };
            };
        };
    };
    getConsoleStyle: {
        parameters: {
            path: {
                /** @description The name of the file, which contains a digest of its content. */
                file: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/css": string;
                };
            };
        };
    };
    getConsoleIcons: {
        parameters: {
            path: {
                /** @description The name of the file, which contains a digest of its content. */
                file: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "image/svg+xml": string;
                };
            };
        };
    };
    getConsoleFont: {
        parameters: {
            path: {
                /** @description The name of the file, which contains a digest of its content. */
                file: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "font/woff2": string;
                };
            };
        };
    };
    getOpenApi: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getDocs: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getDocsPage: {
        parameters: {
            path: {
                /** @description The name of the page, as in the links. */
                page: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getGuide: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getGuidePage: {
        parameters: {
            path: {
                /** @description The name of the page, as in the links. */
                page: string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getDocsStyle: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/css": string;
                };
            };
        };
    };
    getDocsScript: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                content: {
                    "text/javascript": string;
                };
            };
        };
    };
}
