import type { AnomalyType, Facts } from './schemas.ts';

/** What a recommendation is filled with. */
interface About {
  resource: string;
  observed: Facts;
}

/** The address of what a resource names, under `/v1`. Neither part of a secret's name needs escaping in a path. */
function pathOf(resource: string): string {
  const [, vault, path] = /^vault\/([^/]+)(?:\/(.+))?$/.exec(resource) ?? [];
  if (vault === undefined) return `/v1/app-connections/${resource.replace(/^app-connection\//, '')}`;
  return path === undefined ? `/v1/vaults/${vault}` : `/v1/vaults/${vault}/secrets/${path}`;
}

const TEXTS: Record<AnomalyType, (about: About) => string> = {
  stale_rotation: ({ resource }) =>
    `Rotate the secret: POST ${pathOf(resource)}/rotate. To have this done by itself, give it a rotation interval with PUT ${pathOf(resource)}.`,
  unusual_access_pattern: ({ resource, observed }) =>
    typeof observed['new_secrets_last_24h'] === 'number'
      ? readerText(resource, observed)
      : `Look who read it: GET /v1/audit?resource=${resource}&action=secrets:read. If you do not expect these reads, revoke the credential of the reader and rotate the secret: POST ${pathOf(resource)}/rotate. If you do, dismiss this with POST /anomalies/{id}/dismiss.`,
  ip_region_anomaly: ({ resource, observed }) =>
    `If nobody moved this connection to ${namesIn(observed['countries'])}, replace its credentials: POST ${pathOf(resource)}/rotate. Then allow only the addresses that it uses: PATCH ${pathOf(resource)} with ip_allowlist.`,
  backend_drift: ({ observed }) =>
    `Nobody stores a password for ${namesIn(observed['roles'])}. Find out on the database server what uses them, then remove each: DROP ROLE. If one is in use, store its login as a secret of the type database: POST /v1/vaults/{vault}/secrets.`,
  privilege_creep: ({ resource }) =>
    `Look at the members: GET ${pathOf(resource)}/members. Remove who needs no access: DELETE ${pathOf(resource)}/members/{member_id}. Then confirm the others: POST ${pathOf(resource)}/members/review.`,
  zombie_app_connection: ({ resource }) =>
    `If nothing needs this connection, disable it: PATCH ${pathOf(resource)} with {"status": "disabled"}. Once nobody misses it, delete it: DELETE ${pathOf(resource)}.`,
  risk_score_spike: ({ resource }) =>
    `Read which factors changed: GET ${pathOf(resource)}/risk. Often a rotation helps: POST ${pathOf(resource)}/rotate.`,
};

/** An actor who reads many secrets that are new to them. */
function readerText(resource: string, observed: Facts): string {
  const who = observed['actor'] ?? '';
  const stop = resource.startsWith('user/')
    ? `suspend the user with PATCH /v1/users/${who} and rotate what was read`
    : `replace its credentials with POST ${pathOf(resource)}/rotate, and rotate what was read`;
  return `Look what was read: GET /v1/audit?actor=${who}&action=secrets:read. If you do not expect these reads, ${stop}. If you do, dismiss this with POST /anomalies/{id}/dismiss.`;
}

function namesIn(fact: Facts[string] | undefined): string {
  return Array.isArray(fact) && fact.length > 0 ? fact.join(', ') : 'there';
}

export function recommendationFor(type: AnomalyType, about: About): string {
  return TEXTS[type](about);
}
