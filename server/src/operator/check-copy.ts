import { decryptSample } from '../features/secrets/reading/index.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import { UnsealError } from '../kernel/crypto/sealing.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import type { Progress } from './progress.ts';
import { verifyAll } from './verify.ts';

/** Row counts were compared while the tables were filled. This verifies the content, with the keys that were copied. `what` begins a message. */
export async function checkCopy(kernel: Kernel, what: 'The copy' | 'The backup', progress: Progress): Promise<string> {
  const { lines, isValid, tenantIds } = await verifyAll(kernel, [], progress);
  if (!isValid) {
    throw new StartError(
      `${what} failed verification; the source may have the same problem: run "coffer server verify" there. ${lines.join('; ')}`,
    );
  }
  let opened = 0;
  for (const tenantId of tenantIds) {
    try {
      opened += await decryptSample(kernel, tenantId);
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      throw new StartError(`${what} has values of ${tenantId} that cannot be decrypted. The source is unchanged.`);
    }
  }
  return `the row counts of all tables match, the audit logs and rows of ${tenantIds.length} tenants were verified, and ${opened} values were decrypted.`;
}
