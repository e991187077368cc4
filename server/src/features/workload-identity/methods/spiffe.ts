import { anyPattern } from '../../../kernel/base/safe-pattern.ts';
import type { JwsAlgorithm } from '../../../kernel/external-identity/algorithms.ts';
import { isUsableKey } from '../../../kernel/external-identity/algorithms.ts';
import type { ExternalKey } from '../../../kernel/external-identity/key-set.ts';
import { refuse } from '../../../kernel/external-identity/refusal.ts';
import { verifiedByKeys } from '../../../kernel/external-identity/verified-token.ts';
import { SpiffeConfig } from '../contract.ts';
import { badConfig, type MethodKind, refuseBadPatterns } from './method.ts';
import { type BundleEntry, PEM_BLOCKS_MAX, readBundle } from './pem-bundle.ts';

/** JWT-SVID, 2.2 permits these and no others. */
const ALGORITHMS: readonly JwsAlgorithm[] = [
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
];
const ID_LENGTH_MAX = 2048;
/** SPIFFE-ID, 2.2: segments of these characters, none of them empty, `.` or `..`. */
const PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)+$/;

/** JWT-SVIDs, verified with the keys of a trust bundle. */
export const spiffe: MethodKind<SpiffeConfig> = {
  type: 'spiffe',
  schema: SpiffeConfig,
  credential: ['jwt_svid'],
  secrets: [],
  destinations: [],
  standIn: () => null,

  refuseBadConfig(config) {
    const bundle = readBundle(config.trust_bundle_pem);
    if (bundle === null) badConfig('trust_bundle_pem', `must be 1 to ${PEM_BLOCKS_MAX} certificates or public keys`);
    else if (!bundle.every(({ key }) => isUsableKey(key))) badConfig('trust_bundle_pem', 'has a key that is too weak');
    refuseBadPatterns('allowed_spiffe_ids', config.allowed_spiffe_ids);
  },

  async verify({ jwt_svid = '' }, config, { now }) {
    const keys = (readBundle(config.trust_bundle_pem) ?? []).filter((entry) => isValid(entry, now)).map(asKey);
    const { expected_audience: audience, trust_domain } = config;
    const { sub } = await verifiedByKeys(jwt_svid, ALGORITHMS, { issuer: null, audience, now }, keys);
    if (typeof sub !== 'string' || sub.length > ID_LENGTH_MAX) return refuse('the token has no subject');
    const prefix = `spiffe://${trust_domain}`;
    if (!sub.startsWith(`${prefix}/`)) return refuse('the subject is not of the trust domain');
    if (!PATH.test(sub.slice(prefix.length))) return refuse('the subject is not a SPIFFE ID');
    if (!anyPattern(config.allowed_spiffe_ids)(sub)) return refuse('the SPIFFE ID is not allowed');
    return { subject: sub, details: {} };
  },
};

/** A key from a certificate is trusted only while the certificate is valid. */
function isValid({ certificate }: BundleEntry, now: number): boolean {
  if (certificate === null) return true;
  return certificate.validFromDate.getTime() <= now && now <= certificate.validToDate.getTime();
}

function asKey({ key }: BundleEntry): ExternalKey {
  return { kid: null, key, algorithm: null };
}
