import { DAY_MS } from '../../../kernel/base/clock.ts';
import { anyPattern } from '../../../kernel/base/safe-pattern.ts';
import { ANY_ALGORITHM } from '../../../kernel/external-identity/algorithms.ts';
import { isName } from '../../../kernel/external-identity/external-jwt.ts';
import { refuse } from '../../../kernel/external-identity/refusal.ts';
import { verifiedByKeySet } from '../../../kernel/external-identity/verified-token.ts';
import { OidcConfig } from '../contract.ts';
import { type MethodKind, refuseBadPatterns, refuseBadUrl } from './method.ts';

/** How long the keys of workload issuers are cached. */
export const KEYS_TTL_MS = DAY_MS;

/** Any issuer with an OpenID discovery document. */
export const oidcGeneric: MethodKind<OidcConfig> = {
  type: 'oidc_generic',
  schema: OidcConfig,
  credential: ['oidc_token'],
  secrets: [],
  destinations: [],
  standIn: () => null,
  calledUrl: ({ expected_issuer: url }) => ({ member: 'expected_issuer', url }),

  refuseBadConfig(config) {
    refuseBadUrl('expected_issuer', config.expected_issuer);
    refuseBadPatterns('allowed_subjects', config.allowed_subjects);
  },

  async verify({ oidc_token = '' }, config, { keySets, owner, now }) {
    const { expected_issuer: issuer, expected_audience: audience } = config;
    const source = { owner, issuer, jwksUrl: null, ttlMs: KEYS_TTL_MS };
    const { sub } = await verifiedByKeySet(oidc_token, ANY_ALGORITHM, { issuer, audience, now }, { source, keySets });
    if (!isName(sub)) return refuse('the token has no subject');
    if (!anyPattern(config.allowed_subjects)(sub)) return refuse('the subject is not allowed');
    return { subject: sub, details: {} };
  },
};
