import type { EndpointDeclaration } from '../../kernel/endpoint.ts';

/** What the reference says about a noun besides its endpoints. */
export interface Noun {
  title: string;
  group: (typeof GROUPS)[number];
  /** Pages of the guide about it. */
  guide: readonly string[];
}

export const GROUPS = ['Secrets', 'People', 'Machines', 'Cryptography', 'Running it'] as const;

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
    guide: ['secrets', 'rotation'],
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
  sessions: {
    title: 'Sessions',
    group: 'People',
    guide: ['tokens', 'invitations', 'lost-access'],
  },
  tokens: {
    title: 'Tokens',
    group: 'People',
    guide: ['tokens'],
  },
  mfa: {
    title: 'Second factors',
    group: 'People',
    guide: ['second-factors', 'lost-access'],
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
  approvals: {
    title: 'Approvals',
    group: 'People',
    guide: ['approvals'],
  },
  audit: {
    title: 'Audit log',
    group: 'People',
    guide: ['audit'],
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
    group: 'Running it',
    guide: ['quotas', 'second-factors'],
  },
  operations: {
    title: 'Health and metrics',
    group: 'Running it',
    guide: ['operations', 'configuration'],
  },
  reference: {
    title: 'Reference',
    group: 'Running it',
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
  if (unknown.length > 0) throw new Error(`say in nouns.ts what these nouns are: ${unknown}`);
  return Object.entries(NOUNS)
    .filter(([noun]) => byNoun.has(noun))
    .map(([noun, about]) => {
      const endpoints = byNoun.get(noun) ?? [];
      return { ...about, summary: summaryOf(noun, endpoints), page: slug(noun), endpoints };
    });
}

function summaryOf(noun: string, endpoints: readonly EndpointDeclaration[]): string {
  const summary = endpoints.find((e) => e.nounDescription !== undefined)?.nounDescription;
  if (summary === undefined) throw new Error(`no endpoint says what ${noun} are: give one a nounDescription`);
  return summary;
}

function slug(noun: string): string {
  return noun.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
