import { feature } from '../../kernel/feature/declaration.ts';
import { mailWorker } from './outbox.ts';

/** Sends what other features write to the outbox. */
export const mailFeature = feature({
  name: 'mail',
  uses: ['activity', 'clock', 'config', 'database', 'keyring', 'log', 'metrics', 'plans', 'regionGate'],
  build(parts) {
    const worker = mailWorker(parts);
    return { workers: worker === null ? [] : [worker] };
  },
});
