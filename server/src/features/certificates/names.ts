import { idPattern } from '../../kernel/platform/ids.ts';

/** The connection that a client certificate of ours names. */
export interface ClientName {
  tenantId: string;
  clientId: string;
}

const TENANT = idPattern('tenant').slice(1, -1);
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** Certificates that were issued before release 0.5 have an underscore in the tenant. */
const CLIENT_URI = new RegExp(`^coffer://(${TENANT.replace('_', '[_-]')})/app-connection/(${UUID})$`);

/** A tenant id as the host of a URI: Java, rustls and others accept no underscore in a name constraint. */
export function hostOf(tenantId: string): string {
  return tenantId.replace('_', '-');
}

export function clientUri({ tenantId, clientId }: ClientName): string {
  return `coffer://${hostOf(tenantId)}/app-connection/${clientId}`;
}

/** The space matters: Java treats a common name that could be a host name as one, and our authorities may sign for no host name. */
export function commonName({ clientId }: ClientName): string {
  return `app-connection ${clientId}`;
}

/** Accepts no other spelling, be it in case, escapes or a trailing slash. */
export function parseClientUri(uri: string): ClientName | null {
  const [, host, clientId] = CLIENT_URI.exec(uri) ?? [];
  return host === undefined || clientId === undefined ? null : { tenantId: host.replace('-', '_'), clientId };
}
