import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import type { Connection } from './contract.ts';
import { type ConnectionRow, numberOf } from './storage/connection-store.ts';

export function deniedThumbprintsOf({ denied_thumbprints: denied }: ConnectionRow): string[] {
  return denied === null ? [] : (JSON.parse(denied) as string[]);
}

/** The vault is the name of its first one. The URL is that of the service for clients with a certificate. */
export function toWire(row: ConnectionRow, vault: string | null, tlsUrl: string | null): Connection {
  return {
    id: numberOf(row),
    client_id: row.client_id,
    name: row.name,
    description: row.description,
    status: row.status,
    vault,
    vault_ids: JSON.parse(row.vault_ids) as string[],
    allowed_paths: JSON.parse(row.allowed_paths) as string[],
    scopes: JSON.parse(row.scopes) as string[],
    ip_allowlist: row.ip_allowlist === null ? null : (JSON.parse(row.ip_allowlist) as string[]),
    environment: row.environment,
    mtls_required: row.mtls_required === 1,
    tls_url: tlsUrl,
    require_dpop: row.require_dpop === 1,
    dpop_jkt: row.dpop_jkt,
    external_ca_pem: row.external_ca_pem,
    denied_thumbprints: deniedThumbprintsOf(row),
    concurrent_session_limit: row.session_limit,
    concurrent_session_action: row.session_action,
    concurrent_session_ttl_seconds: row.session_ttl_seconds,
    client_secret_made_at: timestamp(row.secret_made_at),
    former_client_secret_until: timestampOrNull(row.former_secret_until),
    created_by: row.created_by,
    created_at: timestamp(row.created_at),
    updated_at: timestamp(row.updated_at),
  };
}
