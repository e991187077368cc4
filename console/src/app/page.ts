/** What a page gets: the segments of its address after the first one. */
export interface PageProps {
  readonly rest: readonly string[];
}

/** The first segments of addresses that have a page; the first of all is the start page. */
export const PAGES = [
  '',
  'approvals',
  'audit',
  'anomalies',
  'access',
  'attack-paths',
  'compare',
  'environments',
  'services',
  'vaults',
  'people',
  'groups',
  'policies',
  'sign-on',
  'settings',
  'plan',
  'me',
  'linked',
  'connections',
  'workloads',
  'exporters',
  'webhooks',
  'keys',
  'hosts',
  'clusters',
  'jobs',
] as const;
export type PageName = (typeof PAGES)[number];

export function isPage(name: string): name is PageName {
  return (PAGES as readonly string[]).includes(name);
}
