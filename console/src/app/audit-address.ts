import { href } from './router.ts';

/** The address of the audit log with these filters. It stands here because pages that the audit log links to link back. */
export function auditAddress(filter: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(filter)).toString();
  return href('audit') + (query === '' ? '' : `?${query}`);
}
