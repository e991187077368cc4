import { ok } from './people.ts';
import type { Answer, Service } from './service.ts';
import { until } from './until.ts';

/** Computes the risks and attack paths of the tenant anew and waits for it; answers all its paths. */
export async function recompute(service: Service, token = service.adminToken): Promise<Answer['body'][]> {
  const read = () => ok(service.call('GET', '/attack-paths?limit=1000', { token }));
  const before = (await read()).computed_at;
  // Computed within the same millisecond, it would look as if it had not been.
  service.clock.advance(1);
  await ok(service.call('POST', '/attack-paths/recompute', { token }));
  let found: Answer['body'];
  await until('attack paths are not computed', async () => {
    found = await read();
    return found.computed_at !== before;
  });
  return found.attack_paths;
}

/** Points by factor. */
export function pointsOf({ risk_factors }: Answer['body']): Record<string, number> {
  return Object.fromEntries(risk_factors.map(({ factor, points }: Answer['body']) => [factor, points]));
}
