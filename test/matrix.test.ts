import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as OTPAuth from 'otpauth';
import { DECLARATIONS } from '../server/src/app.ts';
import { DAY_MS, MINUTE_MS } from '../server/src/kernel/clock.ts';
import type { EndpointDeclaration } from '../server/src/kernel/endpoint.ts';
import { bothSpellings } from '../server/src/kernel/http/routes.ts';
import {
  addPerson,
  addTenant,
  addToken,
  approved,
  logIn,
  ok,
  type Person,
  refused,
  type Tenant,
  uniqueName,
} from './support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from './support/service.ts';

/**
 * Who asks. All but `foreign` are of the tenant that runs the installation, which also holds what is asked for; `foreign` is an admin
 * of another tenant, with every right there.
 */
const CALLERS = ['none', 'wrong', 'expired', 'revoked', 'foreign', 'member', 'auditor', 'admin', 'owner'] as const;
type CallerKind = (typeof CALLERS)[number];

/** Every endpoint and what each caller gets, in the order of CALLERS. A new endpoint needs a row here. */
const EXPECTED: Record<string, number[]> = {
  'POST /auth/login': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'POST /auth/logout': [401, 401, 401, 401, 204, 204, 204, 204, 204],
  'GET /auth/me': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'POST /auth/password': [401, 401, 401, 401, 204, 204, 204, 204, 204],

  'POST /auth/tokens': [401, 401, 401, 401, 201, 201, 201, 201, 201],
  'GET /auth/tokens': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'GET /auth/tokens/{token_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'DELETE /auth/tokens/{token_id}': [401, 401, 401, 401, 404, 403, 403, 403, 204],
  'GET /.well-known/jwks.json': [200, 200, 200, 200, 200, 200, 200, 200, 200],

  'GET /auth/mfa': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'POST /auth/mfa/totp': [401, 401, 401, 401, 201, 201, 201, 201, 201],
  'POST /auth/mfa/totp/confirm': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'DELETE /auth/mfa/totp': [401, 401, 401, 401, 202, 202, 202, 202, 202],

  'POST /v1/users': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'GET /v1/users': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /v1/users/{user_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PATCH /v1/users/{user_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /v1/users/{user_id}': [401, 401, 401, 401, 404, 403, 403, 204, 204],
  'DELETE /v1/users/{user_id}/mfa': [401, 401, 401, 401, 404, 403, 403, 403, 202],

  'POST /v1/groups': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'GET /v1/groups': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /v1/groups/{group_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PATCH /v1/groups/{group_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /v1/groups/{group_id}': [401, 401, 401, 401, 404, 403, 403, 204, 204],
  'POST /v1/groups/{group_id}/members': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'GET /v1/groups/{group_id}/members': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'DELETE /v1/groups/{group_id}/members/{user_id}': [401, 401, 401, 401, 404, 403, 403, 204, 204],

  'POST /v1/policies': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'GET /v1/policies': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'POST /v1/policies/simulate': [401, 401, 401, 401, 200, 403, 403, 200, 200],
  'GET /v1/policies/{name}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PUT /v1/policies/{name}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /v1/policies/{name}': [401, 401, 401, 401, 404, 403, 403, 204, 204],
  'POST /v1/policies/{name}/attach': [401, 401, 401, 401, 404, 403, 403, 202, 202],
  'POST /v1/policies/{name}/detach': [401, 401, 401, 401, 404, 403, 403, 202, 202],

  'GET /approvals': [401, 401, 401, 401, 200, 200, 200, 200, 200],
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
  'DELETE /v1/vaults/{vault}/members/{member_id}': [401, 401, 401, 401, 404, 403, 403, 204, 204],
  'POST /v1/vaults/{vault}/members/review': [401, 401, 401, 401, 404, 403, 403, 200, 200],

  'GET /v1/vaults/{vault}/secrets': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /v1/vaults/{vault}/secrets': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'GET /v1/vaults/{vault}/secrets/{path*}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'PUT /v1/vaults/{vault}/secrets/{path*}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /v1/vaults/{vault}/secrets/{path*}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/secrets/{path*}/restore': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /v1/vaults/{vault}/secrets/{path*}/versions': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /v1/vaults/{vault}/secrets/{path*}/rotate': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/secrets/{path*}/rollback': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/secrets/{path*}/move': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/secrets/{path*}/copy': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'GET /v1/vaults/{vault}/aggregate': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/search': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /vaults/collisions': [401, 401, 401, 401, 200, 200, 200, 200, 200],
  'POST /v1/vaults/{vault}/tokenize': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'POST /v1/vaults/{vault}/detokenize': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'POST /v1/vaults/{vault}/import': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'GET /v1/vaults/{vault}/export': [401, 401, 401, 401, 404, 403, 403, 200, 200],

  'GET /environments': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'POST /environments': [401, 401, 401, 401, 201, 403, 403, 201, 201],
  'GET /environments/{environment_id}': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'PUT /environments/{environment_id}': [401, 401, 401, 401, 404, 403, 403, 200, 200],
  'DELETE /environments/{environment_id}': [401, 401, 401, 401, 404, 403, 403, 204, 204],
  'GET /environments/{environment_id}/secrets': [401, 401, 401, 401, 404, 403, 200, 200, 200],
  'POST /environments/{environment_id}/secrets': [401, 401, 401, 401, 404, 403, 403, 201, 201],
  'DELETE /environments/{environment_id}/secrets/{secret_id}': [401, 401, 401, 401, 404, 403, 403, 204, 204],
  'GET /environments/{environment_id}/compose': [401, 401, 401, 401, 404, 403, 200, 200, 200],

  'POST /v1/tenants': [401, 401, 401, 401, 403, 403, 403, 201, 201],
  'GET /v1/tenants': [401, 401, 401, 401, 403, 403, 200, 200, 200],
  'GET /v1/tenants/{tenant_id}': [401, 401, 401, 401, 403, 403, 403, 200, 200],
  'PATCH /v1/tenants/{tenant_id}': [401, 401, 401, 401, 403, 403, 403, 200, 200],

  'GET /v1/audit': [401, 401, 401, 401, 200, 403, 200, 200, 200],
  'GET /v1/audit/verify': [401, 401, 401, 401, 200, 403, 200, 200, 200],

  'GET /health': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /health/ready': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /metrics': [401, 401, 401, 401, 403, 403, 403, 200, 200],

  'GET /openapi.json': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /docs': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /docs/style.css': [200, 200, 200, 200, 200, 200, 200, 200, 200],
  'GET /docs/script.js': [200, 200, 200, 200, 200, 200, 200, 200, 200],
};

/** Open to anyone. Each is a door without a lock: think twice before adding one. */
const PUBLIC = [
  'POST /auth/login',
  'GET /.well-known/jwks.json',
  'GET /health',
  'GET /health/ready',
  'GET /openapi.json',
  'GET /docs',
  'GET /docs/style.css',
  'GET /docs/script.js',
];

/** Only for the tenant that runs the installation, whatever a tenant's own policies say. */
const OPERATOR_ONLY = [
  'POST /v1/tenants',
  'GET /v1/tenants',
  'GET /v1/tenants/{tenant_id}',
  'PATCH /v1/tenants/{tenant_id}',
  'GET /metrics',
];

/** Answers that are not held against a schema. */
const RAW = [
  'GET /metrics',
  'GET /openapi.json',
  'GET /docs',
  'GET /docs/style.css',
  'GET /docs/script.js',
  'GET /v1/vaults/{vault}/export',
];

/** Endpoints that a personal access token cannot use. */
const SESSION_ONLY = ['POST /auth/logout'];

/** What takes two people, always or in some cases: a door that is missing here opens for one. */
const APPROVED = [
  'DELETE /auth/mfa/totp',
  'POST /v1/users',
  'PATCH /v1/users/{user_id}',
  'DELETE /v1/users/{user_id}',
  'DELETE /v1/users/{user_id}/mfa',
  'DELETE /v1/vaults/{vault}',
  'DELETE /v1/groups/{group_id}',
  'POST /v1/groups/{group_id}/members',
  'DELETE /v1/groups/{group_id}/members/{user_id}',
  'PUT /v1/policies/{name}',
  'POST /v1/policies/{name}/attach',
  'POST /v1/policies/{name}/detach',
];

interface Caller {
  kind: CallerKind;
  token: string | null;
  /** A session of the caller that has not been used up. */
  session(): Promise<string | null>;
  person: Person;
}

interface World {
  service: Service;
  owner: Person;
  tenant: Tenant;
}

interface Input {
  /** Values for the braces of the path. */
  params?: Record<string, string>;
  body?: unknown;
}

/** Valid input for each endpoint that needs any, made afresh for each call, in the tenant of the owner. */
const INPUTS: Record<string, (world: World, caller: Caller) => Promise<Input>> = {
  'POST /auth/login': async ({ service }, { person: { email, password, tenant } }) => {
    await forgetSecondFactors(service);
    return { body: { email, password, ...(tenant !== undefined && { tenant }) } };
  },
  'POST /auth/password': async (_, { person: { password } }) => ({
    body: { current_password: password, new_password: password },
  }),
  'POST /auth/tokens': async () => ({ body: { name: 'for the matrix' } }),
  'GET /auth/tokens/{token_id}': ownersToken,
  'DELETE /auth/tokens/{token_id}': ownersToken,
  'POST /auth/mfa/totp': async ({ service }) => {
    await forgetSecondFactors(service);
    return {};
  },
  'POST /auth/mfa/totp/confirm': async ({ service }, { kind, person }) => {
    await forgetSecondFactors(service);
    if (!isKnown(kind)) return { body: { otp: '123456' } };
    return { body: { otp: await enrol(service, person) } };
  },
  'DELETE /auth/mfa/totp': async ({ service }, { kind, person }) => {
    await forgetSecondFactors(service);
    if (isKnown(kind)) await confirmFactor(service, person);
    return {};
  },
  'POST /v1/users': async () => ({ body: { email: `${uniqueName('user')}@example.com` } }),
  'GET /v1/users/{user_id}': someUser,
  'PATCH /v1/users/{user_id}': async (world) => ({ ...(await someUser(world)), body: { name: 'Changed' } }),
  'DELETE /v1/users/{user_id}': someUser,
  'DELETE /v1/users/{user_id}/mfa': async ({ service, owner }) => {
    await forgetSecondFactors(service);
    await confirmFactor(service, owner);
    return { params: { user_id: owner.id } };
  },
  'POST /v1/groups': async () => ({ body: { name: uniqueName('group') } }),
  'GET /v1/groups/{group_id}': someGroup,
  'PATCH /v1/groups/{group_id}': async (world) => ({ ...(await someGroup(world)), body: { description: 'Changed' } }),
  'DELETE /v1/groups/{group_id}': someGroup,
  'GET /v1/groups/{group_id}/members': someGroup,
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
  'GET /v1/policies/{name}': somePolicy,
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
  'GET /v1/vaults/{vault}/members': someVault,
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
  'GET /v1/vaults/{vault}/secrets': someVault,
  'POST /v1/vaults/{vault}/secrets': async (world) => ({
    ...(await someVault(world)),
    body: { path: 'a/new/one', value: 'x' },
  }),
  'GET /v1/vaults/{vault}/secrets/{path*}': someSecret,
  'PUT /v1/vaults/{vault}/secrets/{path*}': async (world) => ({ ...(await someSecret(world)), body: { value: 'y' } }),
  'DELETE /v1/vaults/{vault}/secrets/{path*}': someSecret,
  'POST /v1/vaults/{vault}/secrets/{path*}/restore': async (world) => {
    const made = await someSecret(world);
    await ok(world.service.call('DELETE', `/v1/vaults/${made.params.vault}/secrets/${made.params.path}`));
    return made;
  },
  'GET /v1/vaults/{vault}/secrets/{path*}/versions': someSecret,
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
    body: { to_path: 'moved' },
  }),
  'POST /v1/vaults/{vault}/secrets/{path*}/copy': async (world) => ({
    ...(await someSecret(world)),
    body: { to_path: 'copied' },
  }),
  'GET /v1/vaults/{vault}/aggregate': someSecretsVault,
  'POST /v1/vaults/{vault}/search': async (world) => ({
    ...(await someSecretsVault(world)),
    body: { query: 'something' },
  }),
  'POST /v1/vaults/{vault}/tokenize': async (world) => ({ ...(await someVault(world)), body: { value: '4111' } }),
  'POST /v1/vaults/{vault}/detokenize': async (world) => {
    const made = await someVault(world);
    const path = `/v1/vaults/${made.params.vault}/tokenize`;
    const { token } = await ok(world.service.call('POST', path, { body: { value: '4111' } }), 201);
    return { ...made, body: { token } };
  },
  'POST /v1/vaults/{vault}/import': async (world) => ({
    ...(await someVault(world)),
    body: { secrets: { 'a/b': 'c' } },
  }),
  'GET /v1/vaults/{vault}/export': someSecretsVault,
  'GET /approvals/{approval_id}': someApproval,
  'POST /approvals/{approval_id}/approve': async (world) => ({ ...(await someApproval(world)), body: {} }),
  'POST /approvals/{approval_id}/reject': async (world) => ({ ...(await someApproval(world)), body: {} }),
  'POST /environments': async () => ({ body: { name: uniqueName('environment') } }),
  'GET /environments/{environment_id}': someEnvironment,
  'PUT /environments/{environment_id}': async (world) => ({
    ...(await someEnvironment(world)),
    body: { name: uniqueName('environment') },
  }),
  'DELETE /environments/{environment_id}': someEnvironment,
  'GET /environments/{environment_id}/secrets': someEnvironment,
  'POST /environments/{environment_id}/secrets': async (world) => ({
    ...(await someEnvironment(world)),
    body: { secret_id: await someSecretId(world), key_name: 'SOME_KEY' },
  }),
  'DELETE /environments/{environment_id}/secrets/{secret_id}': async (world) => {
    const { params } = await someEnvironment(world);
    const body = { secret_id: await someSecretId(world), key_name: 'SOME_KEY' };
    await ok(world.service.call('POST', `/environments/${params.environment_id}/secrets`, { body }), 201);
    return { params: { ...params, secret_id: String(body.secret_id) } };
  },
  'GET /environments/{environment_id}/compose': someEnvironment,
  'POST /v1/tenants': async () => ({ body: { name: uniqueName('made'), owner_email: 'o@example.com' } }),
  'GET /v1/tenants/{tenant_id}': async ({ tenant }) => ({ params: { tenant_id: tenant.id } }),
  'PATCH /v1/tenants/{tenant_id}': async ({ tenant }) => ({
    params: { tenant_id: tenant.id },
    body: { plan: 'enterprise' },
  }),
};

const DOCUMENT = {
  version: '2026-01-01',
  statement: [{ effect: 'allow', action: ['audit:read'], resource: ['audit'] }],
};

async function somePolicy({ service }: World) {
  const name = uniqueName('policy');
  await ok(service.call('POST', '/v1/policies', { body: { name, document: DOCUMENT } }), 201);
  return { params: { name } };
}

async function someVault({ service }: World) {
  const vault = uniqueName('vault');
  await ok(service.call('POST', '/v1/vaults', { body: { name: vault, environment: 'staging' } }), 201);
  return { params: { vault } };
}

async function someMember(world: World) {
  const { params } = await someVault(world);
  const body = { user: world.owner.id, role: 'reader' };
  const { id } = await ok(world.service.call('POST', `/v1/vaults/${params.vault}/members`, { body }), 201);
  return { params: { ...params, member_id: String(id) } };
}

async function someSecret(world: World) {
  const { params } = await someVault(world);
  const body = { path: 'some/secret', value: 'something secret' };
  await ok(world.service.call('POST', `/v1/vaults/${params.vault}/secrets`, { body }), 201);
  return { params: { ...params, path: body.path } };
}

async function someSecretsVault(world: World) {
  const { vault } = (await someSecret(world)).params;
  return { params: { vault } };
}

/** Asked for by the admin of the first start, who is none of the callers. */
async function someApproval(world: World) {
  const { params } = await somePolicy(world);
  const body = { principal: { user: world.owner.id } };
  const { approval_id } = await ok(world.service.call('POST', `/v1/policies/${params.name}/attach`, { body }), 202);
  return { params: { approval_id: String(approval_id) } };
}

/** Begins an enrolment; answers the code that confirms it. */
async function enrol(service: Service, { token }: Person): Promise<string> {
  const { secret } = await ok(service.call('POST', '/auth/mfa/totp', { token }), 201);
  return new OTPAuth.TOTP({ secret }).generate({ timestamp: service.clock.now() });
}

async function confirmFactor(service: Service, person: Person): Promise<void> {
  const body = { otp: await enrol(service, person) };
  await ok(service.call('POST', '/auth/mfa/totp/confirm', { token: person.token, body }));
}

async function someSecretId(world: World): Promise<number> {
  const { vault, path } = (await someSecret(world)).params;
  return (await ok(world.service.call('GET', `/v1/vaults/${vault}/secrets/${path}`))).secret_id;
}

async function someEnvironment({ service }: World) {
  const body = { name: uniqueName('environment') };
  return { params: { environment_id: String((await ok(service.call('POST', '/environments', { body }), 201)).id) } };
}

async function ownersToken({ service, owner }: World) {
  return { params: { token_id: String((await addToken(service, owner.token)).id) } };
}

async function someUser({ service }: World) {
  const body = { email: `${uniqueName('user')}@example.com` };
  return { params: { user_id: String((await ok(service.call('POST', '/v1/users', { body }), 201)).id) } };
}

async function someGroup({ service }: World) {
  const body = { name: uniqueName('group') };
  return { params: { group_id: String((await ok(service.call('POST', '/v1/groups', { body }), 201)).id) } };
}

/** A person who has confirmed one cannot enrol again, and to give one up takes somebody else. */
async function forgetSecondFactors(service: Service): Promise<void> {
  await service.app.kernel.database.transaction(async (tx) => {
    await tx.deleteFrom('user_totp').execute();
    await tx.deleteFrom('user_recovery_codes').execute();
  });
}

function isKnown(kind: CallerKind): boolean {
  return !['none', 'wrong', 'expired', 'revoked'].includes(kind);
}

const nameOf = ({ method, path }: EndpointDeclaration) => `${method} ${path}`;
const named = (wanted: (e: EndpointDeclaration) => boolean) => DECLARATIONS.filter(wanted).map(nameOf).sort();

test('every endpoint has a row of the matrix, and every row an endpoint', () => {
  assert.deepEqual(Object.keys(EXPECTED).sort(), DECLARATIONS.map(nameOf).sort());
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
    SESSION_ONLY,
  );
});

onBothDatabases('the matrix', (database) => {
  let world: World;
  let callers: Record<CallerKind, Caller>;

  before(async () => {
    const service = await startService(database);
    const tenant = await addTenant(service);
    const owner = await addPerson(service, { role: 'owner' });
    world = { service, tenant, owner };
    callers = await makeCallers(world);
  });
  after(() => world.service.close());

  async function ask(declaration: EndpointDeclaration, kind: CallerKind, pattern: string): Promise<Answer> {
    // Failed authentications are limited by the minute and address, and there are hundreds here.
    if (kind === 'none') world.service.clock.advance(MINUTE_MS);
    const caller = callers[kind];
    const { params = {}, body } = (await INPUTS[nameOf(declaration)]?.(world, caller)) ?? {};
    const path = pattern.replace(/\{([a-z_]+)\*?\}/g, (_, name: string) => {
      assert.ok(params[name] !== undefined, `${nameOf(declaration)} needs a row in INPUTS for {${name}}`);
      return params[name];
    });
    const token = SESSION_ONLY.includes(nameOf(declaration)) ? await caller.session() : caller.token;
    return world.service.call(declaration.method, path, { token, ...(body !== undefined && { body }) });
  }

  for (const declaration of DECLARATIONS) {
    test(nameOf(declaration), async () => {
      const actual: number[] = [];
      for (const kind of CALLERS) actual.push((await ask(declaration, kind, declaration.path)).status);
      assert.deepEqual(actual, EXPECTED[nameOf(declaration)], `in the order ${CALLERS}`);
    });
  }

  test('every path answers the same with /v1 and without', async () => {
    for (const declaration of DECLARATIONS) {
      const [, other] = bothSpellings(declaration.path);
      for (const kind of ['none', 'owner'] as const) {
        const { status } = await ask(declaration, kind, other);
        const expected = EXPECTED[nameOf(declaration)]?.[CALLERS.indexOf(kind)];
        assert.equal(status, expected, `${declaration.method} ${other} for ${kind}`);
      }
    }
  });

  test('a wrong method answers 405 and says which are right', async () => {
    const methodsOf = Map.groupBy(DECLARATIONS, (e) => e.path);
    for (const [path, endpoints] of methodsOf) {
      const allowed = endpoints.map((e) => e.method);
      const url = path.replace(/\{[a-z_]+\*\}/g, 'some/path').replace(/\{[a-z_]+\}/g, 'some_id');
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
        if (allowed.includes(method)) continue;
        for (const spelling of bothSpellings(url)) {
          const answer = await world.service.call(method, spelling, { token: null });
          assert.equal(answer.status, 405, `${method} ${spelling}`);
          assert.equal(answer.body.error.code, 'METHOD_NOT_ALLOWED');
          assert.deepEqual(answer.headers.get('allow')?.split(', ').sort(), [...allowed].sort());
        }
      }
    }
  });

  test('a method that no endpoint has answers 405 too, on a path that exists', async () => {
    const answer = await world.service.call('OPTIONS', '/auth/me', { token: null });
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.get('allow'), 'GET');
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
  await ok(service.call('DELETE', `/auth/tokens/${revokedToken.id}`, { token: leaver.token }), 204);
  const revokedSession = await logIn(service, leaver);
  await ok(service.call('POST', '/auth/logout', { token: revokedSession }), 204);

  const fixed = (kind: CallerKind, token: string | null, session: string | null): Caller => {
    return { kind, token, session: async () => session, person: leaver };
  };
  const live = (kind: CallerKind, person: Person): Caller => {
    const session = async () => {
      await forgetSecondFactors(service);
      return logIn(service, person);
    };
    return { kind, token: person.token, session, person };
  };
  const forged = `${expiredToken.slice(0, -8)}AAAAAAAA`;
  return {
    none: fixed('none', null, null),
    wrong: fixed('wrong', forged, forged.slice('cv_pat_'.length)),
    expired: fixed('expired', expiredToken, expiredSession),
    revoked: fixed('revoked', revokedToken.token, revokedSession),
    foreign: live('foreign', await addPerson(service, { tenant, role: 'admin' })),
    member: live('member', await addPerson(service, { role: 'member' })),
    auditor: live('auditor', await addPerson(service, { role: 'auditor' })),
    admin: live('admin', await addPerson(service, { role: 'admin' })),
    owner: live('owner', owner),
  };
}
