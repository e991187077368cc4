import type { Check } from '../app/capabilities.ts';
import type { IconName } from '../ui/icon-names.ts';
import { layoutTexts } from './texts.ts';

export interface NavigationEntry {
  /** The first segment of its address. */
  readonly path: string;
  readonly title: string;
  /** What somebody must be allowed to do for the page to show anything; null if everybody is. */
  readonly check: Check | null;
}

export interface NavigationPage extends NavigationEntry {
  readonly icon: IconName;
}

export type GroupName = 'start' | 'secrets' | 'access' | 'watch' | 'account';

interface NavigationGroup {
  readonly name: GroupName;
  /** Null where the entries stand without a head, and cannot be folded. */
  readonly title: string | null;
  readonly entries: readonly NavigationPage[];
}

const { pages, sections } = layoutTexts;

/** Every page that the navigation and the command palette lead to. */
export const NAVIGATION: readonly NavigationGroup[] = [
  { name: 'start', title: null, entries: [{ path: '', title: pages.home, icon: 'home', check: null }] },
  {
    name: 'secrets',
    title: sections.secrets,
    entries: [
      { path: 'services', title: pages.services, icon: 'services', check: null },
      { path: 'vaults', title: pages.vaults, icon: 'vaults', check: null },
      { path: 'compare', title: pages.compare, icon: 'compare', check: null },
      {
        path: 'environments',
        title: pages.environments,
        icon: 'environments',
        check: ['environments:list', 'environment'],
      },
      { path: 'keys', title: pages.keys, icon: 'keys', check: ['eaas:list', 'eaas'] },
      { path: 'hosts', title: pages.hosts, icon: 'hosts', check: ['endpoint_accounts:list', 'endpoint-account/*'] },
      { path: 'clusters', title: pages.clusters, icon: 'clusters', check: ['clusters:list', 'cluster/*'] },
    ],
  },
  {
    name: 'access',
    title: sections.access,
    entries: [
      { path: 'people', title: pages.people, icon: 'people', check: ['users:list', 'user'] },
      { path: 'groups', title: pages.groups, icon: 'groups', check: ['groups:list', 'group'] },
      { path: 'policies', title: pages.policies, icon: 'policies', check: ['policies:list', 'policy'] },
      {
        path: 'connections',
        title: pages.connections,
        icon: 'connections',
        check: ['app_connections:list', 'app-connection'],
      },
      {
        path: 'workloads',
        title: pages.workloads,
        icon: 'workloads',
        check: ['workload_methods:list', 'workload-method'],
      },
      { path: 'sign-on', title: pages.signOn, icon: 'signOn', check: ['sso_providers:list', 'sso-provider'] },
      { path: 'access', title: pages.access, icon: 'access', check: ['access_paths:list', 'access-path/*'] },
      {
        path: 'attack-paths',
        title: pages.attackPaths,
        icon: 'attackPaths',
        check: ['attack_paths:list', 'attack-path/*'],
      },
    ],
  },
  {
    name: 'watch',
    title: sections.watch,
    entries: [
      { path: 'approvals', title: pages.approvals, icon: 'approvals', check: ['approvals:list', 'self/approvals'] },
      { path: 'anomalies', title: pages.anomalies, icon: 'anomalies', check: null },
      { path: 'audit', title: pages.audit, icon: 'audit', check: ['audit:read', 'audit'] },
      { path: 'exporters', title: pages.exporters, icon: 'exporters', check: ['exporters:list', 'exporter/*'] },
      { path: 'webhooks', title: pages.webhooks, icon: 'webhooks', check: ['webhooks:list', 'webhook/*'] },
      { path: 'jobs', title: pages.jobs, icon: 'jobs', check: ['jobs:list', 'job'] },
    ],
  },
  {
    name: 'account',
    title: null,
    entries: [
      {
        path: 'settings',
        title: pages.settings,
        icon: 'settings',
        check: ['tenant_settings:read', 'tenant-settings'],
      },
      { path: 'plan', title: pages.plan, icon: 'plan', check: ['tier:read', 'tier'] },
      { path: 'me', title: pages.me, icon: 'people', check: null },
    ],
  },
];

/** What waits for a search word, in the order of the navigation. */
export function navigationEntries(): readonly NavigationPage[] {
  return NAVIGATION.flatMap(({ entries }) => entries);
}
