import type { MakeInput } from './endpoint-inputs.ts';
import { bindSome, nameOfSomeEnvironment, readSome, someEnvironment } from './factories.ts';
import { uniqueName } from './people.ts';

/** Valid input for environments, made afresh for each call. */
export const ENVIRONMENT_INPUTS: Record<string, MakeInput> = {
  'POST /environments': async () => ({ body: { name: uniqueName('environment') } }),
  'GET /environments/{environment_id}': someEnvironment,
  'PUT /environments/{environment_id}': async (world) => ({
    ...(await someEnvironment(world)),
    body: { name: uniqueName('environment') },
  }),
  'DELETE /environments/{environment_id}': someEnvironment,
  'GET /environments/{environment_id}/secrets': async (world) => {
    const { params } = await someEnvironment(world);
    for (const key_name of ['SOME_KEY', 'SOME_OTHER_KEY']) await bindSome(world, params.environment_id, key_name);
    return { params };
  },
  'POST /environments/{environment_id}/secrets': async (world) => ({
    ...(await someEnvironment(world)),
    body: { secret_id: (await readSome(world)).secret_id, key_name: 'SOME_KEY' },
  }),
  'DELETE /environments/{environment_id}/secrets/{secret_id}': async (world) => {
    const { params } = await someEnvironment(world);
    const { secret_id } = await bindSome(world, params.environment_id);
    return { params: { ...params, secret_id: String(secret_id) } };
  },
  'GET /environments/{environment_id}/compose': someEnvironment,
};

/** The same in other ways, as in `MORE_INPUTS`. */
export const MORE_ENVIRONMENT_INPUTS: Record<string, MakeInput[]> = {
  'POST /environments': [
    async (world) => {
      const { environment_id } = (await someEnvironment(world)).params;
      return { body: { name: uniqueName('environment'), parent_id: Number(environment_id) } };
    },
    async (world) => ({ body: { name: uniqueName('environment'), parent: await nameOfSomeEnvironment(world) } }),
  ],
  'GET /environments/{environment_id}': [
    async (world) => ({ params: { environment_id: await nameOfSomeEnvironment(world) } }),
  ],
  'PUT /environments/{environment_id}': [
    async (world) => {
      const parent_id = Number((await someEnvironment(world)).params.environment_id);
      return { ...(await someEnvironment(world)), body: { name: uniqueName('environment'), parent_id } };
    },
    async (world) => {
      const parent = await nameOfSomeEnvironment(world);
      return { ...(await someEnvironment(world)), body: { name: uniqueName('environment'), parent } };
    },
  ],
  'POST /environments/{environment_id}/secrets': [
    async (world) => ({
      ...(await someEnvironment(world)),
      body: { secret_id: (await readSome(world)).id, key_name: 'SOME_KEY' },
    }),
  ],
  'DELETE /environments/{environment_id}/secrets/{secret_id}': [
    async (world) => {
      const { params } = await someEnvironment(world);
      const { id } = await bindSome(world, params.environment_id);
      return { params: { ...params, secret_id: id } };
    },
  ],
  'GET /environments/{environment_id}/compose': [
    async (world) => {
      const { params } = await someEnvironment(world);
      await bindSome(world, params.environment_id);
      return { params, query: { resolve: 'true' } };
    },
    async (world) => ({ params: { environment_id: await nameOfSomeEnvironment(world) } }),
  ],
};
