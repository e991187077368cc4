import type { ExportedEntry } from '../exported-entry.ts';
import { type Activity, activityOf } from './activity.ts';

export const OCSF_VERSION = '1.7.0';

const API_ACTIVITY = { category_uid: 6, class_uid: 6003 } as const;
const AUTHENTICATION = { category_uid: 3, class_uid: 3002 } as const;
const OTHER = 99;
const ACTIVITY_IDS: Readonly<Record<Activity, number>> = {
  create: 1,
  read: 2,
  update: 3,
  delete: 4,
  login: 1,
  logout: 2,
  other: OTHER,
};
/** Informational, low and medium, in OCSF's scale from 1 to 6. */
const SEVERITY_IDS = { allow: 1, deny: 2, error: 3 } as const;
/** User types: a person, a machine's account, the system itself. */
const USER_TYPE_IDS: Readonly<Record<string, number>> = { user: 1, system: 3 };

/** Open Cybersecurity Schema Framework: Authentication for logins, API Activity for the rest. The whole entry is under `unmapped`. */
export function toOcsf(entry: ExportedEntry, productVersion: string): object {
  const activity = activityOf(entry.action);
  const isAuthentication = activity === 'login' || activity === 'logout';
  const { category_uid, class_uid } = isAuthentication ? AUTHENTICATION : API_ACTIVITY;
  const activity_id = ACTIVITY_IDS[activity];
  const user = {
    uid: entry.actor.id,
    name: entry.actor.name,
    type: entry.actor.kind,
    type_id: USER_TYPE_IDS[entry.actor.kind] ?? OTHER,
    ...(entry.actor.key !== '' && { credential_uid: entry.actor.key }),
  };
  return {
    category_uid,
    class_uid,
    activity_id,
    ...(activity_id === OTHER && { activity_name: entry.action }),
    type_uid: class_uid * 100 + activity_id,
    severity_id: SEVERITY_IDS[entry.decision],
    time: Date.parse(entry.timestamp),
    status_id: entry.decision === 'allow' ? 1 : 2,
    status_code: String(entry.status),
    ...(entry.reason !== null && { status_detail: entry.reason }),
    metadata: {
      version: OCSF_VERSION,
      product: { name: 'Coffer', vendor_name: 'Coffer', version: productVersion },
      uid: entry.id,
      log_name: 'audit',
      tenant_uid: entry.tenant_id,
      ...(entry.seq !== null && { sequence: entry.seq }),
    },
    actor: { user },
    src_endpoint: entry.ip === '' ? { svc_name: 'coffer' } : { ip: entry.ip },
    ...(entry.user_agent !== '' && { http_request: { user_agent: entry.user_agent } }),
    ...(isAuthentication
      ? { user, service: { name: 'coffer' } }
      : {
          api: {
            operation: entry.action,
            service: { name: 'coffer' },
            ...(entry.request_id !== '' && { request: { uid: entry.request_id } }),
            response: { code: entry.status },
          },
          resources: [{ name: entry.resource, ...(entry.vault !== null && { group: { name: entry.vault } }) }],
        }),
    unmapped: { coffer: entry },
  };
}
