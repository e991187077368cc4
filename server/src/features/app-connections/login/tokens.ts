import { cleanActor } from '../../../kernel/audit/entry/entry.ts';
import { invalidToken, RefusedCredential, type View } from '../../../kernel/auth/authentication.ts';
import { SECOND_MS } from '../../../kernel/base/clock.ts';
import { newId } from '../../../kernel/base/ids.ts';
import { equalBytes, sha256 } from '../../../kernel/crypto/digest.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import type { ResolvedToken, TokenResolver } from '../../tokens/index.ts';
import type { ConnectionCertificates } from '../ports.ts';
import { actingConnection, ownerOf } from '../principal.ts';
import { proofSize, proverOf } from '../proving.ts';

import { type ConnectionRow, findByClient } from '../storage/connection-store.ts';
import { type ConnectionTokenRow, findConnectionToken } from './token-store.ts';

export interface ConnectionTokenFacts {
  kind: ConnectionTokenRow['kind'];
  connection: Pick<ConnectionRow, 'tenant_id' | 'connection_no' | 'client_id'>;
  source: string;
  subject: string;
  dpopKey: string | null;
  certificateThumbprint: string | null;
  expiresAt: number;
}

/** Signs a token for a connection, outside any transaction. The caller stores the row in the change it belongs to. */
export async function issueConnectionToken(
  kernel: Pick<Kernel, 'clock' | 'signingKeys'>,
  facts: ConnectionTokenFacts,
): Promise<{ token: string; row: ConnectionTokenRow }> {
  const { kind, connection, source, subject, dpopKey, certificateThumbprint, expiresAt } = facts;
  const now = kernel.clock.now();
  const tokenId = newId('token', now);
  const cnf = {
    ...(dpopKey !== null && { jkt: dpopKey }),
    ...(certificateThumbprint !== null && { 'x5t#S256': certificateThumbprint }),
  };
  const token = await kernel.signingKeys.sign({
    sub: connection.client_id,
    jti: tokenId,
    exp: Math.floor(expiresAt / SECOND_MS),
    tid: connection.tenant_id,
    kind,
    ...(Object.keys(cnf).length > 0 && { cnf }),
  });
  const row: ConnectionTokenRow = {
    tenant_id: connection.tenant_id,
    token_id: tokenId,
    connection_no: connection.connection_no,
    kind,
    source,
    subject,
    token_hash: sha256(token),
    dpop_jkt: dpopKey,
    certificate_thumbprint: certificateThumbprint,
    created_at: now,
    expires_at: expiresAt,
    revoked_at: null,
  };
  return { token, row };
}

/** Resolves connection tokens. The audit log names them by their source. */
export class ConnectionTokens implements TokenResolver {
  readonly kind: ConnectionTokenRow['kind'];
  readonly #kernel: Pick<Kernel, 'clock' | 'database' | 'dpop'>;
  readonly #certificates: ConnectionCertificates;

  constructor(
    kind: ConnectionTokenRow['kind'],
    kernel: Pick<Kernel, 'clock' | 'database' | 'dpop'>,
    certificates: ConnectionCertificates,
  ) {
    this.kind = kind;
    this.#kernel = kernel;
    this.#certificates = certificates;
  }

  async resolve(text: string, claims: Parameters<TokenResolver['resolve']>[1], view: View): Promise<ResolvedToken> {
    const { tenantId, tokenId, subject: clientId } = claims;
    const { db } = view;
    const epoch = await view.epochOf(tenantId);
    const [token, row] = await Promise.all([
      findConnectionToken(db, tenantId, tokenId),
      findByClient(db, tenantId, clientId),
    ]);
    if (epoch === null) throw invalidToken('the token is not known');
    if (token === undefined || !equalBytes(token.token_hash, sha256(text))) {
      // We signed the token, so its client id is genuine. The row is missing because tokens are deleted together with their connection.
      const gone = { tenantId, kind: 'app_connection', id: clientId, name: row?.name ?? '', key: tokenId };
      throw new RefusedCredential('the token is not known', gone);
    }
    if (row === undefined || row.connection_no !== token.connection_no)
      throw invalidToken('the connection was deleted');
    const auditKey = cleanActor(`${token.source}: ${token.subject}`);
    const owner = ownerOf(row, auditKey);
    if (token.expires_at <= this.#kernel.clock.now()) throw new RefusedCredential('the token has expired', owner);
    if (token.revoked_at !== null) throw new RefusedCredential('the token is revoked', owner);
    const acting = await actingConnection(db, row, {
      credential: this.kind,
      credentialId: tokenId,
      auditKey,
      expiresAt: token.expires_at,
    });
    if (acting.principal === null) throw new RefusedCredential(acting.refusal, owner);
    const prove = proverOf(this.#kernel, this.#certificates, row, {
      token: text,
      tokenKey: token.dpop_jkt,
      tokenThumbprint: token.certificate_thumbprint,
      kind: this.kind,
    });
    return { principal: acting.principal, epoch, dpopKey: token.dpop_jkt, prove, proofBytes: proofSize(row) };
  }
}
