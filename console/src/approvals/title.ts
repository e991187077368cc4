import { approvalOperations, approvalOperationsOf } from './operation-texts.ts';

const ID = /_[0-9a-z]{26}$/;

interface Asked {
  readonly operation: string;
  readonly resource: string;
  readonly requested_by?: { readonly id: string; readonly name: string };
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * What an approval is about, such as “Delete a vault: shop”. An id says nothing, so it is left out unless its name is known. `ownId` is who looks at
 * it: what somebody asks for themselves is said with their name to others.
 */
export function approvalTitle(
  { operation, resource, requested_by, details = {} }: Asked,
  names: Readonly<Record<string, unknown>> = {},
  ownId?: string,
): string {
  const [kind, ...rest] = resource.split('/');
  const about = kind === 'self' ? '' : rest.join('/');
  const of = approvalOperationsOf[operation];
  const who = kind === 'self' && requested_by?.id !== ownId ? requested_by?.name : names[about];
  if (of !== undefined && typeof who === 'string' && who !== '') return of(who);
  const words = approvalOperations[operation] ?? operation;
  const name = about === '' ? details['email'] : ID.test(about) ? names[about] : about;
  return typeof name === 'string' && name !== '' ? `${words}: ${name}` : words;
}

/** The ids in what approvals are about, whose names are not known from it. */
export function idsIn(approvals: readonly Pick<Asked, 'resource'>[]): string[] {
  return approvals.flatMap(({ resource }) => resource.split('/').filter((part) => ID.test(part)));
}
