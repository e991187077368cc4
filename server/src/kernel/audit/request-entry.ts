import type { Call } from '../call.ts';
import type { EndpointDeclaration } from '../endpoint.ts';
import { newId } from '../ids.ts';
import type { Actor } from '../principal.ts';
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

interface Recorded {
  call: Call;
  declaration: EndpointDeclaration;
  now: number;
  resource: string;
}

interface Outcome {
  decision: AuditDecision;
  status: number;
  reason: string;
  details: Record<string, unknown> | undefined;
}

/** What is recorded of a request. */
export function requestEntry(
  tenantId: string,
  actor: Actor,
  { call, declaration, now, resource: named }: Recorded,
  { decision, status, reason, details }: Outcome,
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

/** The same for the log of another tenant, which the change is about: that an operator did it is told, who and from where is not theirs to know. */
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
