import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { ok } from './people.ts';
import type { Answer, Service } from './service.ts';

const WITHIN_MS = 60_000;

/** Computes the risks and attack paths of the tenant anew and waits for it; answers all its paths. */
export async function recompute(service: Service, token = service.adminToken): Promise<Answer['body'][]> {
  const read = () => ok(service.call('GET', '/attack-paths?limit=1000', { token }));
  const before = (await read()).computed_at;
  // Computed within the same millisecond, it would look as if it had not been.
  service.clock.advance(1);
  await ok(service.call('POST', '/attack-paths/recompute', { token }));
  const deadline = performance.now() + WITHIN_MS;
  for (;;) {
    const { computed_at, attack_paths } = await read();
    if (computed_at !== before) return attack_paths;
    assert.ok(performance.now() < deadline, 'attack paths are not computed');
    await sleep(50);
  }
}

/** Points by factor. */
export function pointsOf({ risk_factors }: Answer['body']): Record<string, number> {
  return Object.fromEntries(risk_factors.map(({ factor, points }: Answer['body']) => [factor, points]));
}
