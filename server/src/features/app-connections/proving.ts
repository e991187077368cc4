import { NO_PROOFS, type Prove } from '../../kernel/auth/authentication.ts';
import type { RoutedCall } from '../../kernel/auth/call.ts';
import { refusedProof } from '../../kernel/auth/dpop-guard.ts';
import { ceilingSize } from '../../kernel/authz/compiled-size.ts';
import { addressIsIn, compileCidrs } from '../../kernel/authz/condition.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import type { CredentialKind } from '../../kernel/endpoint/declaration.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { ConnectionCertificates } from './ports.ts';
import { allowlistOf, invalidClient } from './principal.ts';
import { SESSIONS_BYTES_MAX, SessionGate } from './sessions.ts';
import type { ConnectionRow } from './storage/connection-store.ts';

/** What the credential itself contributes to a request. */
export interface Presented {
  /** The token that was sent; null for client headers and for a certificate alone. */
  token: string | null;
  /** The key the token is bound to. */
  tokenKey: string | null;
  /** The certificate the token is bound to. */
  tokenThumbprint: string | null;
  kind: CredentialKind;
}

/**
 * Checks what every request of a connection must prove, in this order: certificate, DPoP, address, session. The client secret or the token was
 * checked before; the scope is checked after, with all other authorization.
 */
export function proverOf(
  kernel: Pick<Kernel, 'database' | 'dpop'>,
  certificates: ConnectionCertificates,
  row: ConnectionRow,
  presented: Presented,
): Prove {
  const allowlist = allowlistOf(row);
  const cidrs = allowlist === null ? null : compileCidrs(allowlist, '/ip_allowlist');
  const sessions = new SessionGate(kernel, row);
  return async (request, isAgain = false) => {
    const { call, now } = request;
    const mtls = await certificateShown(certificates, row, presented, request);
    const key = await keyProven(kernel, row, presented, { request, mtls });
    if (cidrs !== null && addressIsIn(cidrs, call.address) !== true) {
      throw new CofferError('IP_NOT_ALLOWED', 'This connection may not be used from this address.', {
        auditReason: 'ip_not_allowed',
      });
    }
    const session = mtls ? `certificate ${call.certificate?.thumbprint}` : key === null ? call.address : `key ${key}`;
    if (!isAgain) await sessions.admit(session, now);
    return key === null && !mtls ? NO_PROOFS : { mtls, dpop: key !== null };
  };
}

/** The maximum memory that a prover holds. */
export function proofSize(row: ConnectionRow): number {
  const ofSessions = row.session_limit === null ? 0 : SESSIONS_BYTES_MAX;
  return ofSessions + ceilingSize({ ip_allowlist: allowlistOf(row) ?? undefined });
}

async function certificateShown(
  certificates: ConnectionCertificates,
  row: ConnectionRow,
  { tokenThumbprint, kind }: Presented,
  { call }: RoutedCall,
): Promise<boolean> {
  const peer = call.certificate;
  const isIdentity = kind === 'certificate' || kind === 'bound_certificate';
  const isRequired = row.mtls_required === 1 || isIdentity || tokenThumbprint !== null;
  if (peer === null) {
    if (isRequired) throw certificateRequired('no certificate was presented');
    return false;
  }
  const verdict = await certificates.check(
    { tenantId: row.tenant_id, clientId: row.client_id },
    peer,
    row.external_ca_pem,
    row.denied_thumbprints,
  );
  if (!verdict.ok) {
    // The certificate identifies the caller. A response that differs from that for an unknown client would reveal to a stranger which clients exist.
    if (isIdentity) throw invalidClient(`certificate: ${verdict.reason}`, row);
    // A service mesh may present certificates of its own, which mean nothing to us and are ignored.
    if (isRequired) throw certificateRequired(verdict.reason);
    return false;
  }
  if (tokenThumbprint !== null && tokenThumbprint !== peer.thumbprint) {
    throw certificateRequired('the token is bound to another certificate');
  }
  return true;
}

function certificateRequired(reason: string): CofferError {
  const message =
    'Present the valid client certificate of this connection, on the TLS port or through a trusted proxy.';
  return new CofferError('CERTIFICATE_REQUIRED', message, { auditReason: `certificate: ${reason}` });
}

async function keyProven(
  kernel: Pick<Kernel, 'dpop'>,
  row: ConnectionRow,
  { token, tokenKey, kind }: Presented,
  { request, mtls }: { request: RoutedCall; mtls: boolean },
): Promise<string | null> {
  const key = await kernel.dpop.provenKey(request, row.tenant_id, token);
  if (key === null) {
    if (tokenKey !== null) throw refusedProof('there is none');
    if (row.require_dpop === 1 || kind === 'bound_certificate') {
      throw new CofferError('DPOP_REQUIRED', 'This connection requires a DPoP proof (RFC 9449) with each request.', {
        auditReason: 'dpop: there is none',
      });
    }
    return null;
  }
  if (tokenKey !== null && key !== tokenKey)
    throw refusedProof('it is signed by another key than the token is bound to');
  if (row.dpop_jkt !== null && key !== row.dpop_jkt) throw refusedProof('its key is not the one of the connection');
  // Nothing else ties an unknown key to the sender of the two headers: anyone who stole the headers could bring a key of their own.
  if (row.dpop_jkt === null && token === null && !mtls) throw refusedProof('the connection has no key enrolled');
  if (token !== null && tokenKey === null) throw refusedProof('the token is bound to no key');
  return key;
}
