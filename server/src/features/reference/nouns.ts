import type { EndpointDeclaration } from '../../kernel/endpoint/declaration.ts';

/** What the reference says about a noun besides its endpoints. */
export interface Noun {
  title: string;
  group: (typeof GROUPS)[number];
  /** Pages of the guide about it. */
  guide: readonly string[];
}

export const GROUPS = ['Secrets', 'People', 'Machines', 'Cryptography', 'Administration'] as const;

/** In the order of the contents. */
const NOUNS: Readonly<Record<string, Noun>> = {
  vaults: {
    title: 'Vaults',
    group: 'Secrets',
    guide: ['vaults', 'zero-knowledge'],
  },
  secrets: {
    title: 'Secrets',
    group: 'Secrets',
    guide: ['secrets', 'rotation', 'risk'],
  },
  shares: {
    title: 'Shares',
    group: 'Secrets',
    guide: ['shares'],
  },
  'composed environments': {
    title: 'Composed environments',
    group: 'Secrets',
    guide: ['environments'],
  },
  'import and export': {
    title: 'Import and export',
    group: 'Secrets',
    guide: ['import-and-export'],
  },
  'sign-on': {
    title: 'Sign-on',
    group: 'People',
    guide: ['sign-on'],
  },
  scim: {
    title: 'SCIM',
    group: 'People',
    guide: ['scim'],
  },
  sessions: {
    title: 'Sessions',
    group: 'People',
    guide: ['tokens', 'passkeys', 'invitations', 'lost-access'],
  },
  tokens: {
    title: 'Tokens',
    group: 'People',
    guide: ['tokens'],
  },
  mfa: {
    title: 'Second factors',
    group: 'People',
    guide: ['second-factors', 'passkeys', 'lost-access'],
  },
  users: {
    title: 'Users',
    group: 'People',
    guide: ['people', 'invitations'],
  },
  groups: {
    title: 'Groups',
    group: 'People',
    guide: ['people'],
  },
  policies: {
    title: 'Policies',
    group: 'People',
    guide: ['policies'],
  },
  'access requests': {
    title: 'Access requests',
    group: 'People',
    guide: ['access-requests'],
  },
  approvals: {
    title: 'Approvals',
    group: 'People',
    guide: ['approvals', 'change-control'],
  },
  audit: {
    title: 'Audit log',
    group: 'People',
    guide: ['audit'],
  },
  exporters: {
    title: 'Exporters',
    group: 'People',
    guide: ['exporters', 'audit'],
  },
  anomalies: {
    title: 'Anomalies',
    group: 'People',
    guide: ['anomalies', 'webhooks'],
  },
  'access-paths': {
    title: 'Access paths',
    group: 'People',
    guide: ['risk', 'policies'],
  },
  'attack-paths': {
    title: 'Attack paths',
    group: 'People',
    guide: ['risk'],
  },
  copilot: {
    title: 'Assistant',
    group: 'People',
    guide: ['assistant'],
  },
  webhooks: {
    title: 'Webhooks',
    group: 'Machines',
    guide: ['webhooks'],
  },
  clusters: {
    title: 'Clusters',
    group: 'Machines',
    guide: ['clusters'],
  },
  'endpoint-discovery': {
    title: 'Endpoint discovery',
    group: 'Machines',
    guide: ['hosts'],
  },
  'app-connections': {
    title: 'AppConnections',
    group: 'Machines',
    guide: ['app-connections'],
  },
  federations: {
    title: 'Federations',
    group: 'Machines',
    guide: ['federations'],
  },
  'workload-identity': {
    title: 'Workload identity',
    group: 'Machines',
    guide: ['workload-identity'],
  },
  eso: {
    title: 'External Secrets',
    group: 'Machines',
    guide: ['external-secrets'],
  },
  certificates: {
    title: 'Certificates',
    group: 'Machines',
    guide: ['certificates'],
  },
  eaas: {
    title: 'Encryption as a service',
    group: 'Cryptography',
    guide: ['encryption'],
  },
  tokenization: {
    title: 'Tokenization',
    group: 'Cryptography',
    guide: ['tokenization'],
  },
  pqc: {
    title: 'Post-quantum',
    group: 'Cryptography',
    guide: ['post-quantum'],
  },
  attestation: {
    title: 'Attestation',
    group: 'Cryptography',
    guide: ['attestation'],
  },
  tenants: {
    title: 'Tenants',
    group: 'Administration',
    guide: ['quotas', 'second-factors'],
  },
  regions: {
    title: 'Regions',
    group: 'Administration',
    guide: ['regions'],
  },
  saas: {
    title: 'Sign-up and plans',
    group: 'Administration',
    guide: ['saas', 'quotas'],
  },
  billing: {
    title: 'Billing',
    group: 'Administration',
    guide: ['saas'],
  },
  operations: {
    title: 'Health and metrics',
    group: 'Administration',
    guide: ['operations', 'configuration'],
  },
  jobs: {
    title: 'Background jobs',
    group: 'Administration',
    guide: ['operations'],
  },
  console: {
    title: 'Console',
    group: 'Administration',
    guide: ['console'],
  },
  reference: {
    title: 'Reference',
    group: 'Administration',
    guide: [],
  },
};

/** A noun with its endpoints, which is one page. */
export interface NounPage extends Noun {
  /** The description from its declarations. */
  summary: string;
  /** The last segment of its address. */
  page: string;
  endpoints: readonly EndpointDeclaration[];
}

/** Every declared noun, in the order of the contents. */
export function nounPages(declarations: readonly EndpointDeclaration[]): NounPage[] {
  const byNoun = Map.groupBy(declarations, (e) => e.noun);
  const unknown = [...byNoun.keys()].filter((noun) => !Object.hasOwn(NOUNS, noun));
  if (unknown.length > 0) throw new Error(`describe these nouns in nouns.ts: ${unknown}`);
  return Object.entries(NOUNS)
    .filter(([noun]) => byNoun.has(noun))
    .map(([noun, about]) => {
      const endpoints = byNoun.get(noun) ?? [];
      return { ...about, summary: summaryOf(noun, endpoints), page: slug(noun), endpoints };
    });
}

function summaryOf(noun: string, endpoints: readonly EndpointDeclaration[]): string {
  const summary = endpoints.find((e) => e.nounDescription !== undefined)?.nounDescription;
  if (summary === undefined) throw new Error(`no endpoint describes ${noun}: add a nounDescription to one`);
  return summary;
}

function slug(noun: string): string {
  return noun.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
