import { CofferError } from '../base/errors.ts';

/** Errors for a caller whose credential or policies do not allow something. */

export function ipNotAllowed(auditReason: string): CofferError {
  return new CofferError('IP_NOT_ALLOWED', 'This token may not be used from this address.', { auditReason });
}

/** A policy cannot help here, so the message does not tell the caller to ask for one. */
export function outOfScope(auditReason: string): CofferError {
  const message =
    'The scope of your credential does not include this: use another credential, or create one with a wider scope.';
  return new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason });
}

/** The resource is null where the caller may not know its name, such as that of a row found by its id. */
export function notPermitted(action: string, auditReason: string, resource: string | null = null): CofferError {
  // People request roles in vaults, which permit what is done with secrets.
  const remedy = action.startsWith('secrets:') ? ', or request access for a time by POST /v1/access-requests' : '';
  const message = `Your credential does not permit ${action} here. Ask an administrator for a policy that allows it${remedy}.`;
  const details = { action, ...(resource !== null && { resource }) };
  return new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason, details });
}

/** Only policies of an earlier release, or those of very many groups, can cost so much. */
export function tooCostly(auditReason: string): CofferError {
  const message =
    'Your policies have too many patterns to decide about a path of this length. Ask an administrator to shorten them or to detach some.';
  return new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason });
}
