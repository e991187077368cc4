import { CofferError } from './errors.ts';

/** How a caller is told that the credential or its policies do not allow something. */

export function ipNotAllowed(auditReason: string): CofferError {
  return new CofferError('IP_NOT_ALLOWED', 'This token may not be used from this address.', { auditReason });
}

/** No policy helps here, so nobody is sent to ask for one. */
export function outOfScope(auditReason: string): CofferError {
  const message =
    'The scope of your credential does not include this: use another credential, or make one with a wider scope.';
  return new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason });
}

export function notPermitted(action: string, auditReason: string): CofferError {
  const message = `Your credential does not permit ${action} here. Ask an administrator for a policy that allows it.`;
  return new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason });
}
