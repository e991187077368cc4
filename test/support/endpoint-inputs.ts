import assert from 'node:assert/strict';
import type { EndpointDeclaration } from '../../server/src/kernel/endpoint/declaration.ts';
import { ANOMALY_INPUTS } from './anomaly-inputs.ts';
import { ATTESTATION_INPUTS } from './attestation-inputs.ts';
import { COPILOT_INPUTS } from './copilot-inputs.ts';
import { ENCRYPTION_INPUTS } from './encryption-inputs.ts';
import { ENVIRONMENT_INPUTS, MORE_ENVIRONMENT_INPUTS } from './environment-inputs.ts';
import {
  changedPolicy,
  DOCUMENT,
  deleteSecondFactor,
  EMPTY_ENVELOPE,
  invitedPerson,
  memberOfVaults,
  namedGroup,
  ownersToken,
  POLICY_REQUEST,
  SHARED_ENVELOPE,
  seenApproval,
  someAccess,
  someApproval,
  someGroup,
  someMember,
  somePolicy,
  someSecret,
  someSecretsVault,
  someShare,
  someUser,
  someVault,
  someVaultDeletion,
  someWaitingChange,
  toAnotherVault,
  toUnlikeVault,
  underPrefix,
  zeroKnowledgeVault,
} from './factories.ts';
import { FLEET_INPUTS } from './fleet-inputs.ts';
import { MACHINE_INPUTS } from './machine-inputs.ts';
import { PASSKEY_INPUTS } from './passkey-inputs.ts';
import { approved, ok, type Person, type Tenant, uniqueName } from './people.ts';
import { PQC_INPUTS } from './pqc-inputs.ts';
import { MORE_ACCESS_PATHS, RISK_INPUTS } from './risk-inputs.ts';
import { SAAS_INPUTS } from './saas-inputs.ts';
import { SCIM_INPUTS } from './scim-inputs.ts';
import type { Service } from './service.ts';
import { SIGN_ON_INPUTS } from './sign-on-inputs.ts';
import { addTotp, beginTotp, codeOf } from './totp.ts';
import { WATCH_INPUTS } from './watch-inputs.ts';

/** Where inputs are made: in the tenant of the owner, by the caller of `service`. */
export interface World {
  service: Service;
  owner: Person;
  /** Another tenant. */
  tenant: Tenant;
}

/** Who is going to send an input: some are about the sender's own account. */
export interface Sender {
  /** Whether the sender's credential is accepted. */
  isKnown: boolean;
  person: Person;
}

export interface Input {
  /** Values for the braces of the path. */
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
}

export type MakeInput = (world: World, sender: Sender) => Promise<Input>;

export const nameOf = ({ method, path }: EndpointDeclaration) => `${method} ${path}`;

/** The path with the braces filled in, and the query. */
export function pathOf(declaration: EndpointDeclaration, input: Input, pattern = declaration.path): string {
  const { params = {}, query } = input;
  const path = pattern.replace(/\{([a-z_]+)\*?\}/g, (_, name: string) => {
    const advice = `add a row for ${nameOf(declaration)} to INPUTS (test/support/endpoint-inputs.ts) with params.${name}`;
    assert.ok(params[name] !== undefined, advice);
    return params[name];
  });
  return query === undefined ? path : `${path}?${new URLSearchParams(query)}`;
}

/** What adds or removes a factor of one's own: it takes a session that was just opened, and in which a factor was shown if there is one. */
export const TAKES_PROOF: ReadonlySet<string> = new Set([
  'enrolTotp',
  'confirmTotp',
  'disableTotp',
  'resetMfa',
  'deletePasskey',
]);

/** Somebody's second factor, just enrolled. */
const someFactor: MakeInput = async ({ service, owner }) => {
  await deleteSecondFactor(service, owner.id);
  await addTotp(service, owner.id);
  return { params: { user_id: owner.id } };
};

/**
 * Valid input for each endpoint that needs any, made afresh for each call, in the tenant of the owner. A list has two rows at least, so
 * that it has a second page.
 */
export const INPUTS: Record<string, MakeInput> = {
  // Without a filter it has no pages.
  'GET /v1/audit/activity': async () => ({ query: { action: '*' } }),
  ...MACHINE_INPUTS,
  ...ENCRYPTION_INPUTS,
  ...ATTESTATION_INPUTS,
  ...PQC_INPUTS,
  ...WATCH_INPUTS,
  ...ANOMALY_INPUTS,
  ...RISK_INPUTS,
  ...COPILOT_INPUTS,
  ...FLEET_INPUTS,
  ...SAAS_INPUTS,
  ...SIGN_ON_INPUTS,
  ...PASSKEY_INPUTS,
  ...SCIM_INPUTS,
  ...ENVIRONMENT_INPUTS,
  'POST /auth/login': async ({ service }, { person: { id, email, password, tenant } }) => {
    await deleteSecondFactor(service, id);
    return { body: { email, password, ...(tenant !== undefined && { tenant }) } };
  },
  'POST /auth/read-invite': async (world) => ({ body: { token: (await invitedPerson(world)).invitation.token } }),
  'POST /auth/accept-invite': async (world) => {
    const { invitation } = await invitedPerson(world);
    return { body: { token: invitation.token, password: 'a password of their own' } };
  },
  'POST /auth/password': async (_, { person: { password } }) => ({
    body: { current_password: password, new_password: password },
  }),
  'POST /auth/tokens': async () => ({ body: { name: 'for the matrix' } }),
  'GET /auth/tokens/{token_id}': ownersToken,
  'DELETE /auth/tokens/{token_id}': ownersToken,
  'POST /auth/mfa/totp': async ({ service }, { person }) => {
    await deleteSecondFactor(service, person.id);
    return {};
  },
  'POST /auth/mfa/totp/confirm': async ({ service }, { isKnown, person }) => {
    await deleteSecondFactor(service, person.id);
    if (!isKnown) return { body: { otp: '123456' } };
    return { body: { otp: codeOf(service, await beginTotp(service, person.id)) } };
  },
  'DELETE /auth/mfa/totp': async ({ service }, { isKnown, person }) => {
    await deleteSecondFactor(service, person.id);
    if (isKnown) await addTotp(service, person.id);
    return {};
  },
  'POST /v1/users': async () => ({ body: { email: `${uniqueName('user')}@example.com` } }),
  'POST /v1/users/{user_id}/invite': async (world) => ({ params: { user_id: (await invitedPerson(world)).id } }),
  'GET /v1/users/{user_id}': someUser,
  'GET /v1/users/{user_id}/vaults': memberOfVaults,
  'PATCH /v1/users/{user_id}': async (world) => ({ ...(await someUser(world)), body: { name: 'Changed' } }),
  'DELETE /v1/users/{user_id}': someUser,
  'DELETE /v1/users/{user_id}/mfa': someFactor,
  'POST /v1/users/{user_id}/mfa/trust': someFactor,
  'POST /v1/groups': async () => ({ body: { name: uniqueName('group') } }),
  'GET /v1/groups/{group_id}': someGroup,
  'PATCH /v1/groups/{group_id}': async (world) => ({ ...(await someGroup(world)), body: { description: 'Changed' } }),
  'DELETE /v1/groups/{group_id}': someGroup,
  'GET /v1/groups/{group_id}/members': async (world) => {
    const { params } = await someGroup(world);
    for (const user_id of [world.owner.id, (await someUser(world)).params.user_id]) {
      await ok(world.service.call('POST', `/v1/groups/${params.group_id}/members`, { body: { user_id } }), 201);
    }
    return { params };
  },
  'POST /v1/groups/{group_id}/members': async (world) => ({
    ...(await someGroup(world)),
    body: { user_id: world.owner.id },
  }),
  'DELETE /v1/groups/{group_id}/members/{user_id}': async (world) => {
    const { params } = await someGroup(world);
    const user_id = world.owner.id;
    await ok(world.service.call('POST', `/v1/groups/${params.group_id}/members`, { body: { user_id } }), 201);
    return { params: { ...params, user_id } };
  },
  'POST /v1/policies': async () => ({ body: { name: uniqueName('policy'), document: DOCUMENT } }),
  'POST /v1/policies/simulate': async () => ({ body: { document: DOCUMENT, action: 'audit:read', resource: 'audit' } }),
  'POST /v1/policies/explain': async () => ({ body: { action: 'audit:read', resource: 'audit' } }),
  'POST /v1/policies/who-can': async () => ({ body: { action: 'audit:read', resource: 'audit' } }),
  'GET /v1/policies/{name}': somePolicy,
  'GET /v1/policies/{name}/versions': changedPolicy,
  'PUT /v1/policies/{name}': async (world) => ({ ...(await somePolicy(world)), body: { document: DOCUMENT } }),
  'DELETE /v1/policies/{name}': somePolicy,
  'POST /v1/policies/{name}/attach': async (world) => ({
    ...(await somePolicy(world)),
    body: { principal: { user: world.owner.id } },
  }),
  'POST /v1/policies/{name}/detach': async (world) => {
    const made = await somePolicy(world);
    const body = { principal: { user: world.owner.id } };
    const attach = world.service.call('POST', `/v1/policies/${made.params.name}/attach`, { body });
    await approved(world.service, attach, world.owner.token);
    return { ...made, body };
  },
  'POST /v1/vaults': async () => ({ body: { name: uniqueName('vault'), environment: 'staging' } }),
  'GET /v1/vaults/{vault}': someVault,
  'PATCH /v1/vaults/{vault}': async (world) => ({ ...(await someVault(world)), body: { description: 'Changed' } }),
  'DELETE /v1/vaults/{vault}': someVault,
  'POST /v1/vaults/{vault}/restore': async (world) => {
    const made = await someVault(world);
    await ok(world.service.call('DELETE', `/v1/vaults/${made.params.vault}`));
    return made;
  },
  // The creator of a vault is its first member.
  'GET /v1/vaults/{vault}/members': async (world) => {
    const { vault } = (await someMember(world)).params;
    return { params: { vault } };
  },
  'POST /v1/vaults/{vault}/members': async (world) => ({
    ...(await someVault(world)),
    body: { user: world.owner.id, role: 'reader' },
  }),
  'PATCH /v1/vaults/{vault}/members/{member_id}': async (world) => ({
    ...(await someMember(world)),
    body: { role: 'writer' },
  }),
  'DELETE /v1/vaults/{vault}/members/{member_id}': someMember,
  'POST /v1/vaults/{vault}/members/review': someVault,
  'GET /v1/vaults/{vault}/secrets': someSecretsVault,
  'POST /v1/vaults/{vault}/secrets': async (world) => ({
    ...(await someVault(world)),
    body: { path: uniqueName('a/new'), value: 'x' },
  }),
  'GET /v1/vaults/{vault}/secrets/{path*}': someSecret,
  'PUT /v1/vaults/{vault}/secrets/{path*}': async (world) => ({ ...(await someSecret(world)), body: { value: 'y' } }),
  'DELETE /v1/vaults/{vault}/secrets/{path*}': someSecret,
  'POST /v1/vaults/{vault}/secrets/{path*}/restore': async (world) => {
    const made = await someSecret(world);
    await ok(world.service.call('DELETE', `/v1/vaults/${made.params.vault}/secrets/${made.params.path}`));
    return made;
  },
  'GET /v1/vaults/{vault}/references/{path*}': async (world) => {
    const made = await someSecret(world);
    const { vault, path } = made.params;
    const body = { type: 'template', value: `{{coffer://${vault}/part}}` };
    await ok(world.service.call('PUT', `/v1/vaults/${vault}/secrets/${path}`, { body }));
    return made;
  },
  'GET /v1/vaults/{vault}/secrets/{path*}/versions': async (world) => {
    const made = await someSecret(world);
    const { vault, path } = made.params;
    await ok(world.service.call('PUT', `/v1/vaults/${vault}/secrets/${path}`, { body: { value: 'y' } }));
    return made;
  },
  'POST /v1/vaults/{vault}/secrets/{path*}/rotate': async (world) => ({
    ...(await someSecret(world)),
    body: { value: 'z', reason: 'the matrix' },
  }),
  'POST /v1/vaults/{vault}/secrets/{path*}/rollback': async (world) => ({
    ...(await someSecret(world)),
    body: { to_version: 1 },
  }),
  'POST /v1/vaults/{vault}/secrets/{path*}/move': async (world) => ({
    ...(await someSecret(world)),
    body: { to_path: uniqueName('moved/to') },
  }),
  'POST /v1/vaults/{vault}/secrets/{path*}/copy': async (world) => ({
    ...(await someSecret(world)),
    body: { to_path: uniqueName('copied/to') },
  }),
  'GET /v1/vaults/{vault}/aggregate': someSecretsVault,
  'POST /v1/vaults/{vault}/search': async (world) => ({
    ...(await someSecretsVault(world)),
    body: { query: 'something' },
  }),
  'GET /v1/secrets': async (world) => {
    await someSecretsVault(world);
    return { query: { path: 'some/' } };
  },
  'GET /v1/secrets/due': async (world) => {
    const { vault } = (await someVault(world)).params;
    for (const path of [uniqueName('due/one'), uniqueName('due/two')]) {
      const body = { path, type: 'password', value: 'something secret', rotation: { interval_days: 1 } };
      await ok(world.service.call('POST', `/v1/vaults/${vault}/secrets`, { body }), 201);
    }
    return { query: { kind: 'rotation' } };
  },
  'POST /v1/secrets/known': async () => ({ body: { digests: ['0123456789abcdef'.repeat(4)] } }),
  'GET /v1/vaults/{vault}/passphrase-check': zeroKnowledgeVault,
  'POST /v1/shares': async () => ({ body: { envelope: SHARED_ENVELOPE, expires_in_seconds: 3600, views: 1 } }),
  'GET /v1/shares': async (world) => {
    await someShare(world);
    await someShare(world);
    return {};
  },
  'DELETE /v1/shares/{share_id}': someShare,
  'POST /v1/shares/{share_id}/open': someShare,
  'GET /s/{share_id}': someShare,
  'POST /v1/access-requests': async (world) => {
    const { vault } = (await someVault(world)).params;
    return { body: { vault, path: 'db', role: 'reader', ttl_seconds: 3600, reason: uniqueName('incident') } };
  },
  'GET /v1/access-requests': async (world) => {
    await someAccess(world);
    await someAccess(world);
    return {};
  },
  'DELETE /v1/access-requests/{access_id}': someAccess,
  'PUT /v1/vaults/{vault}/passphrase-check': async (world) => ({
    ...(await zeroKnowledgeVault(world)),
    body: { check: EMPTY_ENVELOPE, expected_version: 0 },
  }),
  'POST /v1/vaults/{vault}/tokenize': async (world) => ({ ...(await someVault(world)), body: { value: '4111' } }),
  'POST /v1/vaults/{vault}/detokenize': async (world) => {
    const made = await someVault(world);
    const path = `/v1/vaults/${made.params.vault}/tokenize`;
    const { token } = await ok(world.service.call('POST', path, { body: { value: '4111' } }), 201);
    return { ...made, body: { token } };
  },
  'POST /v1/vaults/{vault}/changes': async (world) => {
    const { vault, path } = (await someSecret(world)).params;
    const changes = [
      { op: 'update', path, value: 'changed', expected_version: 1 },
      { op: 'create', path: uniqueName('a/changed'), value: 'x' },
    ];
    return { params: { vault }, body: { changes } };
  },
  'POST /v1/vaults/{vault}/import': async (world) => ({
    ...(await someVault(world)),
    body: { secrets: { [uniqueName('imported/as')]: 'c' } },
  }),
  'GET /v1/vaults/{vault}/export': someSecretsVault,
  'GET /approvals/{approval_id}': someApproval,
  'GET /approvals/{approval_id}/values': someWaitingChange,
  'POST /approvals/{approval_id}/approve': async (world) => seenApproval(world, await someApproval(world)),
  'POST /approvals/{approval_id}/reject': async (world) => ({ ...(await someApproval(world)), body: {} }),
  'POST /admin/jobs/{job}/run': async () => ({ params: { job: 'verify-audit' } }),
  'POST /v1/tenants': async () => ({ body: { name: uniqueName('made'), owner_email: 'o@example.com' } }),
  'GET /pki/{tenant_id}/ca.pem': async ({ tenant }) => ({ params: { tenant_id: tenant.id } }),
  'GET /pki/{tenant_id}/crl.pem': async ({ tenant }) => ({ params: { tenant_id: tenant.id } }),
  'GET /pki/{tenant_id}/crl.der': async ({ tenant }) => ({ params: { tenant_id: tenant.id } }),
  'POST /auth/capabilities': async () => ({ body: { checks: [{ action: 'vaults:list', resource: 'vault/ours' }] } }),
  'GET /console/script/{file}': async () => ({ params: { file: 'main-5XK2M7QP.js' } }),
  'GET /console/style/{file}': async () => ({ params: { file: 'style-7RN4T2WB.css' } }),
  'GET /console/icons/{file}': async () => ({ params: { file: 'icons-3DB9A41C.svg' } }),
  'GET /console/font/{file}': async () => ({ params: { file: 'geist-latin-wght-normal-94EF01B7.woff2' } }),
  'GET /docs/{page}': async () => ({ params: { page: 'vaults' } }),
  'GET /docs/guide/{page}': async () => ({ params: { page: 'first-hour' } }),
  'PATCH /v1/tenant/settings': async () => ({ body: {} }),
  'GET /admin/tenant-region/{tenant_id}': async ({ tenant }) => ({ params: { tenant_id: tenant.id } }),
  'PUT /admin/tenant-region/{tenant_id}': async ({ tenant }) => ({
    params: { tenant_id: tenant.id },
    body: { region: 'eu' },
  }),
  'POST /admin/tenant-region/{tenant_id}/promote': async ({ tenant }) => ({
    params: { tenant_id: tenant.id },
    body: { region: 'eu', reason: 'the other region is lost' },
  }),
  'POST /crdt/sync': async () => ({ body: { operations: [REGION_OPERATION] } }),
  'GET /v1/tenants/{tenant_id}': async ({ tenant }) => ({ params: { tenant_id: tenant.id } }),
  'PATCH /v1/tenants/{tenant_id}': async ({ tenant }) => ({
    params: { tenant_id: tenant.id },
    body: { plan: 'enterprise' },
  }),
};

const REGION_OPERATION = {
  origin: 'eu',
  seq: 1,
  ms: 1,
  counter: 0,
  kind: 'tenant',
  key: 'tenant_1',
  tag: '',
  isRemoved: false,
  value: '{"name":"acme"}',
  signature: 'AAAA',
};

/** The same once more, where an endpoint takes something in another way or names something else: each must be as well guarded. */
export const MORE_INPUTS: Record<string, MakeInput[]> = {
  'GET /v1/access-paths': MORE_ACCESS_PATHS,
  'GET /v1/access-requests': [async (world) => ({ query: { vault: (await someVault(world)).params.vault } })],
  ...MORE_ENVIRONMENT_INPUTS,
  'GET /auth/tokens': [async ({ owner }) => ({ query: { user_id: owner.id } })],
  'POST /auth/tokens': [
    async (world) => {
      const { vault } = (await someVault(world)).params;
      return { body: { name: 'for one vault', scope: { vaults: [vault] } } };
    },
  ],
  'POST /v1/users': [
    async (world) => {
      const { vault } = (await someVault(world)).params;
      return { body: { email: `${uniqueName('user')}@example.com`, vaults: [{ vault, role: 'reader' }] } };
    },
  ],
  'POST /v1/policies/simulate': [
    async (world) => ({ body: { policy: (await somePolicy(world)).params.name, ...POLICY_REQUEST } }),
    async ({ owner }) => ({ body: { principal: { user: owner.email }, ...POLICY_REQUEST } }),
    async (world) => ({ body: { principal: { group: (await namedGroup(world)).name }, ...POLICY_REQUEST } }),
  ],
  'POST /v1/policies/{name}/attach': [
    async (world) => ({ ...(await somePolicy(world)), body: { principal: { user: world.owner.email } } }),
    async (world) => ({ ...(await somePolicy(world)), body: { principal: { group: (await namedGroup(world)).id } } }),
    async (world) => ({ ...(await somePolicy(world)), body: { principal: { group: (await namedGroup(world)).name } } }),
  ],
  'POST /v1/policies/{name}/detach': [
    async (world) => {
      const made = await somePolicy(world);
      const body = { principal: { group: (await namedGroup(world)).name } };
      const attach = world.service.call('POST', `/v1/policies/${made.params.name}/attach`, { body });
      await approved(world.service, attach, world.owner.token);
      return { ...made, body };
    },
  ],
  'POST /v1/vaults/{vault}/members': [
    async (world) => ({ ...(await someVault(world)), body: { user: world.owner.email, role: 'reader' } }),
    async (world) => ({ ...(await someVault(world)), body: { group: (await namedGroup(world)).id, role: 'reader' } }),
    async (world) => ({ ...(await someVault(world)), body: { group: (await namedGroup(world)).name, role: 'reader' } }),
  ],
  'GET /v1/secrets': [async (world) => ({ query: { path: (await someSecret(world)).params.path } })],
  'GET /v1/vaults/{vault}/secrets': [underPrefix],
  'GET /v1/vaults/{vault}/aggregate': [underPrefix],
  'GET /v1/vaults/{vault}/export': [underPrefix],
  'POST /v1/vaults/{vault}/search': [
    async (world) => {
      const { vault, path } = (await someSecret(world)).params;
      return { params: { vault }, body: { query: 'something', prefix: path } };
    },
  ],
  'POST /v1/vaults/{vault}/secrets': [
    async (world) => {
      const { vault, path } = (await someSecret(world)).params;
      return { params: { vault }, body: { path, value: 'x' } };
    },
  ],
  'POST /v1/vaults/{vault}/import': [
    async (world) => {
      const { vault, path } = (await someSecret(world)).params;
      return { params: { vault }, body: { secrets: { [path]: 'c' } } };
    },
  ],
  'POST /v1/vaults/{vault}/secrets/{path*}/restore': [
    async (world) => {
      const { params } = await someSecret(world);
      const gone = await ok(world.service.call('DELETE', `/v1/vaults/${params.vault}/secrets/${params.path}`));
      return { params, body: { secret_id: gone.id } };
    },
  ],
  'POST /v1/vaults/{vault}/secrets/{path*}/move': [toAnotherVault, toUnlikeVault],
  'POST /v1/vaults/{vault}/secrets/{path*}/copy': [toAnotherVault, toUnlikeVault],
  'GET /approvals/{approval_id}': [someVaultDeletion],
  'POST /approvals/{approval_id}/approve': [async (world) => seenApproval(world, await someVaultDeletion(world))],
  'POST /approvals/{approval_id}/reject': [async (world) => ({ ...(await someVaultDeletion(world)), body: {} })],
  'GET /v1/audit/activity': [
    async (world) => ({ query: { vault: (await someVault(world)).params.vault } }),
    async ({ owner }) => ({ query: { actor: owner.id } }),
  ],
  'GET /v1/audit': [
    async (world) => ({ query: { vault: (await someVault(world)).params.vault } }),
    async ({ owner }) => ({ query: { actor: owner.id } }),
  ],
};

export { deleteSecondFactor };
