import { HOUR_MS } from '../../kernel/clock.ts';
import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import * as contract from './contract.ts';
import { createNonce, verify } from './service.ts';
import { deleteExpired } from './store.ts';

export { ATTESTATION_ENDPOINTS } from './contract.ts';

export function attestationFeature(kernel: Kernel): Feature {
  const forgetExpired = () => kernel.database.transaction((tx) => deleteExpired(tx, kernel.clock.now()));
  return {
    name: 'attestation',
    endpoints: [
      bind(contract.createNonce, (ctx) => createNonce(ctx)),
      bind(contract.verifyAttestation, (ctx, { body }) => verify(ctx, body)),
    ],
    jobs: [{ name: 'forget-expired-attestation-nonces', intervalMs: HOUR_MS, run: forgetExpired }],
  };
}
