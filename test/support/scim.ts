import assert from 'node:assert/strict';
import { SCIM_TOKEN } from '../../server/src/features/scim/scheme.ts';
import { SCIM_TOKENS } from '../../server/src/features/scim/token-store.ts';
import { SSO_PROVIDERS } from '../../server/src/features/sign-on/storage/identity-store.ts';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import { sha256 } from '../../server/src/kernel/crypto/digest.ts';
import { ok, uniqueName } from './people.ts';
import { recorded } from './rows.ts';
import type { Answer, Service } from './service.ts';

/** A provider that provisions people by SCIM, as Okta and Entra do. */

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const SEARCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest';
export const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

export interface ScimClient {
  provider: string;
  tokenId: string;
  token: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  patch(path: string, ...operations: object[]): Promise<Answer>;
  /** Provisions a person. */
  addUser(more?: Record<string, unknown>): Promise<ScimResource>;
  addGroup(displayName: string, members?: readonly string[]): Promise<ScimResource>;
}

export type ScimResource = Record<string, unknown> & { id: string };

/** Adds a provider with a SCIM token, by somebody who is the only admin of their tenant. */
export async function addScim(
  service: Service,
  token: string | undefined,
  more: Record<string, unknown> = {},
): Promise<ScimClient> {
  const as = token === undefined ? {} : { token };
  const provider = uniqueName('idp');
  const body = { name: provider, issuer: `https://${provider}.example`, client_id: 'coffer', ...more };
  await ok(service.call('POST', '/auth/sso/providers', { ...as, body }), 201);
  return addScimToken(service, provider, as);
}

export async function addScimToken(
  service: Service,
  provider: string,
  as: { token?: string } = {},
  more: object = {},
): Promise<ScimClient> {
  const path = `/auth/sso/providers/${provider}/scim-tokens`;
  const made = await ok(service.call('POST', path, { ...as, body: more }), 201);
  return scimClient(service, provider, made as unknown as { id: string; token: string });
}

/** Nothing listens here. */
export const ISSUER = 'https://127.0.0.1:9';

/** Straight into the database, since a second admin would have to approve it. Returns its name. */
export async function insertProvider({ app: { kernel } }: Service, tenantId: string, name: string): Promise<string> {
  const now = kernel.clock.now();
  const row = {
    tenant_id: tenantId,
    name,
    issuer: ISSUER,
    client_id: uniqueName('client'),
    sealed_secret: null,
    scopes: '["openid"]',
    groups_claim: 'groups',
    role_mapping: '{}',
    group_mapping: '{}',
    default_role: null,
    required: 0,
    enabled: 1,
    revision: 1,
    created_by: '',
    created_at: now,
    updated_at: now,
    subject_claim: 'sub',
  } as const;
  await recorded(kernel, tenantId, (tx) => SSO_PROVIDERS.insert(tx, row));
  return name;
}

/** The same for a token. All providers here have one issuer, so each token manages what any of them provisions. */
export async function insertScimToken(
  service: Service,
  tenantId: string,
  provider: string,
  createdBy: string,
): Promise<ScimClient> {
  const { kernel } = service.app;
  const now = kernel.clock.now();
  const token = SCIM_TOKEN.create();
  const row = {
    tenant_id: tenantId,
    token_id: newId('scim', now),
    provider,
    issuer_hash: sha256(ISSUER),
    description: '',
    token_hash: sha256(token),
    former_token_hash: null,
    former_token_until: null,
    expires_at: now + 90 * DAY_MS,
    created_by: createdBy,
    created_at: now,
  };
  await recorded(kernel, tenantId, (tx) => SCIM_TOKENS.insert(tx, row));
  return scimClient(service, provider, { id: row.token_id, token });
}

const shared = new WeakMap<Service['app'], Map<string, Promise<ScimClient>>>();

/** The provider of a tenant that provisions what other tests need. */
export function scimOf(service: Service, tenantId: string): Promise<ScimClient> {
  const known = shared.get(service.app) ?? new Map<string, Promise<ScimClient>>();
  shared.set(service.app, known);
  const made = known.get(tenantId) ?? insertScim(service, tenantId);
  known.set(tenantId, made);
  return made;
}

async function insertScim(service: Service, tenantId: string): Promise<ScimClient> {
  return insertScimToken(service, tenantId, await insertProvider(service, tenantId, uniqueName('scim')), '');
}

export function scimClient(service: Service, provider: string, made: { id: string; token: string }): ScimClient {
  const call: ScimClient['call'] = (method, path, body, headers = {}) =>
    service.call(method, `/scim/v2${path}`, {
      token: made.token,
      ...(body !== undefined && { body }),
      headers: { 'content-type': 'application/scim+json', ...headers },
    });
  return {
    provider,
    tokenId: made.id,
    token: made.token,
    call,
    patch: (path, ...Operations) => call('PATCH', path, { schemas: [PATCH_SCHEMA], Operations }),
    async addUser(more = {}) {
      const userName = `${uniqueName('user')}@acme.example`;
      const answer = await call('POST', '/Users', { schemas: [USER_SCHEMA], userName, active: true, ...more });
      assert.equal(answer.status, 201, answer.text);
      return answer.body as ScimResource;
    },
    async addGroup(displayName, members = []) {
      const body = { schemas: [GROUP_SCHEMA], displayName, members: members.map((value) => ({ value })) };
      const answer = await call('POST', '/Groups', body);
      assert.equal(answer.status, 201, answer.text);
      return answer.body as ScimResource;
    },
  };
}
