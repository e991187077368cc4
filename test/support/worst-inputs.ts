import type { EndpointDeclaration } from '../../server/src/kernel/endpoint/declaration.ts';
import type { Input, MakeInput, World } from './endpoint-inputs.ts';
import { someVault } from './factories.ts';
import { addToList, LISTS } from './lists.ts';
import { addColleague, done, ok, type Person, uniqueName } from './people.ts';
import { idpOf } from './scim-inputs.ts';
import { importPaths, POLICY_VERSION } from './vaults.ts';

/** What takes an endpoint longest, where that is more than a valid input with longer texts and more members. */

const SEGMENT = 'a'.repeat(31);
const FOLDER = Array(31).fill(SEGMENT).join('/');
/** The longest path there may be. */
const longestPath = (no: number) => `${FOLDER}/${no.toString(36).padStart(31, 'a')}`;
const SECRETS = 3000;
const PEOPLE = 200;
const NAMED = 100;
const OF_EACH_LIST = 12;
const LONG_VALUES = 8;
const MEBIBYTE = 2 ** 20;
/** Of the fullest policies, after which a further one is refused. */
const POLICIES_MAX = 40;

/** Patterns that search for text in each segment at each depth. */
export function costlyDocument(patterns: number) {
  const resource = Array.from({ length: patterns }, (_, no) => `vault/*/**/${'*a'.repeat(48)}b${no.toString(36)}`);
  return { version: POLICY_VERSION, statement: [{ effect: 'deny', action: ['*'], resource }] };
}

/** Attaches as many as the bound on their cost allows. Returns how many there are. */
export async function attachFullestPolicies({ service }: Pick<World, 'service'>, person: Person): Promise<number> {
  for (let no = 0; no < POLICIES_MAX; no++) {
    const name = uniqueName('fullest');
    await ok(service.call('POST', '/v1/policies', { body: { name, document: costlyDocument(16) } }), 201);
    const body = { principal: { user: person.id } };
    const attached = await service.call('POST', `/v1/policies/${name}/attach`, { body });
    if (attached.status === 422) return no;
    await done(service, Promise.resolve(attached), 200);
  }
  return POLICIES_MAX;
}

/** A tenant whose lists are full, and the names of what is fullest, by the names that paths have for it. */
export async function fillTenant(world: World, tenantId: string, token: string): Promise<Record<string, string>> {
  const { service, owner } = world;
  const vault = (await someVault(world)).params.vault;
  await importPaths(
    service,
    vault,
    Array.from({ length: SECRETS }, (_, no) => longestPath(no)),
  );
  for (let no = 0; no < LONG_VALUES; no++) {
    const body = { path: `${FOLDER}/long-${no}`, value: '\u0001'.repeat(MEBIBYTE) };
    await ok(service.call('POST', `/v1/vaults/${vault}/secrets`, { body }), 201);
  }
  const group = await ok(service.call('POST', '/v1/groups', { body: { name: uniqueName('fullest') } }), 201);
  const environment = await ok(service.call('POST', '/environments', { body: { name: uniqueName('fullest') } }), 201);
  for (let no = 0; no < PEOPLE; no++) {
    const { id } = await addColleague(service, tenantId, 'member');
    await ok(service.call('POST', `/v1/groups/${group.id}/members`, { body: { user_id: id } }), 201);
  }
  for (let no = 0; no < NAMED; no++) {
    await ok(service.call('POST', '/v1/groups', { body: { name: uniqueName('group') } }), 201);
    const document = costlyDocument(16);
    await ok(service.call('POST', '/v1/policies', { body: { name: uniqueName('policy'), document } }), 201);
    const url = `/v1/vaults/${vault}/secrets/${longestPath(no)}`;
    const { id: secret_id } = await ok(service.call('GET', url));
    const body = { secret_id, key_name: `KEY_${no}` };
    await ok(service.call('POST', `/environments/${environment.id}/secrets`, { body }), 201);
  }
  const side = { tenantId, token, world };
  for (const list of LISTS) for (let no = 0; no < OF_EACH_LIST; no++) await addToList(service, list, side);
  return {
    vault,
    path: `${FOLDER}/long-0`,
    group_id: group.id,
    environment_id: environment.id,
    user_id: owner.id,
  };
}

/** The same input about what is fullest, if it only reads: a change would use it up. */
export function aboutTheFullest(
  { effect }: EndpointDeclaration,
  input: Input,
  fullest: Record<string, string>,
): Input | null {
  const { params = {} } = input;
  const names = Object.keys(params).filter((name) => fullest[name] !== undefined);
  if (effect !== 'read' || names.length === 0) return null;
  return { ...input, params: { ...params, ...Object.fromEntries(names.map((name) => [name, String(fullest[name])])) } };
}

const lines = (bytes: number) => {
  const text: string[] = [];
  for (let no = 0; text.length * 64 < bytes; no++) text.push(`KEY_${no}="${'a'.repeat(40)}"`);
  return text.join('\n').slice(0, bytes);
};

async function encrypted({ service }: World, plaintexts: readonly string[]) {
  const name = uniqueName('key');
  await ok(service.call('POST', '/eaas/keys', { body: { name, delete_protection: false } }), 201);
  const items = plaintexts.map((plaintext) => ({ plaintext }));
  const { envelopes } = await ok(service.call('POST', `/eaas/keys/${name}/encrypt-batch`, { body: { items } }));
  return { params: { name }, items: (envelopes as string[]).map((envelope) => ({ envelope })) };
}

const oneLongEnvelope: MakeInput = async (world) => {
  const { params, items } = await encrypted(world, ['a'.repeat(MEBIBYTE)]);
  return { params, body: { ...items[0] } };
};

/** By the names of endpoints. */
export const WORST_INPUTS: Record<string, MakeInput[]> = {
  'POST /v1/secrets/known': [
    // Values that are nearly all digits, which look like a word of a list until their end.
    async () => ({ body: { values: Array.from({ length: 16 }, (_, no) => `a${'2'.repeat(16_370)}${no}-z6b`) } }),
  ],
  'POST /v1/vaults/{vault}/import': [
    async (world) => ({ ...(await someVault(world)), body: { dotenv: lines(2 * MEBIBYTE) } }),
    async (world) => ({ ...(await someVault(world)), body: { dotenv: lines(60_000) } }),
    async (world) => {
      const secrets = Array.from({ length: 1000 }, (_, no) => [longestPath(no), 'a'.repeat(10_000)]);
      return { ...(await someVault(world)), body: { secrets: Object.fromEntries(secrets) } };
    },
  ],
  'POST /v1/vaults/{vault}/changes': [
    async (world) => {
      const changes = Array.from({ length: 50 }, (_, no) => ({
        op: 'create',
        path: longestPath(no),
        value: '\u0001'.repeat(20_000),
      }));
      return { ...(await someVault(world)), body: { changes } };
    },
  ],
  'POST /v1/policies': [async () => ({ body: { name: uniqueName('policy'), document: costlyDocument(64) } })],
  'POST /v1/policies/simulate': [
    async () => ({
      body: {
        document: costlyDocument(64),
        action: 'secrets:read',
        resource: `vault/${'a'.repeat(60)}/${longestPath(0)}`,
      },
    }),
  ],
  'POST /v1/policies/who-can': [
    async () => ({ body: { action: 'secrets:read', resource: `vault/${'a'.repeat(60)}/${longestPath(0)}` } }),
  ],
  'POST /v1/policies/explain': [
    async () => ({ body: { action: 'secrets:read', resource: `vault/${'a'.repeat(60)}/${longestPath(0)}` } }),
  ],
  'POST /auth/capabilities': [
    async () => {
      const check = (no: number) => ({
        action: 'secrets:read',
        resource: `vault/${'a'.repeat(60)}/${longestPath(no)}`,
      });
      return { body: { checks: Array.from({ length: 50 }, (_, no) => check(no)) } };
    },
  ],
  'POST /eaas/keys/{name}/decrypt': [oneLongEnvelope],
  'POST /eaas/keys/{name}/rewrap': [oneLongEnvelope],
  'POST /eaas/keys/{name}/decrypt-batch': [
    async (world) => {
      const { params, items } = await encrypted(world, Array(1000).fill('a'.repeat(1000)));
      return { params, body: { items } };
    },
  ],
  'POST /scim/v2/Groups': [
    async (world) => {
      const { id } = await (await idpOf(world)).addUser();
      const members = Array.from({ length: 20_000 }, () => ({ value: id }));
      return { body: { displayName: uniqueName('Group'), members } };
    },
  ],
};
