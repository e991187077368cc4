import type { Command } from 'commander';

export interface VerbModule {
  register(program: Command): void;
  /** Words for a failure that only this verb knows. */
  explain?(error: unknown): string;
}

export interface Verb {
  summary: string;
  load(): Promise<VerbModule>;
}

/** Every verb, in the order of the help. */
export const VERBS: Readonly<Record<string, Verb>> = {
  login: { summary: 'Log in to a service and keep the session', load: () => import('./commands/login.ts') },
  logout: { summary: 'End the session and forget it', load: () => import('./commands/login.ts') },
  whoami: { summary: 'Show who you are, and where', load: () => import('./commands/login.ts') },
  profiles: {
    summary: 'List and choose the services that you are logged in to',
    load: () => import('./commands/login.ts'),
  },
  vaults: { summary: 'List, show, create and delete vaults', load: () => import('./commands/vaults.ts') },
  server: { summary: 'Administer an installation on its own machine', load: () => import('./commands/server.ts') },
};
