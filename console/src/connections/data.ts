import type { RouteOutput } from '@coffer/client';
import { call } from '../app/api.ts';
import { mayOne } from '../app/capabilities.ts';
import { loadList } from '../app/load-list.ts';

export type ConnectionItem = RouteOutput<'GET /v1/app-connections/{connection}'>;

export type FederationItem = RouteOutput<'GET /app-connections/{connection}/federations'>['federations'][number];

export function loadConnections(signal: AbortSignal): Promise<ConnectionItem[]> {
  return loadList('GET /v1/app-connections', 'app_connections', signal);
}

export interface VaultName {
  readonly id: string;
  readonly name: string;
}

/** The vaults that the person can see, by which those of a connection are named. */
export function loadVaultNames(signal: AbortSignal): Promise<readonly VaultName[]> {
  return loadList('GET /v1/vaults', 'vaults', signal);
}

/** When connections were last used, by client id, for whoever may read the audit log; null for everybody else. */
export async function loadLastUses(
  clientIds: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string> | null> {
  if (!(await mayOne(['audit:read', 'audit']))) return null;
  const uses = await Promise.all(
    clientIds.map(async (actor) => {
      const { entries } = await call('GET /v1/audit', { query: { actor, limit: 1 } }, { signal });
      return entries.map(({ timestamp }): [string, string] => [actor, timestamp]);
    }),
  );
  return new Map(uses.flat());
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Where the program finds the service. A console that is open over https was reached at an address that shows a certificate. One over http, on the
 * machine itself, was not: a program that shows its certificate then needs the TLS address, which has a certificate of the service's own authority.
 */
export function serviceFor({ mtls_required, tls_url }: ConnectionItem): { url: string; hasOwnAuthority: boolean } {
  const { origin, protocol } = location;
  if (!mtls_required || protocol === 'https:' || tls_url === null) return { url: origin, hasOwnAuthority: false };
  return { url: tls_url, hasOwnAuthority: LOOPBACK.includes(new URL(tls_url).hostname) };
}

/** Part of the name of a file. */
export function fileNameOf(name: string): string {
  return name.replace(/[^A-Za-z0-9._-]/g, '-');
}
