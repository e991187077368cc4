import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DAY_MS, MINUTE_MS } from '../../server/src/kernel/base/clock.ts';
import type { EndpointDeclaration } from '../../server/src/kernel/endpoint/declaration.ts';
import { bothSpellings } from '../../server/src/kernel/http/routes.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import {
  deleteSecondFactor,
  INPUTS,
  type Input,
  nameOf,
  pathOf,
  type Sender,
  TAKES_PROOF,
  type World,
} from '../support/endpoint-inputs.ts';
import { MACHINE_CALLERS_ENV } from '../support/machine-callers.ts';
import { addPerson, addTenant, addToken, logIn, ok, openSession, type Person, refused } from '../support/people.ts';
import { onSqliteAtLanding, startService } from '../support/service.ts';

/**
 * The callers. All but `foreign` are of the tenant that runs the installation, which also holds what is requested; `foreign` is an admin
 * of another tenant, with every right there.
 */
const CALLERS = ['none', 'wrong', 'expired', 'revoked', 'foreign', 'member', 'auditor', 'admin', 'owner'] as const;
type CallerKind = (typeof CALLERS)[number];

/** Every endpoint and what each caller gets, in the order of CALLERS. A new endpoint needs a row here. */
const EXPECTED: Record<string, number[]> = {
  'POST /eaas/keys': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'GET /eaas/keys': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /eaas/keys/{name}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'PATCH /eaas/keys/{name}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /eaas/keys/{name}': [401, 401, 401, 401, 404, 403, 403, 202, 202],
  'POST /eaas/keys/{name}/rotate': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /eaas/keys/{name}/encrypt': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /eaas/keys/{name}/decrypt': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /eaas/keys/{name}/encrypt-batch': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /eaas/keys/{name}/decrypt-batch': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /eaas/keys/{name}/rewrap': [401, 401, 401, 401, 404, 403, 403, 200, 200],

  'POST /v1/app-connections': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'GET /v1/app-connections': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /app-connections/auto-paths': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /app-connections/by-client/{client_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'GET /v1/app-connections/{connection}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PATCH /v1/app-connections/{connection}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /v1/app-connections/{connection}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/app-connections/{connection}/rotate': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /v1/app-connections/{connection}/certificates': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /v1/app-connections/{connection}/certificates/{serial}/revoke': [401, 401, 401, 401, 404, 403, 403, 204, 204],
  'POST /app-connections/{connection}/export-zip': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /app-connections/fetch/{client_id}/{vault}/{secret*}': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'POST /app-connections/{connection}/federations': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'GET /app-connections/{connection}/federations': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'GET /app-connections/{connection}/federations/{federation_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PUT /app-connections/{connection}/federations/{federation_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /app-connections/{connection}/federations/{federation_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /app-connections/{connection}/federated-token': [401, 401, 401, 401, 401, 401, 401, 401, 401],
  'POST /workload-identity/methods': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'GET /workload-identity/methods': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /workload-identity/methods/{method_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PUT /workload-identity/methods/{method_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /workload-identity/methods/{method_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /workload-identity/login': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /eso/secrets/by-id': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'GET /eso/secrets/by-name': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'GET /eso/vault/{vault}': [401, 401, 401, 401, 403, 403, 403, 403, 403],

  'POST /attestation/nonce': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'POST /attestation/verify': [401, 401, 401, 401, 200, 403, 403, 200, 200],

  'POST /auth/login': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'POST /auth/read-invite': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'POST /auth/accept-invite': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'POST /auth/sso/providers': [401, 401, 401, 401, 202, 403, 403, 202, 202],
  'GET /auth/sso/providers': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /auth/sso/providers/{name}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PATCH /auth/sso/providers/{name}': [401, 401, 401, 401, 404, 403, 403, 202, 202],
  'DELETE /auth/sso/providers/{name}': [401, 401, 401, 401, 404, 403, 403, 202, 202],
  'POST /auth/sso/providers/{name}/scim-tokens': [401, 401, 401, 401, 404, 403, 403, 202, 202],
  'GET /auth/sso/providers/{name}/scim-tokens': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  // Each of them shows a token, and it takes a recent sign-in.
  'POST /auth/sso/providers/{name}/scim-tokens/{token_id}/rotate': [401, 401, 401, 401, 404, 403, 403, 403, 403],
  'DELETE /auth/sso/providers/{name}/scim-tokens/{token_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /scim/v2/Users': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'POST /scim/v2/.search': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'POST /scim/v2/Users/.search': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'POST /scim/v2/Groups/.search': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'POST /scim/v2/Users': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'GET /scim/v2/Users/{user_id}': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'PUT /scim/v2/Users/{user_id}': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'PATCH /scim/v2/Users/{user_id}': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'DELETE /scim/v2/Users/{user_id}': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'GET /scim/v2/Groups': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'POST /scim/v2/Groups': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'GET /scim/v2/Groups/{group_id}': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'PUT /scim/v2/Groups/{group_id}': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'PATCH /scim/v2/Groups/{group_id}': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'DELETE /scim/v2/Groups/{group_id}': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'GET /scim/v2/ServiceProviderConfig': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'GET /scim/v2/ResourceTypes': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'GET /scim/v2/ResourceTypes/{id}': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'GET /scim/v2/Schemas': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'GET /scim/v2/Schemas/{id}': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  // For every caller: nobody began a sign-in, and there is no such provider.
  'GET /auth/sso/{provider}': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'POST /auth/sso/{provider}': [401, 401, 401, 401, 401, 401, 401, 401, 401],
  'POST /auth/sso/{provider}/browser': [401, 401, 401, 401, 401, 401, 401, 401, 401],
  'POST /auth/sso/{provider}/backchannel-logout': [400, 400, 400, 400, 400, 400, 400, 400, 400],
  'GET /auth/sso/sign-out': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'POST /auth/sso/session': [401, 401, 401, 401, 401, 401, 401, 401, 401],
  'GET /auth/sso/callback/{tenant_id}/{provider}': [401, 401, 401, 401, 401, 401, 401, 401, 401],
  'POST /auth/sso/callback/{tenant_id}/{provider}': [401, 401, 401, 401, 401, 401, 401, 401, 401],
  'GET /auth/links': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'POST /auth/links': [401, 401, 401, 401, 401, 401, 401, 401, 401],
  'POST /auth/links/confirm': [401, 401, 401, 401, 401, 401, 401, 401, 401],
  'DELETE /auth/links/{provider}': [401, 401, 401, 401, 404, 404, 404, 404, 404],
  'POST /auth/device': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'POST /auth/device/token': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'POST /auth/device/approve': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  // For every caller: nobody was given the challenge that the passkey signed.
  'POST /auth/passkeys/options': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'POST /auth/passkeys/login': [401, 401, 401, 401, 401, 401, 401, 401, 401],
  'POST /auth/step-up/options': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  // None of them has a second factor.
  'POST /auth/step-up': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'GET /auth/sessions': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'DELETE /auth/sessions': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'DELETE /auth/sessions/{session_id}': [401, 401, 401, 401, 404, 404, 404, 404, 200],
  'POST /auth/logout': [401, 401, 401, 401, 204, 204, 204, 204, 204],
  'POST /auth/capabilities': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'PATCH /auth/me': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'GET /auth/me': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'POST /auth/password': [401, 401, 401, 401, 204, 204, 204, 204, 204],

  'POST /auth/tokens': [401, 401, 401, 401, 201, 201, 201, 201, 201],
  'GET /auth/tokens': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'GET /auth/tokens/{token_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'DELETE /auth/tokens/{token_id}': [401, 401, 401, 401, 404, 403, 403, 403, 200],
  'GET /.well-known/jwks.json': [200, 200, 200, 200, 200, 200, 200, 200, 200],

  'GET /auth/mfa': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'POST /auth/mfa/totp': [401, 401, 401, 401, 201, 201, 201, 201, 201],
  'POST /auth/mfa/totp/confirm': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'DELETE /auth/mfa/totp': [401, 401, 401, 401, 202, 202, 202, 202, 202],
  'POST /auth/mfa/passkeys/options': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'POST /auth/mfa/passkeys': [401, 401, 401, 401, 401, 401, 401, 401, 401],
  'GET /auth/mfa/passkeys': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'PATCH /auth/mfa/passkeys/{passkey_id}': [401, 401, 401, 401, 404, 404, 404, 404, 200],
  'DELETE /auth/mfa/passkeys/{passkey_id}': [401, 401, 401, 401, 404, 404, 404, 404, 202],
  'GET /auth/mfa/recovery-codes': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'POST /auth/mfa/recovery-codes': [401, 401, 401, 401, 404, 404, 404, 404, 404],

  // Who has no second factor has nothing to ask for.
  'POST /auth/mfa/trust': [401, 401, 401, 401, 404, 404, 404, 404, 404],

  'POST /v1/users': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'POST /v1/users/{user_id}/invite': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'GET /v1/users': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /v1/users/{user_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'GET /v1/users/{user_id}/vaults': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PATCH /v1/users/{user_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /v1/users/{user_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /v1/users/{user_id}/mfa': [401, 401, 401, 401, 404, 403, 403, 403, 202],
  // Each of them shows a token, and it takes a second factor.
  'POST /v1/users/{user_id}/mfa/trust': [401, 401, 401, 401, 404, 403, 403, 403, 403],

  'POST /v1/groups': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'GET /v1/groups': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /v1/groups/{group_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PATCH /v1/groups/{group_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /v1/groups/{group_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/groups/{group_id}/members': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'GET /v1/groups/{group_id}/members': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'DELETE /v1/groups/{group_id}/members/{user_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],

  'POST /v1/policies': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'GET /v1/policies': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'POST /v1/policies/simulate': [401, 401, 401, 401, 200, 403, 403, 200, 200],
  'POST /v1/policies/who-can': [401, 401, 401, 401, 200, 403, 403, 200, 200],
  'POST /v1/policies/explain': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'GET /v1/policies/{name}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'GET /v1/policies/{name}/versions': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PUT /v1/policies/{name}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /v1/policies/{name}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/policies/{name}/attach': [401, 401, 401, 401, 404, 403, 403, 202, 202],
  'POST /v1/policies/{name}/detach': [401, 401, 401, 401, 404, 403, 403, 202, 202],

  'POST /v1/shares': [401, 401, 401, 401, 201, 201, 201, 201, 201],
  'GET /v1/shares': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'DELETE /v1/shares/{share_id}': [401, 401, 401, 401, 404, 404, 404, 200, 200],
  'POST /v1/shares/{share_id}/open': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /s/{share_id}': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /s/script.js': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /s/style.css': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'POST /v1/access-requests': [401, 401, 401, 401, 202, 202, 202, 202, 202],
  'GET /v1/access-requests': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'DELETE /v1/access-requests/{access_id}': [401, 401, 401, 401, 404, 404, 404, 200, 200],
  'GET /approvals': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'GET /approvals/{approval_id}/values': [401, 401, 401, 401, 404, 404, 403, 200, 200],
  'GET /approvals/{approval_id}': [401, 401, 401, 401, 404, 404, 200, 200, 200],
  'POST /approvals/{approval_id}/approve': [401, 401, 401, 401, 404, 404, 403, 200, 200],
  'POST /approvals/{approval_id}/reject': [401, 401, 401, 401, 404, 404, 403, 200, 200],

  'GET /v1/vaults': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'POST /v1/vaults': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'GET /v1/vaults/{vault}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PATCH /v1/vaults/{vault}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /v1/vaults/{vault}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/restore': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /v1/vaults/{vault}/members': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /v1/vaults/{vault}/members': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'PATCH /v1/vaults/{vault}/members/{member_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /v1/vaults/{vault}/members/{member_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/members/review': [401, 401, 401, 401, 404, 403, 403, 200, 200],

  'GET /v1/vaults/{vault}/passphrase-check': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'PUT /v1/vaults/{vault}/passphrase-check': [401, 401, 401, 401, 404, 403, 403, 200, 200],

  'GET /v1/vaults/{vault}/secrets': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /v1/vaults/{vault}/secrets': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'GET /v1/vaults/{vault}/secrets/{path*}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'PUT /v1/vaults/{vault}/secrets/{path*}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /v1/vaults/{vault}/secrets/{path*}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/secrets/{path*}/restore': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /v1/vaults/{vault}/secrets/{path*}/versions': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'GET /v1/vaults/{vault}/references/{path*}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'GET /v1/vaults/{vault}/secrets/{path*}/risk': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /v1/vaults/{vault}/secrets/{path*}/rotate': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/secrets/{path*}/rollback': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/secrets/{path*}/move': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/secrets/{path*}/copy': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'GET /v1/vaults/{vault}/aggregate': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/search': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /vaults/collisions': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'GET /v1/secrets': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'GET /v1/secrets/due': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'POST /v1/secrets/known': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'POST /v1/vaults/{vault}/tokenize': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'POST /v1/vaults/{vault}/detokenize': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/changes': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/import': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /v1/vaults/{vault}/export': [401, 401, 401, 401, 404, 403, 403, 200, 200],

  'GET /environments': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'POST /environments': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'GET /environments/{environment_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PUT /environments/{environment_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /environments/{environment_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /environments/{environment_id}/secrets': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /environments/{environment_id}/secrets': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'DELETE /environments/{environment_id}/secrets/{secret_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /environments/{environment_id}/compose': [401, 401, 401, 401, 404, 403, 200, 200, 200],

  'POST /pqc/hybrid-classical/wrap': [401, 401, 401, 401, 200, 403, 403, 200, 200],
  'POST /pqc/hybrid-classical/unwrap': [401, 401, 401, 401, 422, 403, 403, 200, 200],
  'POST /pqc/dual-sign/sign': [401, 401, 401, 401, 200, 403, 403, 200, 200],
  'POST /pqc/dual-sign/verify': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /pqc/keys': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /pqc/keys/{key_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /pqc/keys/rotate': [401, 401, 401, 401, 201, 403, 403, 201, 201],

  'POST /v1/tenants': [401, 401, 401, 401, 403, 403, 403, 201, 201],
  'GET /v1/tenants': [401, 401, 401, 401, 403, 403, 200, 200, 200],
  'GET /v1/tenants/{tenant_id}': [401, 401, 401, 401, 403, 403, 403, 200, 200],
  'PATCH /v1/tenants/{tenant_id}': [401, 401, 401, 401, 403, 403, 403, 200, 200],
  'GET /admin/tenant-region': [401, 401, 401, 401, 403, 403, 404, 404, 404],
  'GET /admin/tenant-region/{tenant_id}': [401, 401, 401, 401, 403, 403, 403, 404, 404],
  'PUT /admin/tenant-region/{tenant_id}': [401, 401, 401, 401, 403, 403, 403, 404, 404],
  'POST /admin/tenant-region/{tenant_id}/promote': [401, 401, 401, 401, 403, 403, 403, 404, 404],
  'GET /crdt/sync': [403, 403, 403, 403, 403, 403, 403, 403, 403],
  'POST /crdt/sync': [403, 403, 403, 403, 403, 403, 403, 403, 403],
  'POST /saas/signup': [404, 404, 404, 404, 404, 404, 404, 404, 404],
  'POST /saas/verify': [404, 404, 404, 404, 404, 404, 404, 404, 404],
  'POST /saas/resend': [404, 404, 404, 404, 404, 404, 404, 404, 404],
  'GET /saas/tier': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /admin/nodes': [401, 401, 401, 401, 403, 403, 200, 200, 200],
  'GET /admin/jobs': [401, 401, 401, 401, 403, 403, 200, 200, 200],
  'POST /admin/jobs/{job}/run': [401, 401, 401, 401, 403, 403, 403, 200, 200],
  'GET /admin/plans': [401, 401, 401, 401, 403, 403, 200, 200, 200],
  'PUT /admin/plans/{plan}': [401, 401, 401, 401, 403, 403, 403, 200, 200],
  'POST /billing/webhook': [404, 404, 404, 404, 404, 404, 404, 404, 404],
  'GET /v1/tenant/settings': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'PATCH /v1/tenant/settings': [401, 401, 401, 401, 200, 403, 403, 200, 200],

  'GET /v1/audit': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /v1/audit/verify': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /v1/audit/activity': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /v1/audit/checkpoints': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'POST /v1/audit/checkpoints': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'GET /v1/audit/export': [401, 401, 401, 401, 200, 403, 200, 200, 200],

  'POST /v1/audit/exporters': [401, 401, 401, 401, 202, 403, 403, 202, 202],
  'GET /v1/audit/exporters': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /v1/audit/exporters/{exporter_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PATCH /v1/audit/exporters/{exporter_id}': [401, 401, 401, 401, 404, 403, 403, 202, 202],
  'DELETE /v1/audit/exporters/{exporter_id}': [401, 401, 401, 401, 404, 403, 403, 202, 202],
  'POST /v1/audit/exporters/{exporter_id}/test': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/audit/exporters/{exporter_id}/replay': [401, 401, 401, 401, 404, 403, 403, 200, 200],

  'GET /v1/access-paths': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /attack-paths': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /attack-paths/{attack_path_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /attack-paths/recompute': [401, 401, 401, 401, 200, 403, 403, 200, 200],

  'POST /copilot/explain-risk': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /copilot/summarize-path': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /copilot/validation-tasks': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /copilot/chat': [401, 401, 401, 401, 503, 403, 403, 503, 503],
  'POST /copilot/generate-code': [401, 401, 401, 401, 503, 403, 403, 503, 503],
  'POST /clusters': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'GET /clusters': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /clusters/{cluster_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'DELETE /clusters/{cluster_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /clusters/{cluster_id}/rotate-token': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /clusters/{cluster_id}/policies': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'GET /clusters/{cluster_id}/policies': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'DELETE /clusters/{cluster_id}/policies/{policy_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /clusters/{cluster_id}/audit': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'GET /clusters/{cluster_id}/desired-state': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'POST /clusters/{cluster_id}/status': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'POST /kube-guardian/endpoint-accounts': [401, 401, 401, 401, 403, 403, 403, 403, 403],
  'GET /endpoint-discovery/accounts': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /endpoint-discovery/accounts/{account_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /endpoint-discovery/accounts/{account_id}/link': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /endpoint-discovery/stats': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /endpoint-discovery/drift': [401, 401, 401, 401, 200, 403, 200, 200, 200],

  'POST /webhooks': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'GET /webhooks': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /webhooks/{webhook_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'GET /webhooks/{webhook_id}/url': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'PATCH /webhooks/{webhook_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /webhooks/{webhook_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /webhooks/{webhook_id}/rotate-secret': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /webhooks/{webhook_id}/test': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /webhooks/{webhook_id}/deliveries': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver': [401, 401, 401, 401, 404, 403, 403, 200, 200],

  'GET /anomalies': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'GET /anomalies/{anomaly_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /anomalies/{anomaly_id}/acknowledge': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /anomalies/{anomaly_id}/dismiss': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /anomalies/baselines': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'GET /anomalies/models': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'POST /anomalies/scan': [401, 401, 401, 401, 200, 403, 403, 200, 200],

  'GET /pki/root.pem': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /pki/{tenant_id}/ca.pem': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /pki/{tenant_id}/crl.pem': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /pki/{tenant_id}/crl.der': [200, 200, 200, 200, 200, 200, 200, 200, 200],

  'GET /health': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /health/ready': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /metrics': [401, 401, 401, 401, 403, 403, 403, 200, 200],

  // Off in tests that are not about it.
  'GET /': [404, 404, 404, 404, 404, 404, 404, 404, 404],
  'GET /console/script/{file}': [404, 404, 404, 404, 404, 404, 404, 404, 404],
  'GET /console/style/{file}': [404, 404, 404, 404, 404, 404, 404, 404, 404],
  'GET /console/icons/{file}': [404, 404, 404, 404, 404, 404, 404, 404, 404],
  'GET /console/font/{file}': [404, 404, 404, 404, 404, 404, 404, 404, 404],
  'GET /openapi.json': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /docs': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /docs/{page}': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /docs/guide': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /docs/guide/{page}': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /docs/style.css': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /docs/script.js': [200, 200, 200, 200, 200, 200, 200, 200, 200],
};

/** Open to anyone. Each is a door without a lock: think twice before adding one. */
const PUBLIC = [
  'POST /auth/login',
  // It tells the invited person what accepting the invitation gives.
  'POST /auth/read-invite',
  'POST /auth/accept-invite',
  // A sign-in at a provider: the code of a command line, the state and the id_token are verified by their handlers.
  'GET /auth/sso/{provider}',
  'POST /auth/sso/{provider}/browser',
  'POST /auth/sso/session',
  'POST /auth/sso/{provider}/backchannel-logout',
  'POST /auth/sso/{provider}',
  'GET /auth/sso/callback/{tenant_id}/{provider}',
  'POST /auth/sso/callback/{tenant_id}/{provider}',
  'POST /auth/device',
  'POST /auth/device/token',
  // Their handlers refuse a signature that is not of a passkey.
  'POST /auth/passkeys/options',
  'POST /auth/passkeys/login',
  // Off unless the operator turns them on.
  'POST /saas/signup',
  'POST /saas/verify',
  'POST /saas/resend',
  // Anyone who has the link of a share may open it once; what it has opens only with the key in the link.
  'POST /v1/shares/{share_id}/open',
  'GET /s/{share_id}',
  'GET /s/script.js',
  'GET /s/style.css',
  // Its handler refuses what the payment processor did not sign.
  'POST /billing/webhook',
  'GET /.well-known/jwks.json',
  // Their handlers refuse callers without a certificate of another region.
  'GET /crdt/sync',
  'POST /crdt/sync',
  'GET /pki/root.pem',
  'GET /pki/{tenant_id}/ca.pem',
  'GET /pki/{tenant_id}/crl.pem',
  'GET /pki/{tenant_id}/crl.der',
  'POST /app-connections/{connection}/federated-token',
  'POST /workload-identity/login',
  'GET /health',
  'GET /health/ready',
  'GET /',
  'GET /console/script/{file}',
  'GET /console/style/{file}',
  'GET /console/icons/{file}',
  'GET /console/font/{file}',
  'GET /openapi.json',
  'GET /docs',
  'GET /docs/{page}',
  'GET /docs/guide',
  'GET /docs/guide/{page}',
  'GET /docs/style.css',
  'GET /docs/script.js',
];

/** Only for the tenant that runs the installation, whatever a tenant's own policies say. */
const OPERATOR_ONLY = [
  'POST /v1/tenants',
  'GET /v1/tenants',
  'GET /v1/tenants/{tenant_id}',
  'PATCH /v1/tenants/{tenant_id}',
  'GET /admin/tenant-region',
  'GET /admin/tenant-region/{tenant_id}',
  'PUT /admin/tenant-region/{tenant_id}',
  'POST /admin/tenant-region/{tenant_id}/promote',
  'GET /admin/nodes',
  'GET /admin/jobs',
  'POST /admin/jobs/{job}/run',
  'GET /admin/plans',
  'PUT /admin/plans/{plan}',
  'GET /metrics',
];

/** Answers that are not held against a schema. */
const RAW = [
  // Pages for a browser that signs in.
  'GET /auth/sso/{provider}',
  'POST /auth/sso/{provider}',
  'GET /auth/sso/callback/{tenant_id}/{provider}',
  'POST /auth/sso/callback/{tenant_id}/{provider}',
  'GET /pki/root.pem',
  'GET /pki/{tenant_id}/ca.pem',
  'GET /pki/{tenant_id}/crl.pem',
  'GET /pki/{tenant_id}/crl.der',
  'GET /metrics',
  'GET /',
  'GET /console/script/{file}',
  'GET /console/style/{file}',
  'GET /console/icons/{file}',
  'GET /console/font/{file}',
  'GET /openapi.json',
  'GET /docs',
  'GET /docs/{page}',
  'GET /docs/guide',
  'GET /docs/guide/{page}',
  'GET /docs/style.css',
  'GET /docs/script.js',
  // The page of a link, which is the same for all.
  'GET /s/{share_id}',
  'GET /s/script.js',
  'GET /s/style.css',
  'GET /v1/audit/export',
  'GET /v1/vaults/{vault}/export',
  'GET /environments/{environment_id}/compose',
  'POST /app-connections/{connection}/export-zip',
];

/** Endpoints that a personal access token cannot use. */
const SESSION_ONLY = [
  'POST /auth/logout',
  'GET /auth/sso/sign-out',
  'GET /auth/links',
  'POST /auth/links',
  'POST /auth/links/confirm',
  'POST /auth/device/approve',
  'POST /auth/mfa/passkeys/options',
  'POST /auth/mfa/passkeys',
  'POST /auth/mfa/recovery-codes',
  'POST /auth/mfa/trust',
  'POST /auth/step-up/options',
  'POST /auth/step-up',
];
const MACHINE_ONLY = [
  'GET /app-connections/fetch/{client_id}/{vault}/{secret*}',
  'GET /eso/secrets/by-id',
  'GET /eso/secrets/by-name',
  'GET /eso/vault/{vault}',
  'GET /clusters/{cluster_id}/desired-state',
  'POST /clusters/{cluster_id}/status',
  'POST /kube-guardian/endpoint-accounts',
  'GET /scim/v2/Users',
  'POST /scim/v2/.search',
  'POST /scim/v2/Users/.search',
  'POST /scim/v2/Groups/.search',
  'POST /scim/v2/Users',
  'GET /scim/v2/Users/{user_id}',
  'PUT /scim/v2/Users/{user_id}',
  'PATCH /scim/v2/Users/{user_id}',
  'DELETE /scim/v2/Users/{user_id}',
  'GET /scim/v2/Groups',
  'POST /scim/v2/Groups',
  'GET /scim/v2/Groups/{group_id}',
  'PUT /scim/v2/Groups/{group_id}',
  'PATCH /scim/v2/Groups/{group_id}',
  'DELETE /scim/v2/Groups/{group_id}',
  'GET /scim/v2/ServiceProviderConfig',
  'GET /scim/v2/ResourceTypes',
  'GET /scim/v2/ResourceTypes/{id}',
  'GET /scim/v2/Schemas',
  'GET /scim/v2/Schemas/{id}',
];

/** What takes two people, always or in some cases: a door that is missing here opens for one. */
const APPROVED = [
  'DELETE /eaas/keys/{name}',
  'DELETE /auth/mfa/totp',
  'DELETE /auth/mfa/passkeys/{passkey_id}',
  'POST /auth/mfa/trust',
  'POST /v1/users',
  'PATCH /v1/users/{user_id}',
  'DELETE /v1/users/{user_id}',
  'DELETE /v1/users/{user_id}/mfa',
  'POST /v1/users/{user_id}/mfa/trust',
  'PATCH /v1/tenant/settings',
  'POST /admin/tenant-region/{tenant_id}/promote',
  'POST /v1/app-connections',
  'PATCH /v1/app-connections/{connection}',
  'POST /v1/vaults/{vault}/members',
  'PATCH /v1/vaults/{vault}/members/{member_id}',
  'POST /v1/access-requests',
  'POST /v1/vaults/{vault}/secrets',
  'PUT /v1/vaults/{vault}/secrets/{path*}',
  'DELETE /v1/vaults/{vault}/secrets/{path*}',
  'POST /v1/vaults/{vault}/secrets/{path*}/restore',
  'POST /v1/vaults/{vault}/secrets/{path*}/rotate',
  'POST /v1/vaults/{vault}/secrets/{path*}/rollback',
  'POST /v1/vaults/{vault}/changes',
  'POST /v1/vaults/{vault}/secrets/{path*}/move',
  'POST /v1/vaults/{vault}/secrets/{path*}/copy',
  'POST /clusters/{cluster_id}/policies',
  'POST /v1/vaults',
  'PATCH /v1/vaults/{vault}',
  'DELETE /v1/vaults/{vault}',
  'DELETE /v1/groups/{group_id}',
  'POST /v1/groups/{group_id}/members',
  'DELETE /v1/groups/{group_id}/members/{user_id}',
  'PUT /v1/policies/{name}',
  'POST /v1/policies/{name}/attach',
  'POST /v1/policies/{name}/detach',
  'POST /auth/sso/providers',
  'PATCH /auth/sso/providers/{name}',
  'DELETE /auth/sso/providers/{name}',
  'POST /auth/sso/providers/{name}/scim-tokens',
  'POST /v1/audit/exporters',
  'POST /v1/audit/exporters/{exporter_id}/replay',
  'PATCH /v1/audit/exporters/{exporter_id}',
  'DELETE /v1/audit/exporters/{exporter_id}',
];

interface Caller extends Sender {
  token: string | null;
  /** A session of the caller that has not been used up. */
  session(): Promise<string | null>;
  /** One that was just opened, and in which a second factor was shown. */
  fresh(): Promise<string | null>;
}

const named = (wanted: (e: EndpointDeclaration) => boolean) => DECLARATIONS.filter(wanted).map(nameOf).sort();

test('every endpoint has a row of the matrix, and every row an endpoint', () => {
  const declared = DECLARATIONS.map(nameOf);
  const missing = declared.filter((name) => EXPECTED[name] === undefined);
  assert.deepEqual(missing, [], 'add a row to EXPECTED in this file with the status for each of CALLERS');
  const gone = Object.keys(EXPECTED).filter((name) => !declared.includes(name));
  assert.deepEqual(gone, [], 'rows of EXPECTED for endpoints that do not exist');
  for (const [name, row] of Object.entries(EXPECTED)) assert.equal(row.length, CALLERS.length, name);
  const surplus = Object.keys(INPUTS).filter((name) => EXPECTED[name] === undefined);
  assert.deepEqual(surplus, [], 'input for endpoints that do not exist');
});

test('what is public, for the operator only, raw, for sessions only or for two people is what is written here', () => {
  assert.deepEqual(
    named((e) => e.approval !== 'none'),
    [...APPROVED].sort(),
  );
  assert.deepEqual(
    named((e) => e.credentials === 'public'),
    [...PUBLIC].sort(),
  );
  assert.deepEqual(
    named((e) => e.tenant === 'operator'),
    [...OPERATOR_ONLY].sort(),
  );
  assert.deepEqual(
    named((e) => e.raw !== 'none'),
    [...RAW].sort(),
  );
  assert.deepEqual(
    named((e) => e.credentials !== 'public' && !e.credentials.includes('pat')),
    [...SESSION_ONLY, ...MACHINE_ONLY].sort(),
  );
});

onSqliteAtLanding('the matrix', (database) => {
  let world: World;
  let callers: Record<CallerKind, Caller>;

  before(async () => {
    const service = await startService(database, { env: MACHINE_CALLERS_ENV });
    // Second factors that a call used up are put back in the database itself.
    service.expectErrorLogs(/fails verification/);
    const tenant = await addTenant(service);
    const owner = await addPerson(service, { role: 'owner' });
    world = { service, tenant, owner };
    callers = await makeCallers(world);
  });
  after(() => world.service.close());

  const expectedOf = (declaration: EndpointDeclaration, kind: CallerKind) =>
    EXPECTED[nameOf(declaration)]?.[CALLERS.indexOf(kind)] ?? 0;
  const isRefused = (declaration: EndpointDeclaration, kind: CallerKind) => expectedOf(declaration, kind) >= 400;
  const inputFor = async (declaration: EndpointDeclaration, kind: CallerKind): Promise<Input> =>
    (await INPUTS[nameOf(declaration)]?.(world, callers[kind])) ?? {};

  /** Failed authentications are limited by the minute and address, and there are hundreds here. */
  const waitOutFailures = () => world.service.clock.advance(MINUTE_MS);

  const credentialFor = (caller: Caller, declaration: EndpointDeclaration) => {
    if (TAKES_PROOF.has(declaration.name)) return caller.fresh();
    return SESSION_ONLY.includes(nameOf(declaration)) ? caller.session() : caller.token;
  };

  async function ask(declaration: EndpointDeclaration, kind: CallerKind, input: Input, pattern = declaration.path) {
    const caller = callers[kind];
    const { body } = input;
    const path = pathOf(declaration, input, pattern);
    const token = await credentialFor(caller, declaration);
    return world.service.call(declaration.method, path, { token, ...(body !== undefined && { body }) });
  }

  for (const declaration of DECLARATIONS) {
    test(nameOf(declaration), async () => {
      const actual: number[] = [];
      waitOutFailures();
      // Who is refused uses nothing up, so they can all be given the same.
      const shared = await inputFor(declaration, 'none');
      for (const kind of CALLERS) {
        const input = isRefused(declaration, kind) ? shared : await inputFor(declaration, kind);
        actual.push((await ask(declaration, kind, input)).status);
      }
      assert.deepEqual(actual, EXPECTED[nameOf(declaration)], `in the order ${CALLERS}`);
    });
  }

  /** Nobody may have many requests waiting, and every change that takes two people left one. */
  const withdrawAll = async ({ token }: Caller) => {
    const { approvals } = await ok(world.service.call('GET', '/approvals?status=pending&limit=100', { token }));
    for (const { id } of approvals) await world.service.call('POST', `/approvals/${id}/reject`, { token, body: {} });
  };

  test('every path answers the same with /v1 and without', async () => {
    await withdrawAll(callers.owner);
    for (const declaration of DECLARATIONS) {
      const [, other] = bothSpellings(declaration.path);
      waitOutFailures();
      const shared = await inputFor(declaration, 'owner');
      for (const kind of ['none', 'owner'] as const) {
        const isShared = kind === 'owner' || isRefused(declaration, kind);
        const input = isShared ? shared : await inputFor(declaration, kind);
        const { status } = await ask(declaration, kind, input, other);
        assert.equal(status, expectedOf(declaration, kind), `${declaration.method} ${other} for ${kind}`);
      }
    }
  });

  test('a wrong method answers 405 and says which are right', async () => {
    const methodsOf = Map.groupBy(DECLARATIONS, (e) => e.path);
    for (const [path, endpoints] of methodsOf) {
      const methods: string[] = endpoints.map((e) => e.method);
      const allowed = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
      const url = path.replace(/\{[a-z_]+\*\}/g, 'some/path').replace(/\{[a-z_]+\}/g, 'some_id');
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
        if (allowed.includes(method)) continue;
        for (const spelling of bothSpellings(url)) {
          const answer = await world.service.call(method, spelling, { token: null });
          assert.equal(answer.status, 405, `${method} ${spelling}`);
          if (path.startsWith('/scim/')) assert.equal(answer.body.status, '405');
          else assert.equal(answer.body.error.code, 'METHOD_NOT_ALLOWED');
          assert.deepEqual(answer.headers.get('allow')?.split(', ').sort(), [...allowed].sort());
        }
      }
    }
  });

  test('an unknown route answers 404', async () => {
    for (const path of ['/', '/v1', '/v1/', '/v1/nothing', '/nothing/at/all', '/v1/v1/users', '/auth', '/v2/users']) {
      await refused(world.service.call('GET', path, { token: null }), 404, 'NOT_FOUND');
    }
  });
});

/** Makes them in an order that lets some expire: everyone who shall not gets a token after the clock has moved. */
async function makeCallers({ service, tenant, owner }: World): Promise<Record<CallerKind, Caller>> {
  const leaver = await addPerson(service);
  const [expiredToken, expiredSession] = [
    (await addToken(service, leaver.token, { ttl_days: 1 })).token,
    await logIn(service, leaver),
  ];
  service.clock.advance(2 * DAY_MS);

  const revokedToken = await addToken(service, leaver.token);
  await ok(service.call('DELETE', `/auth/tokens/${revokedToken.id}`, { token: leaver.token }), 200);
  const revokedSession = await logIn(service, leaver);
  await ok(service.call('POST', '/auth/logout', { token: revokedSession }), 204);

  const fixed = (token: string | null, session: string | null): Caller => {
    return { isKnown: false, token, session: async () => session, fresh: async () => session, person: leaver };
  };
  const live = (person: Person): Caller => {
    const session = async () => {
      await deleteSecondFactor(service, person.id);
      return logIn(service, person);
    };
    const fresh = () => openSession(service, person.id, { isFactorShown: true });
    return { isKnown: true, token: person.token, session, fresh, person };
  };
  const forged = `${expiredToken.slice(0, -8)}AAAAAAAA`;
  return {
    none: fixed(null, null),
    wrong: fixed(forged, forged.slice('cv_pat_'.length)),
    expired: fixed(expiredToken, expiredSession),
    revoked: fixed(revokedToken.token, revokedSession),
    foreign: live(await addPerson(service, { tenant, role: 'admin' })),
    member: live(await addPerson(service, { role: 'member' })),
    auditor: live(await addPerson(service, { role: 'auditor' })),
    admin: live(await addPerson(service, { role: 'admin' })),
    owner: live(owner),
  };
}
