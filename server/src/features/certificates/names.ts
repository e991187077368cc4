import { idPattern } from '../../kernel/ids.ts';

/** What a client certificate of ours says it is for. */
export interface ClientName {
  tenantId: string;
  clientId: string;
}

const TENANT = idPattern('tenant').slice(1, -1);
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** With an underscore in certificates that were issued before 0.5. */
const CLIENT_URI = new RegExp(`^coffer://(${TENANT.replace('_', '[_-]')})/app-connection/(${UUID})$`);

/** A tenant as the host of a URI: Java, rustls and others take no underscore in a name constraint. */
export function hostOf(tenantId: string): string {
  return tenantId.replace('_', '-');
}

export function clientUri({ tenantId, clientId }: ClientName): string {
  return `coffer://${hostOf(tenantId)}/app-connection/${clientId}`;
}

/** With a space: Java takes a common name that could be a host name for one, and our authorities may speak for none. */
export function commonName({ clientId }: ClientName): string {
  return `app-connection ${clientId}`;
}

/** No other spelling: neither case nor escapes nor a trailing slash. */
export function parseClientUri(uri: string): ClientName | null {
  const [, host, clientId] = CLIENT_URI.exec(uri) ?? [];
  return host === undefined || clientId === undefined ? null : { tenantId: host.replace('-', '_'), clientId };
}
