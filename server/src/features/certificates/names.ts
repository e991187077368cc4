import { idPattern } from '../../kernel/ids.ts';

/** What a client certificate of ours says it is for. */
export interface ClientName {
  tenantId: string;
  clientId: string;
}

const TENANT = idPattern('tenant').slice(1, -1);
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const CLIENT_URI = new RegExp(`^coffer://(${TENANT})/app-connection/(${UUID})$`);

export function clientUri({ tenantId, clientId }: ClientName): string {
  return `coffer://${tenantId}/app-connection/${clientId}`;
}

/** One spelling only: neither case nor escapes nor a trailing slash. */
export function parseClientUri(uri: string): ClientName | null {
  const [, tenantId, clientId] = CLIENT_URI.exec(uri) ?? [];
  return tenantId === undefined || clientId === undefined ? null : { tenantId, clientId };
}
