import type { ComponentType } from 'preact';

/** What a page gets: the segments of its address after the first one. */
export interface PageProps {
  readonly rest: readonly string[];
}

type Load = () => Promise<{ default: ComponentType<PageProps> }>;

/** Pages by the first segment of their address. Each is loaded when it is opened. */
export const ROUTES: Readonly<Record<string, Load>> = {
  '': () => import('./pages/home.tsx'),
  approvals: () => import('./pages/approvals.tsx'),
  audit: () => import('./pages/audit.tsx'),
  anomalies: () => import('./pages/anomalies.tsx'),
  'attack-paths': () => import('./pages/attack-paths.tsx'),
  compare: () => import('./pages/compare.tsx'),
  environments: () => import('./pages/environments.tsx'),
  vaults: () => import('./pages/vaults.tsx'),
  people: () => import('./pages/people.tsx'),
  groups: () => import('./pages/groups.tsx'),
  policies: () => import('./pages/policies.tsx'),
  'sign-on': () => import('./pages/sign-on.tsx'),
  settings: () => import('./pages/settings.tsx'),
  plan: () => import('./pages/plan.tsx'),
  me: () => import('./pages/me.tsx'),
  linked: () => import('./pages/linked.tsx'),
  connections: () => import('./pages/connections.tsx'),
  workloads: () => import('./pages/workloads.tsx'),
  exporters: () => import('./pages/exporters.tsx'),
  webhooks: () => import('./pages/webhooks.tsx'),
  keys: () => import('./pages/keys.tsx'),
  hosts: () => import('./pages/hosts.tsx'),
  clusters: () => import('./pages/clusters.tsx'),
};
