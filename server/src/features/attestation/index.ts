import { HOUR_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import * as contract from './contract.ts';
import { createNonce, verify } from './service.ts';
import { deleteExpired } from './store.ts';

export function attestationFeature(kernel: Kernel): Feature {
  return {
    name: 'attestation',
    endpoints: bindContract(contract, {
      createNonce: (ctx) => createNonce(ctx),
      verifyAttestation: (ctx, { body }) => verify(ctx, body),
    }),
    jobs: [
      {
        name: 'forget-expired-attestation-nonces',
        intervalMs: HOUR_MS,
        // Nonces live for minutes, and a deleted one is refused, never accepted twice.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) => kernel.database.transaction((tx) => deleteExpired(tx, cutoff)),
      },
    ],
  };
}
