import type { Check } from '../app/capabilities.ts';
import { layoutTexts } from './texts.ts';

export interface NavigationEntry {
  /** The first segment of its address. */
  readonly path: string;
  readonly title: string;
  /** What somebody must be allowed to do for the page to show anything; null if everybody is. */
  readonly check: Check | null;
}

const { pages } = layoutTexts;

/** Every page that the navigation and the command palette lead to. */
export const NAVIGATION: readonly { readonly title: string; readonly entries: readonly NavigationEntry[] }[] = [
  {
    title: layoutTexts.sections.secrets,
    entries: [
      { path: '', title: pages.home, check: null },
      { path: 'vaults', title: pages.vaults, check: null },
      { path: 'compare', title: pages.compare, check: null },
      { path: 'environments', title: pages.environments, check: ['environments:list', 'environment'] },
    ],
  },
  {
    title: layoutTexts.sections.access,
    entries: [
      { path: 'people', title: pages.people, check: ['users:list', 'user'] },
      { path: 'groups', title: pages.groups, check: ['groups:list', 'group'] },
      { path: 'policies', title: pages.policies, check: ['policies:list', 'policy'] },
      { path: 'sign-on', title: pages.signOn, check: ['sso_providers:list', 'sso-provider'] },
    ],
  },
  {
    title: layoutTexts.sections.machines,
    entries: [
      { path: 'connections', title: pages.connections, check: ['app_connections:list', 'app-connection'] },
      { path: 'workloads', title: pages.workloads, check: ['workload_methods:list', 'workload-method'] },
    ],
  },
  {
    title: layoutTexts.sections.watch,
    entries: [
      { path: 'approvals', title: pages.approvals, check: ['approvals:list', 'self/approvals'] },
      { path: 'audit', title: pages.audit, check: ['audit:read', 'audit'] },
      { path: 'anomalies', title: pages.anomalies, check: null },
      { path: 'attack-paths', title: pages.attackPaths, check: ['attack_paths:list', 'attack-path/*'] },
      { path: 'exporters', title: pages.exporters, check: ['exporters:list', 'exporter/*'] },
      { path: 'webhooks', title: pages.webhooks, check: ['webhooks:list', 'webhook/*'] },
    ],
  },
  {
    title: layoutTexts.sections.operate,
    entries: [
      { path: 'keys', title: pages.keys, check: ['eaas:list', 'eaas'] },
      { path: 'hosts', title: pages.hosts, check: ['endpoint_accounts:list', 'endpoint-account/*'] },
      { path: 'clusters', title: pages.clusters, check: ['clusters:list', 'cluster/*'] },
      { path: 'jobs', title: pages.jobs, check: ['jobs:list', 'job'] },
      { path: 'settings', title: pages.settings, check: ['tenant_settings:read', 'tenant-settings'] },
    ],
  },
  {
    title: layoutTexts.sections.account,
    entries: [
      { path: 'me', title: pages.me, check: null },
      { path: 'plan', title: pages.plan, check: ['tier:read', 'tier'] },
    ],
  },
];

/** What waits for a search word, in the order of the navigation. */
export function navigationEntries(): readonly NavigationEntry[] {
  return NAVIGATION.flatMap(({ entries }) => entries);
}
