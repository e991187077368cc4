import type { ComponentType } from 'preact';
import { isPage, type PageName, type PageProps } from '../app/page.ts';

type Load = () => Promise<{ default: ComponentType<PageProps> }>;

/** Pages by the first segment of their address. Each is loaded when it is opened. */
const ROUTES: Readonly<Record<PageName, Load>> = {
  '': () => import('../start/page.tsx'),
  approvals: () => import('../approvals/list.tsx'),
  audit: () => import('../audit/list.tsx'),
  anomalies: () => import('../anomalies/list.tsx'),
  access: () => import('../access/page.tsx'),
  'attack-paths': () => import('../attack-paths/list.tsx'),
  compare: () => import('../compare/page.tsx'),
  environments: () => import('../environments/list.tsx'),
  services: () => import('../services/list.tsx'),
  vaults: () => import('../vaults/routes.tsx'),
  people: () => import('../people/routes.tsx'),
  groups: () => import('../groups/list.tsx'),
  policies: () => import('../policies/list.tsx'),
  'sign-on': () => import('../sign-on/list.tsx'),
  settings: () => import('../settings/page.tsx'),
  plan: () => import('../plan/page.tsx'),
  me: () => import('../account/page.tsx'),
  linked: () => import('../account/linked.tsx'),
  connections: () => import('../connections/routes.tsx'),
  workloads: () => import('../workloads/list.tsx'),
  exporters: () => import('../exporters/list.tsx'),
  webhooks: () => import('../webhooks/list.tsx'),
  keys: () => import('../keys/list.tsx'),
  hosts: () => import('../hosts/list.tsx'),
  clusters: () => import('../clusters/list.tsx'),
  jobs: () => import('../jobs/list.tsx'),
};

/** Loads the page of an address by its first segment; undefined if there is none. */
export function routeOf(first: string): Load | undefined {
  return isPage(first) ? ROUTES[first] : undefined;
}
