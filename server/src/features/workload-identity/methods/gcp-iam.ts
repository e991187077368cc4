import { isName } from '../../../kernel/external-identity/external-jwt.ts';
import { refuse } from '../../../kernel/external-identity/refusal.ts';
import { verifiedByKeySet } from '../../../kernel/external-identity/verified-token.ts';
import { GcpConfig } from '../contract.ts';
import { type MethodKind, refuseBadUrl, refuseUnlikely } from './method.ts';
import { KEYS_TTL_MS } from './oidc-generic.ts';

const ISSUER = 'https://accounts.google.com';
const JWKS_URL = 'https://www.googleapis.com/oauth2/v3/certs';

/** Identity tokens of Google service accounts. */
export const gcpIam: MethodKind<GcpConfig> = {
  type: 'gcp_iam',
  schema: GcpConfig,
  credential: ['gcp_jwt'],
  secrets: [],
  destinations: [],
  standIn: ({ issuer }) => (issuer === undefined || issuer === ISSUER ? null : { member: 'issuer', url: issuer }),

  refuseBadConfig(config) {
    refuseBadUrl('issuer', config.issuer);
    refuseUnlikely(
      'allowed_emails',
      config.allowed_emails,
      /^[^@*]+@[^@*]+$/,
      'must be an e-mail address; there are no patterns here',
    );
  },

  async verify({ gcp_jwt = '' }, config, { keySets, owner, now }) {
    const { issuer = ISSUER, expected_audience: audience } = config;
    const isOwn = issuer === ISSUER;
    const source = { owner, issuer, jwksUrl: isOwn ? JWKS_URL : null, ttlMs: KEYS_TTL_MS, onlyOpened: !isOwn };
    const claims = await verifiedByKeySet(gcp_jwt, ['RS256'], { issuer, audience, now }, { source, keySets });
    const { sub, email, email_verified } = claims;
    if (!isName(email)) return refuse('the token has no e-mail address');
    if (email_verified !== true) return refuse('the e-mail address is not verified');
    if (!config.allowed_emails.includes(email)) return refuse('the e-mail address is not allowed');
    return { subject: email, details: { sub: isName(sub) ? sub : '' } };
  },
};
