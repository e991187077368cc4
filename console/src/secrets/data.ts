import { call } from '../app/api.ts';

export type SecretSummary = NonNullable<Awaited<ReturnType<typeof findSecret>>['secret']>;

/** From the list of the vault, because reading the secret itself would count as a read of its value. */
export async function findSecret(vault: string, path: string, signal: AbortSignal) {
  const [{ secrets }, detail] = await Promise.all([
    call('GET /v1/vaults/{vault}/secrets', { path: { vault }, query: { prefix: path, limit: 100 } }, { signal }),
    call('GET /v1/vaults/{vault}', { path: { vault } }, { signal }),
  ]);
  return { secret: secrets.find((each) => each.path === path) ?? null, isZeroKnowledge: detail.is_zero_knowledge };
}
