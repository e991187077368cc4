import type { PeerCertificate } from '../../kernel/http/peer-certificate.ts';
import type { Tx } from '../../kernel/storage/database.ts';

/** What this feature needs of certificates. */
export interface ConnectionCertificates<Row = unknown> {
  prepare(request: {
    tenantId: string;
    clientId: string;
    connectionNo: number;
    csrPem?: string;
    ttlMs: number;
  }): Promise<PreparedCertificate<Row>>;
  insert(tx: Tx, row: Row): Promise<void>;
  /** From that time on; all of the connection's that are not revoked yet, or only these. */
  revoke(
    tx: Tx,
    tenantId: string,
    which: { clientId: string; serials?: readonly string[] },
    reason: string,
    at: number,
  ): Promise<string[]>;
  check(
    tenantId: string,
    clientId: string,
    peer: PeerCertificate,
    externalCaPem: string | null,
  ): Promise<{ ok: true; serial: string } | { ok: false; reason: string }>;
  claimed(peer: PeerCertificate): { tenantId: string; clientId: string } | null;
}

export interface PreparedCertificate<Row = unknown> {
  certificate: string;
  ca_chain: string;
  certificate_signing_request: string;
  /** Only if the key was made here; it is told once and kept nowhere. */
  private_key: string | null;
  row: Row;
}
