import { CofferError } from '../platform/errors.ts';

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

export function notPermitted(action: string, auditReason: string): CofferError {
  const message = `Your credential does not permit ${action} here. Ask an administrator for a policy that allows it.`;
  return new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason });
}
