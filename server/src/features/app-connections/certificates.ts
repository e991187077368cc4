import { notFound } from '../../kernel/platform/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import type { ConnectionCertificates } from './ports.ts';
import { existing } from './service.ts';

/** Only this connection's serials are searched, so one of another connection is reported as not found. */
export async function revokeCertificate(
  ctx: Context,
  certificates: ConnectionCertificates,
  text: string,
  serial: string,
  reason: string,
): Promise<undefined> {
  const { client_id: clientId } = await existing(ctx, text);
  ctx.record.describe({ client_id: clientId, serial: serial.toLowerCase(), reason });
  return ctx.change(async (tx) => {
    const which = { clientId, serials: [serial.toLowerCase()] };
    const revoked = await certificates.revoke(tx, ctx.tenantId, which, reason, ctx.now);
    if (revoked.length === 0) throw notFound('certificate');
    await raiseEpoch(tx, ctx.tenantId);
    return undefined;
  });
}
