import { HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import * as contract from './contract.ts';
import { createNonce, verify } from './service.ts';
import { deleteExpired } from './store.ts';

export const attestationFeature = feature({
  name: 'attestation',
  endpoints: contract,
  tables: {
    plain: { attestation_nonces: 'given out for attestations; a forged one lets its maker use a nonce of their own' },
  },
  uses: ['database'],
  build: (parts) => ({
    handlers: {
      createNonce: (ctx) => createNonce(ctx),
      verifyAttestation: (ctx, { body }) => verify(ctx, body),
    },
    jobs: [
      {
        name: 'forget-expired-attestation-nonces',
        intervalMs: HOUR_MS,
        // Nonces live for minutes, and a deleted one is refused, never accepted twice.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) => parts.database.transaction((tx) => deleteExpired(tx, cutoff)),
      },
    ],
  }),
});
