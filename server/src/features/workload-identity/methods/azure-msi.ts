import { isName, readToken } from '../../../kernel/external-identity/external-jwt.ts';
import type { KeySource } from '../../../kernel/external-identity/key-sets.ts';
import { refuse } from '../../../kernel/external-identity/refusal.ts';
import { verifiedByKeySet } from '../../../kernel/external-identity/verified-token.ts';
import { AzureConfig } from '../contract.ts';
import { type MethodKind, refuseBadUrl, refuseUnlikely, type Tools } from './method.ts';
import { KEYS_TTL_MS } from './oidc-generic.ts';

const AUTHORITY = 'https://login.microsoftonline.com';
const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ANY_DIRECTORY =
  'Without tenant_id, the identities in allowed_object_ids are accepted from whichever directory issued the token. Set tenant_id to the directory they belong to.';

/** Access tokens of managed identities, v1.0 and v2.0. */
export const azureMsi: MethodKind<AzureConfig> = {
  type: 'azure_msi',
  schema: AzureConfig,
  credential: ['azure_jwt'],
  secrets: [],
  destinations: [],
  standIn: ({ issuer }) => (issuer === undefined ? null : { member: 'issuer', url: issuer }),

  warningsOf: ({ tenant_id }) => (tenant_id === undefined ? [ANY_DIRECTORY] : []),

  refuseBadConfig(config) {
    refuseBadUrl('issuer', config.issuer);
    refuseUnlikely('allowed_object_ids', config.allowed_object_ids, GUID, 'must be an object id, in lower case');
  },

  async verify({ azure_jwt = '' }, config, tools) {
    const { tenant_id, expected_audience: audience } = config;
    const { iss, tid, oid } = readToken(azure_jwt, ['RS256']).unverified;
    // A token without an allowed object id triggers no outbound request, whichever directory it names.
    if (typeof oid !== 'string' || !config.allowed_object_ids.includes(oid))
      return refuse('the object id is not allowed');
    // The directory id becomes part of a URL.
    if (typeof tid !== 'string' || !GUID.test(tid)) return refuse('the token names no directory');
    if (tenant_id !== undefined && tid !== tenant_id) return refuse('the token is from another directory');
    const source = sourcesOf(config, tid, tools).find((known) => known.issuer === iss);
    if (source === undefined) return refuse('the token is from another issuer');
    const expected = { issuer: source.issuer, audience, now: tools.now };
    const { appid, azp } = await verifiedByKeySet(azure_jwt, ['RS256'], expected, { source, keySets: tools.keySets });
    const application = appid ?? azp;
    return { subject: oid, details: { tenant_id: tid, application: isName(application) ? application : '' } };
  },
};

/** The v1.0 and v2.0 issuers of a directory with their JWKS URLs, or the configured issuer that replaces them. */
function sourcesOf({ issuer }: AzureConfig, tenantId: string, { owner }: Tools): KeySource[] {
  const common = { owner, ttlMs: KEYS_TTL_MS };
  if (issuer !== undefined) return [{ ...common, issuer, jwksUrl: null, onlyOpened: true }];
  const base = `${AUTHORITY}/${tenantId}`;
  return [
    { ...common, issuer: `https://sts.windows.net/${tenantId}/`, jwksUrl: `${base}/discovery/keys` },
    { ...common, issuer: `${base}/v2.0`, jwksUrl: `${base}/discovery/v2.0/keys` },
  ];
}
