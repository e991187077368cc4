import { idPattern } from '../../kernel/base/ids.ts';

/** The connection that a client certificate of ours names. */
export interface ClientName {
  tenantId: string;
  clientId: string;
}

/** A domain that nobody can own (RFC 2606). */
export const OWN_DOMAIN = 'coffer.invalid';

const TENANT = idPattern('tenant').slice(1, -1);
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** Certificates from before release 0.5 have the tenant alone as the host, with an underscore; those of other authorities may. */
const HOST = `(?:(${TENANT.replace('_', '-')})\\.${OWN_DOMAIN.replace('.', '\\.')}|(${TENANT.replace('_', '[_-]')}))`;
const CLIENT_URI = new RegExp(`^coffer://${HOST}/app-connection/(${UUID})$`);

/** A tenant id as the host of a URI: linters and others accept only a fully qualified name, and no underscore. */
export function hostOf(tenantId: string): string {
  return `${tenantId.replace('_', '-')}.${OWN_DOMAIN}`;
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
  const [, qualified, bare, clientId] = CLIENT_URI.exec(uri) ?? [];
  const host = qualified ?? bare;
  return host === undefined || clientId === undefined ? null : { tenantId: host.replace('-', '_'), clientId };
}
