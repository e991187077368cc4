import { HOUR_MS } from '../../kernel/clock.ts';
import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { SECOND_LOOK_MS } from '../../kernel/time/clock-guard.ts';
import * as contract from './contract.ts';
import { createNonce, verify } from './service.ts';
import { deleteExpired } from './store.ts';

export function attestationFeature(kernel: Kernel): Feature {
  return {
    name: 'attestation',
    endpoints: [
      bind(contract.createNonce, (ctx) => createNonce(ctx)),
      bind(contract.verifyAttestation, (ctx, { body }) => verify(ctx, body)),
    ],
    jobs: [
      {
        name: 'forget-expired-attestation-nonces',
        intervalMs: HOUR_MS,
        // Nonces live for minutes, and a deleted one is refused, never accepted twice.
        removes: { secondLookMs: SECOND_LOOK_MS, share: null },
        run: (_, cutoff) => kernel.database.transaction((tx) => deleteExpired(tx, cutoff)),
      },
    ],
  };
}
