import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { notFound } from '../../kernel/base/errors.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { type CertificateRow, CURSOR_KIND } from '../certificates/index.ts';
import type * as contract from './contract.ts';
import { type ConnectionCertificate, listCertificates as declaration } from './contract.ts';
import type { ConnectionCertificates } from './ports.ts';
import { existing } from './service.ts';
import { resourcesOf } from './storage/connection-store.ts';

const LIST_CURSOR = new RegExp(`^${CURSOR_KIND}$`);
const SERIAL_FORM = /^[0-9a-f]{1,40}$/;

export async function listCertificates(
  ctx: Context,
  certificates: ConnectionCertificates,
  text: string,
  query: Query<typeof contract.listCertificates>,
) {
  const connection = await existing(ctx, text);
  const { client_id } = connection;
  const ofThis = new RegExp(`^${client_id}$`);
  const [, , after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), LIST_CURSOR, ofThis, SERIAL_FORM) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const found = await certificates.ofClient(ctx.database.read, ctx.tenantId, client_id, { after, limit });
  // A certificate is part of its connection, so the permission is checked on the connection.
  const resources = resourcesOf(connection);
  const page = await visiblePage(ctx, found, { permissions: [declaration.permission], resources: () => resources });
  return { certificates: page.rows.map(toWire), next_cursor: page.next_cursor };
}

function toWire({ serial, thumbprint, source, ...row }: CertificateRow): ConnectionCertificate {
  return {
    serial,
    thumbprint,
    is_exchanged: source !== null,
    not_before: timestamp(row.not_before),
    not_after: timestamp(row.not_after),
    revoked_at: timestampOrNull(row.revoked_at),
    reason: row.reason,
  };
}

/** Only this connection's serials are searched, so one of another connection is reported as not found. */
export async function revokeCertificate(
  ctx: Context,
  certificates: ConnectionCertificates,
  text: string,
  { serial, reason }: { serial: string; reason: string },
): Promise<undefined> {
  const { client_id: clientId } = await existing(ctx, text);
  ctx.record.describe({ client_id: clientId, serial: serial.toLowerCase(), reason });
  return ctx.change(async (tx) => {
    const which = { clientId, serials: [serial.toLowerCase()] };
    const revoked = await certificates.revoke(tx, ctx.tenantId, which, { reason, at: ctx.now });
    if (revoked.length === 0) throw notFound('certificate');
    await raiseEpoch(tx, ctx.tenantId);
    return undefined;
  });
}
