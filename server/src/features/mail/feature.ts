import { feature } from '../../kernel/feature/declaration.ts';
import { mailWorker } from './outbox.ts';
import { mailSettings } from './settings.ts';

/** Sends what other features write to the outbox. */
export const mailFeature = feature({
  name: 'mail',
  tables: { plain: { outgoing_mail: 'the message is sealed, bound to its row; a forged time delays or repeats it' } },
  ids: ['mail'],
  settings: [mailSettings],
  uses: ['activity', 'clock', 'config', 'database', 'keyring', 'log', 'metrics', 'plans', 'regionGate'],
  build(parts) {
    const worker = mailWorker(parts);
    return { workers: worker === null ? [] : [worker] };
  },
});
