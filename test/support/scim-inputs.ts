import type { MakeInput, World } from './endpoint-inputs.ts';
import { ok, uniqueName } from './people.ts';
import { insertScimToken, PATCH_SCHEMA, type ScimClient, SEARCH_SCHEMA, scimOf } from './scim.ts';
import { someProvider } from './sign-on-inputs.ts';

/** Valid input for SCIM and its tokens, made afresh for each call. */
export const SCIM_INPUTS: Record<string, MakeInput> = {
  'POST /auth/sso/providers/{name}/scim-tokens': async (world) => ({
    ...(await someProvider(world)),
    body: { ttl_days: 1 },
  }),
  'GET /auth/sso/providers/{name}/scim-tokens': someProvider,
  'POST /auth/sso/providers/{name}/scim-tokens/{token_id}/rotate': async (world, sender) => ({
    ...(await someToken(world, sender)),
    body: { overlap_seconds: 60 },
  }),
  'DELETE /auth/sso/providers/{name}/scim-tokens/{token_id}': (world, sender) => someToken(world, sender),
  'GET /scim/v2/Users': async (world) => {
    const { userName } = await (await idpOf(world)).addUser();
    return { query: { filter: `userName eq "${userName}"`, startIndex: '1', count: '1' } };
  },
  'POST /scim/v2/.search': async (world) => searchFor('displayName', (await someNamed(world)).displayName),
  'POST /scim/v2/Users/.search': async (world) =>
    searchFor('userName', (await (await idpOf(world)).addUser()).userName),
  'POST /scim/v2/Groups/.search': async (world) => searchFor('displayName', (await someNamed(world)).displayName),
  'POST /scim/v2/Users': async () => ({ body: person() }),
  'GET /scim/v2/Users/{user_id}': someUser,
  'PUT /scim/v2/Users/{user_id}': async (world) => ({ ...(await someUser(world)), body: person() }),
  'PATCH /scim/v2/Users/{user_id}': async (world) => ({
    ...(await someUser(world)),
    body: patch({ op: 'replace', path: 'displayName', value: 'Changed' }),
  }),
  'DELETE /scim/v2/Users/{user_id}': someUser,
  'GET /scim/v2/Groups': async (world) => {
    const { displayName } = await (await idpOf(world)).addGroup(uniqueName('Group'));
    return { query: { filter: `displayName eq "${displayName}"`, excludedAttributes: 'members' } };
  },
  'POST /scim/v2/Groups': async () => ({ body: { displayName: uniqueName('Group') } }),
  'GET /scim/v2/Groups/{group_id}': someGroup,
  'PUT /scim/v2/Groups/{group_id}': async (world) => ({
    ...(await someGroup(world)),
    body: { displayName: uniqueName('Group') },
  }),
  'PATCH /scim/v2/Groups/{group_id}': async (world) => {
    const { id: value } = await (await idpOf(world)).addUser();
    return { ...(await someGroup(world)), body: patch({ op: 'add', path: 'members', value: [{ value }] }) };
  },
  'DELETE /scim/v2/Groups/{group_id}': someGroup,
  'GET /scim/v2/ResourceTypes/{id}': async () => ({ params: { id: 'User' } }),
  'GET /scim/v2/Schemas/{id}': async () => ({ params: { id: 'urn:ietf:params:scim:schemas:core:2.0:User' } }),
};

const someNamed = async (world: World) => (await idpOf(world)).addGroup(uniqueName('Group'));
const searchFor = (attribute: string, value: unknown) => ({
  body: { schemas: [SEARCH_SCHEMA], filter: `${attribute} eq ${JSON.stringify(value)}`, startIndex: 1, count: 10 },
});

const person = () => {
  const userName = `${uniqueName('user')}@acme.example`;
  return { userName, externalId: uniqueName('subject'), emails: [{ value: userName }] };
};
const patch = (...Operations: object[]) => ({ schemas: [PATCH_SCHEMA], Operations });

/** The provider of the tenant in which inputs are made. */
export async function idpOf({ service }: World): Promise<ScimClient> {
  return scimOf(service, await tenantOf(service));
}

async function tenantOf(service: World['service']): Promise<string> {
  return (await ok(service.call('GET', '/auth/me'))).tenant.id;
}

async function someUser(world: World) {
  return { params: { user_id: (await (await idpOf(world)).addUser()).id } };
}

async function someGroup(world: World) {
  return { params: { group_id: (await (await idpOf(world)).addGroup(uniqueName('Group'))).id } };
}

/** A token of the sender, who alone can replace it. */
async function someToken(world: World, { person }: Parameters<MakeInput>[1]) {
  const { params } = await someProvider(world);
  const { service } = world;
  const { tokenId } = await insertScimToken(service, await tenantOf(service), params.name, person.id);
  return { params: { ...params, token_id: tokenId } };
}
