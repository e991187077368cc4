import type { RoutedCall } from '../../auth/call.ts';
import type { Actor } from '../../auth/principal.ts';
import { newId } from '../../base/ids.ts';
import {
  type AuditDecision,
  type AuditEntry,
  cleanActor,
  cleanReason,
  cleanText,
  cleanUserAgent,
  detailsText,
  vaultOf,
} from './entry.ts';

export interface Outcome {
  resource: string;
  decision: AuditDecision;
  status: number;
  reason: string;
  details: Record<string, unknown> | undefined;
}

export function requestEntry(
  tenantId: string,
  actor: Actor,
  { call, declaration, now }: RoutedCall,
  { resource: named, decision, status, reason, details }: Outcome,
): AuditEntry {
  const resource = cleanText(named);
  return {
    tenant_id: tenantId,
    id: newId('audit', now),
    at: now,
    actor_kind: actor.kind,
    actor_id: actor.id,
    actor_name: cleanActor(actor.name),
    actor_key: actor.key,
    action: declaration.audit,
    resource,
    vault: vaultOf(resource),
    decision,
    status,
    ip: call.address,
    user_agent: cleanUserAgent(call.headers['user-agent']),
    request_id: call.requestId,
    reason: cleanReason(reason),
    details: detailsText(details),
  };
}

/** The same entry for the log of another tenant that the change is about. It shows that an operator made the change, but not who or from where. */
export function elsewhere(entry: AuditEntry, tenantId: string): AuditEntry {
  return {
    ...entry,
    tenant_id: tenantId,
    actor_kind: 'operator',
    actor_name: '',
    actor_key: '',
    ip: '',
    user_agent: '',
  };
}
