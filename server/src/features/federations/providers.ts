import type { ProviderName } from './contract.ts';
import type { OwnerEnd } from './subject-pattern.ts';
import { ownerEndsWithColon, ownerEndsWithSlash } from './subject-pattern.ts';

/** What is known about a CI system in advance. */
export interface Provider {
  /** Null if each installation or workspace has its own. */
  readonly issuer: string | null;
  /** The form that a given issuer must have. */
  readonly issuerForm: RegExp | null;
  /** Where an issuer publishes its keys; null to use its discovery document. */
  jwksUrl(issuer: string): string | null;
  readonly ownerEnd: OwnerEnd;
  /** The claims that identify one run, best first, for the audit log. */
  readonly runClaims: readonly string[];
}

const discovered = () => null;
const under = (path: string) => (issuer: string) => `${issuer.replace(/\/$/, '')}${path}`;

const KNOWN: Readonly<Record<ProviderName, Provider>> = {
  github: {
    issuer: 'https://token.actions.githubusercontent.com',
    issuerForm: null,
    jwksUrl: discovered,
    ownerEnd: ownerEndsWithSlash,
    runClaims: ['run_id'],
  },
  gitlab: {
    issuer: 'https://gitlab.com',
    issuerForm: null,
    jwksUrl: under('/oauth/discovery/keys'),
    ownerEnd: ownerEndsWithSlash,
    runClaims: ['pipeline_id', 'job_id'],
  },
  bitbucket: {
    issuer: null,
    issuerForm:
      /^https:\/\/api\.bitbucket\.org\/2\.0\/workspaces\/[A-Za-z0-9._-]{1,100}\/pipelines-config\/identity\/oidc$/,
    jwksUrl: under('/keys.json'),
    ownerEnd: ownerEndsWithColon,
    runClaims: ['pipelineUuid', 'stepUuid'],
  },
  jenkins: {
    issuer: null,
    issuerForm: null,
    jwksUrl: under('/jwks'),
    ownerEnd: ownerEndsWithSlash,
    runClaims: ['build_number'],
  },
  teamcity: {
    issuer: null,
    issuerForm: null,
    jwksUrl: under('/.well-known/jwks.json'),
    ownerEnd: ownerEndsWithSlash,
    runClaims: ['build_id'],
  },
  custom: {
    issuer: null,
    issuerForm: null,
    jwksUrl: discovered,
    ownerEnd: ownerEndsWithSlash,
    runClaims: ['run_id', 'pipeline_id', 'build_id', 'job_id'],
  },
};

export function providerNamed(name: ProviderName): Provider {
  return KNOWN[name];
}
