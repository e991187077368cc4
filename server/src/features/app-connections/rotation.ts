import { DAY_MS, SECOND_MS, timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { equalBytes, sha256 } from '../../kernel/crypto/digest.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { CLIENT_SECRET } from './client-secret.ts';
import type * as contract from './contract.ts';
import { CERTIFICATE_DAYS_DEFAULT } from './contract.ts';
import type { ConnectionCertificates } from './ports.ts';
import { find, refuseDenied, refuseUnshareable, shownCertificate } from './service.ts';
import * as store from './storage/connection-store.ts';

/** Issues a new secret, a new certificate, or both: at least one, and both unless the body names one. */
export async function rotate(
  ctx: Context,
  certificates: ConnectionCertificates,
  text: string,
  body: Body<typeof contract.rotateConnection>,
) {
  const row = await authorized(ctx, text, body);
  const isCertificate = body.certificate ?? (body.csr_pem !== undefined || (body.client_secret ?? false) === false);
  const isSecret =
    body.client_secret ??
    (ctx.principal.kind === 'user' && body.certificate === undefined && body.csr_pem === undefined);
  if (!isSecret && !isCertificate) throw invalidField('/body', 'must request a client secret, a certificate, or both');
  if (body.csr_pem !== undefined && !isCertificate)
    throw invalidField('/body/csr_pem', 'is only used for a new certificate: omit it, or request a certificate');
  if (row.external_ca_pem !== null && body.certificate === true) {
    throw invalidField(
      '/body/certificate',
      'must be omitted or false: an external CA issues the certificates of this connection',
    );
  }
  const issues = isCertificate && row.external_ca_pem === null;
  if (!issues && !isSecret)
    throw invalidField(
      '/body',
      'must request a client secret: an external CA issues the certificates of this connection',
    );
  const prepared = issues
    ? await certificates.prepare({
        tenantId: ctx.tenantId,
        clientId: row.client_id,
        connectionNo: row.connection_no,
        ...(body.csr_pem !== undefined && { csrPem: body.csr_pem }),
        ttlMs: (body.certificate_ttl_days ?? CERTIFICATE_DAYS_DEFAULT) * DAY_MS,
      })
    : null;
  const secret = isSecret ? CLIENT_SECRET.create() : null;
  const overlapMs = (body.overlap_seconds ?? 0) * SECOND_MS;
  const until = overlapMs === 0 ? null : ctx.now + overlapMs;
  return ctx.change(async (tx) => {
    const current = await store.lockConnection(tx, ctx.tenantId, row.connection_no);
    if (current?.client_id !== row.client_id) throw notFound('connection');
    const shown = await refuseEnding(ctx, tx, certificates, current);
    ctx.record.describe({ client_id: current.client_id, client_secret: isSecret, certificate: issues });
    if (secret !== null) {
      await store.updateConnection(tx, {
        ...current,
        secret_hash: sha256(secret),
        secret_made_at: ctx.now,
        former_secret_hash: until === null ? null : current.secret_hash,
        former_secret_until: until,
        updated_at: ctx.now,
      });
    }
    if (prepared !== null) {
      // A certificate newer than the one that renews itself was given to somebody else, and stays valid.
      const former = { clientId: current.client_id, ...(shown !== undefined && { upTo: shown }) };
      const ended = await certificates.revoke(tx, ctx.tenantId, former, {
        reason: 'superseded',
        at: ctx.now + overlapMs,
      });
      await certificates.insert(tx, prepared.row);
      ctx.record.addEntry('cert_rotated', ctx.record.resource, { client_id: current.client_id, ended: ended.length });
      for (const serial of ended)
        ctx.record.addEntry('cert_revoked', ctx.record.resource, { serial, reason: 'superseded' });
    }
    await raiseEpoch(tx, ctx.tenantId);
    return {
      id: store.numberOf(current),
      client_id: current.client_id,
      client_secret: secret,
      ...shownCertificate(prepared),
      rotated_at: timestamp(ctx.now),
      former_valid_until: timestampOrNull(until),
    };
  });
}

/**
 * A person needs the permission, and must be allowed to share the vaults that the new credentials open. A connection renews its own certificate and
 * nothing else.
 */
async function authorized(
  ctx: Context,
  text: string,
  body: Body<typeof contract.rotateConnection>,
): Promise<store.ConnectionRow> {
  const { principal } = ctx;
  const row = await find(ctx.database.read, ctx.tenantId, text);
  if (principal.kind === 'app_connection' && row?.client_id === principal.id) {
    if (body.client_secret === true) {
      throw new CofferError(
        'INSUFFICIENT_PRIVILEGE',
        'A connection can renew its certificate but not its client secret: ask an administrator to renew the secret.',
        {
          auditReason: 'a connection requested a new secret',
        },
      );
    }
    ctx.access.authorizeCredentialOnly();
    ctx.record.setResource(`app-connection/${store.numberOf(row)}`);
    return row;
  }
  ctx.access.authorize(`app-connection/${text}`);
  ctx.access.requireUnrestricted();
  if (row === undefined) throw notFound('connection');
  refuseDenied(ctx, row);
  await refuseUnshareable(ctx, row);
  return row;
}

/**
 * A credential that is set to end renews nothing: its successor has been issued, and anyone who still holds the old one may be the reason why it was
 * replaced. This is checked while the connection is locked, so that no rotation comes in between. Returns the certificate that was presented, if we
 * issued it.
 */
async function refuseEnding(ctx: Context, tx: Tx, certificates: ConnectionCertificates, row: store.ConnectionRow) {
  const { principal, call } = ctx;
  if (principal.kind !== 'app_connection') return undefined;
  const isFormer = principal.credential === 'connection' && !isCurrentSecret(row, call.headers['x-client-secret']);
  if (isFormer) throw renewsNothing('This client secret was replaced and cannot renew credentials: use the new one.');
  if (!ctx.caller.proofs.mtls || call.certificate === null) return undefined;
  const shown = await certificates.issued(tx, row.tenant_id, call.certificate);
  if (shown?.source != null)
    throw renewsNothing(
      'This certificate was issued by an exchange and cannot renew credentials: use the connection’s own client secret or certificate.',
    );
  if (shown?.revoked_at != null) {
    throw renewsNothing('This certificate was replaced and cannot renew credentials: use the new one.');
  }
  return shown;
}

function isCurrentSecret({ secret_hash }: store.ConnectionRow, secret: unknown): boolean {
  return equalBytes(secret_hash, sha256(String(secret)));
}

function renewsNothing(message: string): CofferError {
  return new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason: 'the end of the credential is set' });
}
