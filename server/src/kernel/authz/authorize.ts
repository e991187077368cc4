import { type Ceiling, withinCeiling } from './ceiling.ts';
import { type AccessRequest, type Decision, evaluate, isAllowed } from './evaluate.ts';
import type { CompiledPolicy } from './policy.ts';

/** Any principal: a person, a token, a connection, a workload. Decisions depend on nothing but these fields. */
export interface Subject {
  readonly ceilings: readonly Ceiling[];
  readonly policies: readonly CompiledPolicy[];
}

export interface Authorization extends Omit<Decision, 'reason'> {
  reason: Decision['reason'] | 'out_of_scope' | 'ip_not_allowed';
  refusedBy: 'ceiling_scope' | 'ceiling_ip' | 'policy' | null;
}

/** The only function that decides on a principal's request. Ceilings come first, so that no policy can lift them. */
export function authorize(subject: Subject, request: AccessRequest): Authorization {
  switch (withinCeiling(subject.ceilings, request)) {
    case 'ip':
      return refused('ip_not_allowed', 'ceiling_ip');
    case 'scope':
      return refused('out_of_scope', 'ceiling_scope');
    case 'ok': {
      const decision = evaluate(subject.policies, request);
      return { ...decision, refusedBy: decision.allowed ? null : 'policy' };
    }
  }
}

/** `authorize(…).allowed` without the reasons, for filtering long lists. */
export function isAuthorized(subject: Subject, request: AccessRequest): boolean {
  return withinCeiling(subject.ceilings, request) === 'ok' && isAllowed(subject.policies, request);
}

function refused(reason: Authorization['reason'], refusedBy: Authorization['refusedBy']): Authorization {
  return { allowed: false, decision: 'deny', reason, matched: [], refusedBy };
}
