import type { MakeInput } from './endpoint-inputs.ts';
import { readSome, somePolicy, someVault } from './factories.ts';
import { ok } from './people.ts';
import { someAttackPath } from './risk-inputs.ts';

/** A provider that cannot be reached: what is computed is returned in plain sentences, and the rest says that it is unavailable. */
export const COPILOT_ENV = {
  CV_COPILOT_PROVIDER: 'ollama',
  CV_COPILOT_MODEL: 'none',
  CV_COPILOT_URL: 'http://127.0.0.1:9',
};

/** Valid input for the assistant, made afresh for each call. */
export const COPILOT_INPUTS: Record<string, MakeInput> = {
  'POST /copilot/explain-risk': async (world) => ({ body: { secret_id: (await readSome(world)).id } }),
  'POST /copilot/summarize-path': async (world) => ({ body: (await someAttackPath(world)).params }),
  'POST /copilot/validation-tasks': async (world) => {
    const { vault } = (await someVault(world)).params;
    const { id } = await ok(world.service.call('GET', `/v1/vaults/${vault}`));
    return { body: { vault_id: id, policy: (await somePolicy(world)).params.name } };
  },
  'POST /copilot/chat': async () => ({
    body: { messages: [{ role: 'user', content: 'How do I rotate a password?' }] },
  }),
  'POST /copilot/generate-code': async () => ({ body: { language: 'python', prompt: 'Read a secret.' } }),
};
