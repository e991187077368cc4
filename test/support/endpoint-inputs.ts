import assert from 'node:assert/strict';
import * as OTPAuth from 'otpauth';
import type { EndpointDeclaration } from '../../server/src/kernel/endpoint.ts';
import { addToken, approved, ok, type Person, type Tenant, uniqueName } from './people.ts';
import type { Service } from './service.ts';

/** Where inputs are made: in the tenant of the owner, by whoever `service` calls as. */
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
  body?: unknown;
}

export const nameOf = ({ method, path }: EndpointDeclaration) => `${method} ${path}`;

/** The path with the braces filled in. */
export function pathOf(declaration: EndpointDeclaration, { params = {} }: Input, pattern = declaration.path): string {
  return pattern.replace(/\{([a-z_]+)\*?\}/g, (_, name: string) => {
    assert.ok(params[name] !== undefined, `${nameOf(declaration)} needs a row in INPUTS for {${name}}`);
    return params[name];
  });
}

/** Valid input for each endpoint that needs any, made afresh for each call, in the tenant of the owner. */
export const INPUTS: Record<string, (world: World, sender: Sender) => Promise<Input>> = {
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
  'POST /auth/mfa/totp/confirm': async ({ service }, { isKnown, person }) => {
    await forgetSecondFactors(service);
    if (!isKnown) return { body: { otp: '123456' } };
    return { body: { otp: await enrol(service, person) } };
  },
  'DELETE /auth/mfa/totp': async ({ service }, { isKnown, person }) => {
    await forgetSecondFactors(service);
    if (isKnown) await confirmFactor(service, person);
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

/** Asked for by the admin the world calls as, who is none of the senders. */
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
export async function forgetSecondFactors(service: Service): Promise<void> {
  await service.app.kernel.database.transaction(async (tx) => {
    await tx.deleteFrom('user_totp').execute();
    await tx.deleteFrom('user_recovery_codes').execute();
  });
}
