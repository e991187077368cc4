import type { EndpointDeclaration } from '../../kernel/endpoint.ts';

/** What the reference says of a noun beside its endpoints. */
export interface Noun {
  title: string;
  group: (typeof GROUPS)[number];
  summary: string;
  /** Pages of the guide that are about it. */
  guide: readonly string[];
}

export const GROUPS = ['Secrets', 'People', 'Machines', 'Cryptography', 'Running it'] as const;

/** In the order in which the contents list them. */
const NOUNS: Readonly<Record<string, Noun>> = {
  vaults: {
    title: 'Vaults',
    group: 'Secrets',
    summary: 'Containers of secrets: their stage, settings and members, deleting and restoring them.',
    guide: ['vaults', 'zero-knowledge'],
  },
  secrets: {
    title: 'Secrets',
    group: 'Secrets',
    summary: 'Values with versions: making, reading, changing, finding, rotating and moving them.',
    guide: ['secrets', 'rotation'],
  },
  'composed environments': {
    title: 'Composed environments',
    group: 'Secrets',
    summary: 'Names bound to secrets, inherited from the root down, fetched in one request.',
    guide: ['environments'],
  },
  'import and export': {
    title: 'Import and export',
    group: 'Secrets',
    summary: 'Many secrets at once, as JSON or `.env` files.',
    guide: ['import-and-export'],
  },
  sessions: {
    title: 'Sessions',
    group: 'People',
    summary: 'Logging in and out, the own account and its password.',
    guide: ['tokens', 'invitations', 'lost-access'],
  },
  tokens: {
    title: 'Tokens',
    group: 'People',
    summary: 'Personal access tokens, limited by time, vault, action and address.',
    guide: ['tokens'],
  },
  mfa: {
    title: 'Second factors',
    group: 'People',
    summary: 'One-time codes and recovery codes.',
    guide: ['second-factors', 'lost-access'],
  },
  users: {
    title: 'Users',
    group: 'People',
    summary: 'Accounts of people, their roles, and ending them.',
    guide: ['people', 'invitations'],
  },
  groups: {
    title: 'Groups',
    group: 'People',
    summary: 'People who share what they may do.',
    guide: ['people'],
  },
  policies: {
    title: 'Policies',
    group: 'People',
    summary: 'Rules finer than roles: which actions on which resources, and under what conditions.',
    guide: ['policies'],
  },
  approvals: {
    title: 'Approvals',
    group: 'People',
    summary: 'Changes that take two people: looking at what waits, and deciding.',
    guide: ['approvals'],
  },
  audit: {
    title: 'Audit log',
    group: 'People',
    summary: 'Who did what: reading the log, verifying it, signed checkpoints.',
    guide: ['audit'],
  },
  'app-connections': {
    title: 'AppConnections',
    group: 'Machines',
    summary: 'Identities of machines: client secrets, certificates, sessions, and what they may read.',
    guide: ['app-connections'],
  },
  federations: {
    title: 'Federations',
    group: 'Machines',
    summary: 'Pipelines that exchange the identity their CI system gives them, and keep no secret.',
    guide: ['federations'],
  },
  'workload-identity': {
    title: 'Workload identity',
    group: 'Machines',
    summary: 'Logins by what a cluster, a cloud or an issuer says of a workload.',
    guide: ['workload-identity'],
  },
  eso: {
    title: 'External Secrets',
    group: 'Machines',
    summary: 'What the External Secrets Operator reads for Kubernetes.',
    guide: ['external-secrets'],
  },
  certificates: {
    title: 'Certificates',
    group: 'Machines',
    summary: 'The authorities of the installation and its tenants, and what they revoked.',
    guide: ['certificates'],
  },
  eaas: {
    title: 'Encryption as a service',
    group: 'Cryptography',
    summary: 'Keys that never leave: encrypting, decrypting and rewrapping with them.',
    guide: ['encryption'],
  },
  tokenization: {
    title: 'Tokenization',
    group: 'Cryptography',
    summary: 'Tokens in place of sensitive values.',
    guide: ['tokenization'],
  },
  pqc: {
    title: 'Post-quantum',
    group: 'Cryptography',
    summary: 'Wrapping keys and signing with a classical and a post-quantum algorithm at once.',
    guide: ['post-quantum'],
  },
  attestation: {
    title: 'Attestation',
    group: 'Cryptography',
    summary: 'Whether what an enclave says about itself is true.',
    guide: ['attestation'],
  },
  tenants: {
    title: 'Tenants',
    group: 'Running it',
    summary: 'Tenants of the installation, their plans and limits, and the settings of one’s own.',
    guide: ['quotas', 'second-factors'],
  },
  operations: {
    title: 'Health and metrics',
    group: 'Running it',
    summary: 'Whether the service is there, whether it can answer, and how it fares.',
    guide: ['operations', 'configuration'],
  },
  reference: {
    title: 'Reference',
    group: 'Running it',
    summary: 'These pages, and the same as a document for tools.',
    guide: [],
  },
};

/** A noun with its endpoints: one page. */
export interface NounPage extends Noun {
  /** The last segment of its address. */
  page: string;
  endpoints: readonly EndpointDeclaration[];
}

/** Every noun that is declared, in the order of the contents. */
export function nounPages(declarations: readonly EndpointDeclaration[]): NounPage[] {
  const byNoun = Map.groupBy(declarations, (e) => e.noun);
  const unknown = [...byNoun.keys()].filter((noun) => !Object.hasOwn(NOUNS, noun));
  if (unknown.length > 0) throw new Error(`say in nouns.ts what these nouns are: ${unknown}`);
  return Object.entries(NOUNS)
    .filter(([noun]) => byNoun.has(noun))
    .map(([noun, about]) => ({ ...about, page: slug(noun), endpoints: byNoun.get(noun) ?? [] }));
}

function slug(noun: string): string {
  return noun.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
