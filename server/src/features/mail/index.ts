import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { mailWorker } from './outbox.ts';

export { isMailAddress, type Message } from './message.ts';
export {
  approvalNotice,
  breakGlassNotice,
  expiryNotice,
  invitationNotice,
  linkNotice,
  noticesOf,
  OCCASIONS,
  occasionsOf,
  RECIPIENTS_MAX,
  recoveryCodeNotice,
} from './notices.ts';
export { canMail, type PreparedMail, prepareMail, queueMail } from './outbox.ts';

/** Sends what other features write to the outbox. */
export function mailFeature(kernel: Kernel): Feature {
  let worker: ReturnType<typeof mailWorker> = null;
  return {
    name: 'mail',
    endpoints: [],
    started: () => {
      worker = mailWorker(kernel);
      worker?.start();
    },
    settled: async () => worker?.stop(),
  };
}
