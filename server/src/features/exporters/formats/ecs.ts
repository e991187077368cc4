import type { ExportedEntry } from '../exported-entry.ts';
import { type Activity, activityOf } from './activity.ts';

const ECS_VERSION = '9.1.0';

const TYPES: Readonly<Record<Activity, string>> = {
  create: 'creation',
  read: 'access',
  update: 'change',
  delete: 'deletion',
  login: 'start',
  logout: 'end',
  other: 'info',
};

/** Actions on people, groups, policies and credentials belong to `iam`; ECS has no category for secrets, so others belong to `api`. */
const IAM =
  /^(users|groups|policies|tokens|members|mfa|password|tenants?|tenant_settings|vault_member|federation_|connection_|cert_|workload_methods|approvals)/;

/** Elastic Common Schema. The whole entry is under `coffer.audit`, so nothing is lost by the mapping. */
export function toEcs(entry: ExportedEntry): object {
  const activity = activityOf(entry.action);
  return {
    '@timestamp': entry.timestamp,
    ecs: { version: ECS_VERSION },
    message: `${entry.actor.name || entry.actor.id} ${entry.action} ${entry.resource}: ${entry.decision}`,
    event: {
      id: entry.id,
      action: entry.action,
      kind: 'event',
      module: 'coffer',
      dataset: 'coffer.audit',
      category: [
        activity === 'login' || activity === 'logout' ? 'authentication' : IAM.test(entry.action) ? 'iam' : 'api',
      ],
      type: [
        TYPES[activity],
        ...(entry.decision === 'error' ? ['error'] : [entry.decision === 'allow' ? 'allowed' : 'denied']),
      ],
      outcome: entry.decision === 'allow' ? 'success' : 'failure',
      ...(entry.seq !== null && { sequence: entry.seq }),
      ...(entry.reason !== null && { reason: entry.reason }),
    },
    user: { id: entry.actor.id, name: entry.actor.name },
    organization: { id: entry.tenant_id },
    http: {
      response: { status_code: entry.status },
      ...(entry.request_id !== '' && { request: { id: entry.request_id } }),
    },
    ...(entry.ip !== '' && { source: { ip: entry.ip } }),
    ...(entry.user_agent !== '' && { user_agent: { original: entry.user_agent } }),
    coffer: { audit: entry },
  };
}
