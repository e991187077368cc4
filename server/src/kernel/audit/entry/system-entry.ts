import { newId } from '../../base/ids.ts';
import { type AuditEntry, detailsText, vaultOf } from './entry.ts';

/** The audit entry of an action of the process itself or of an operator on the machine, without a request or a caller. */
export function systemEntry(facts: {
  tenantId: string;
  /** `job:<name>` for background work. */
  actorId: 'first-start' | 'start' | 'operator' | 'unlisted-reads' | `job:${string}`;
  action: string;
  resource: string;
  status: number;
  details: Record<string, unknown>;
  now: number;
}): AuditEntry {
  return {
    tenant_id: facts.tenantId,
    id: newId('audit', facts.now),
    at: facts.now,
    actor_kind: 'system',
    actor_id: facts.actorId,
    actor_name: '',
    actor_key: '',
    action: facts.action,
    resource: facts.resource,
    vault: vaultOf(facts.resource),
    decision: 'allow',
    status: facts.status,
    ip: '',
    user_agent: '',
    request_id: '',
    reason: '',
    details: detailsText(facts.details),
  };
}
