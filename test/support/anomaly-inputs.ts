import { finding, raiseIn } from './anomalies.ts';
import type { MakeInput, World } from './endpoint-inputs.ts';
import { someSecret } from './factories.ts';
import { ok } from './people.ts';
import { secretUrl } from './vaults.ts';

/** Valid input for what is about anomalies, made afresh for each call. Each anomaly is about a secret in a vault of its own. */
export const ANOMALY_INPUTS: Record<string, MakeInput> = {
  'GET /anomalies': async (world) => {
    await someAnomaly(world);
    await someAnomaly(world);
    return {};
  },
  'GET /anomalies/{anomaly_id}': someAnomaly,
  'POST /anomalies/{anomaly_id}/acknowledge': someAnomaly,
  'POST /anomalies/{anomaly_id}/dismiss': async (world) => ({
    ...(await someAnomaly(world)),
    body: { reason: 'expected' },
  }),
  'GET /anomalies/baselines': async (world) => {
    const { vault, path } = (await someSecret(world)).params;
    return { query: { resource: `vault/${vault}/${path}` } };
  },
};

async function someAnomaly(world: World) {
  const { service } = world;
  const me = await ok(service.call('GET', '/auth/me'));
  const { vault, path } = (await someSecret(world)).params;
  const { id: vaultId } = await ok(service.call('GET', `/v1/vaults/${vault}`));
  const { id: secretId } = await ok(service.call('GET', secretUrl(vault, path)));
  const found = finding({ resource: `vault/${vault}/${path}`, secretId, vaultId });
  const { anomalyId } = await raiseIn(service, me.tenant.id, 'stale_rotation', found);
  return { params: { anomaly_id: String(anomalyId) } };
}
