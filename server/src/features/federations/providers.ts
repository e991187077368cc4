import type { ProviderName } from './contract.ts';
import type { OwnerEnd } from './subject-pattern.ts';
import { ownerEndsWithColon, ownerEndsWithSlash } from './subject-pattern.ts';

/** The preset settings of a CI system. */
export interface Provider {
  /** The issuer URL. Null if each installation or workspace has its own. */
  readonly issuer: string | null;
  /** The form that an issuer sent by the caller must have; null allows any. */
  readonly issuerForm: RegExp | null;
  /** Where an issuer publishes its keys; null to use its discovery document. */
  jwksUrl(issuer: string): string | null;
  readonly ownerEnd: OwnerEnd;
  /** The claims that identify one run. The audit log shows the first of them that the token has. */
  readonly runClaims: readonly string[];
}

const fromDiscovery = () => null;
const belowIssuer = (path: string) => (issuer: string) => `${issuer.replace(/\/$/, '')}${path}`;

const PROVIDERS: Readonly<Record<ProviderName, Provider>> = {
  github: {
    issuer: 'https://token.actions.githubusercontent.com',
    issuerForm: null,
    jwksUrl: fromDiscovery,
    ownerEnd: ownerEndsWithSlash,
    runClaims: ['run_id'],
  },
  gitlab: {
    issuer: 'https://gitlab.com',
    issuerForm: null,
    jwksUrl: belowIssuer('/oauth/discovery/keys'),
    ownerEnd: ownerEndsWithSlash,
    runClaims: ['pipeline_id', 'job_id'],
  },
  bitbucket: {
    issuer: null,
    issuerForm:
      /^https:\/\/api\.bitbucket\.org\/2\.0\/workspaces\/[A-Za-z0-9._-]{1,100}\/pipelines-config\/identity\/oidc$/,
    jwksUrl: belowIssuer('/keys.json'),
    ownerEnd: ownerEndsWithColon,
    runClaims: ['pipelineUuid', 'stepUuid'],
  },
  jenkins: {
    issuer: null,
    issuerForm: null,
    jwksUrl: belowIssuer('/jwks'),
    ownerEnd: ownerEndsWithSlash,
    runClaims: ['build_number'],
  },
  teamcity: {
    issuer: null,
    issuerForm: null,
    jwksUrl: belowIssuer('/.well-known/jwks.json'),
    ownerEnd: ownerEndsWithSlash,
    runClaims: ['build_id'],
  },
  custom: {
    issuer: null,
    issuerForm: null,
    jwksUrl: fromDiscovery,
    ownerEnd: ownerEndsWithSlash,
    runClaims: ['run_id', 'pipeline_id', 'build_id', 'job_id'],
  },
};

export function providerNamed(name: ProviderName): Provider {
  return PROVIDERS[name];
}
