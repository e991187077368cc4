import { invalidField } from '../base/errors.ts';

/** Returns the reason as it is recorded. Surrounding blanks do not count, and blanks alone are not a reason. */
export function demandedReason(text: string, lengthMin: number): string {
  const reason = text.trim();
  if (reason.length >= Math.max(lengthMin, 1)) return reason;
  throw invalidField(
    '/body/reason',
    `must be at least ${lengthMin} characters, not counting leading and trailing spaces`,
  );
}
