import type { Command } from 'commander';

export interface VerbModule {
  register(program: Command): void;
  /** Messages for failures that only this verb knows. */
  explain?(error: unknown): string;
}

export interface Verb {
  summary: string;
  load(): Promise<VerbModule>;
}

/** Every verb, in the order of the help. */
export const VERBS: Readonly<Record<string, Verb>> = {
  login: { summary: 'Log in to a service and keep the session', load: () => import('./commands/login.ts') },
  logout: { summary: 'End the session and delete it here', load: () => import('./commands/login.ts') },
  whoami: { summary: 'Show who you are, and where', load: () => import('./commands/login.ts') },
  profiles: {
    summary: 'List and choose the services that you are logged in to',
    load: () => import('./commands/login.ts'),
  },
  'sign-up': { summary: 'Sign up for a tenant of your own', load: () => import('./commands/sign-up.ts') },
  init: {
    summary: 'Choose the vault and environment of a project (.coffer.yaml)',
    load: () => import('./commands/init.ts'),
  },
  vaults: { summary: 'List, show, create and delete vaults', load: () => import('./commands/vaults.ts') },
  secrets: {
    summary: 'Read, write, edit, compare, rotate and search secrets',
    load: () => import('./commands/secrets.ts'),
  },
  run: { summary: 'Run a command with secrets in its environment', load: () => import('./commands/run.ts') },
  export: {
    summary: 'Print secrets as dotenv, JSON, YAML, shell, Kubernetes, Docker or GitHub Actions',
    load: () => import('./commands/export.ts'),
  },
  import: {
    summary: 'Import a .env or JSON file, or from another product',
    load: () => import('./commands/import.ts'),
  },
  inject: { summary: 'Fill references into a template', load: () => import('./commands/inject.ts') },
  env: { summary: 'List and compose environments', load: () => import('./commands/env.ts') },
  request: { summary: 'Request access to a vault for a time', load: () => import('./commands/access.ts') },
  access: {
    summary: 'List access that was given for a time, and end it',
    load: () => import('./commands/access.ts'),
  },
  share: {
    summary: 'Hand a value to somebody by a link that opens it once',
    load: () => import('./commands/share.ts'),
  },
  approvals: { summary: 'List and decide approvals', load: () => import('./commands/approvals.ts') },
  audit: { summary: 'Show, follow and verify the audit log', load: () => import('./commands/audit.ts') },
  policies: {
    summary: 'Write and attach policies, and simulate what they allow',
    load: () => import('./commands/policies.ts'),
  },
  why: { summary: 'Say why you may or may not do something', load: () => import('./commands/why.ts') },
  people: {
    summary: 'Invite people, and give them roles',
    load: () => import('./commands/people.ts'),
  },
  groups: { summary: 'Put people into groups', load: () => import('./commands/groups.ts') },
  settings: { summary: 'Change what holds for everybody in your tenant', load: () => import('./commands/settings.ts') },
  'sign-on': {
    summary: 'Let people sign in with your organization’s provider',
    load: () => import('./commands/sign-on.ts'),
  },
  connections: { summary: 'Give machines access', load: () => import('./commands/connections.ts') },
  federations: {
    summary: 'Let pipelines in without a secret of their own',
    load: () => import('./commands/federations.ts'),
  },
  certificates: {
    summary: 'List and revoke certificates of machines',
    load: () => import('./commands/certificates.ts'),
  },
  workloads: {
    summary: 'Let workloads in by their cluster, cloud or issuer',
    load: () => import('./commands/workloads.ts'),
  },
  hosts: { summary: 'Accounts and SSH keys on Linux hosts', load: () => import('./commands/hosts.ts') },
  clusters: { summary: 'Deliver secrets to Kubernetes clusters', load: () => import('./commands/clusters.ts') },
  keys: { summary: 'Create, rotate and use encryption keys', load: () => import('./commands/keys.ts') },
  tokenize: { summary: 'Store a value and get a token for it', load: () => import('./commands/tokenization.ts') },
  detokenize: { summary: 'Get the value of a token', load: () => import('./commands/tokenization.ts') },
  pqc: {
    summary: 'Wrap keys and sign files with post-quantum algorithms',
    load: () => import('./commands/pqc.ts'),
  },
  attest: { summary: 'Verify what an enclave says about itself', load: () => import('./commands/attest.ts') },
  webhooks: { summary: 'Tell other programs what happens', load: () => import('./commands/webhooks.ts') },
  exporters: { summary: 'Send the audit log to other systems', load: () => import('./commands/exporters.ts') },
  anomalies: { summary: 'See what is unusual, and act on it', load: () => import('./commands/anomalies.ts') },
  risk: { summary: 'See which secrets are at risk, and why', load: () => import('./commands/risk.ts') },
  tenants: { summary: 'Create, suspend and change tenants, as operator', load: () => import('./commands/tenants.ts') },
  plans: { summary: 'Show what plans allow and what is used', load: () => import('./commands/plans.ts') },
  regions: { summary: 'Show and promote regions of tenants, as operator', load: () => import('./commands/regions.ts') },
  jobs: { summary: 'Show background jobs, and run one now', load: () => import('./commands/jobs.ts') },
  password: { summary: 'Set or change your password', load: () => import('./commands/password.ts') },
  'second-factor': {
    summary: 'Add or remove your second factor, and make recovery codes',
    load: () => import('./commands/second-factor.ts'),
  },
  sessions: { summary: 'List and end your sessions', load: () => import('./commands/sessions.ts') },
  tokens: { summary: 'List, create and revoke personal access tokens', load: () => import('./commands/tokens.ts') },
  agent: { summary: 'Keep a service supplied with secrets', load: () => import('./commands/agent.ts') },
  completion: {
    summary: 'Print a completion script for bash, zsh or fish',
    load: () => import('./commands/completion.ts'),
  },
  scan: { summary: 'Find secrets in files, git and standard input', load: () => import('./commands/scan.ts') },
  server: { summary: 'Administer an installation on its own machine', load: () => import('./commands/server.ts') },
};
