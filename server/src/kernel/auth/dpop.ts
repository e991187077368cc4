import { calculateJwkThumbprint, EmbeddedJWK, errors, type JWK, jwtVerify } from 'jose';
import { SECOND_MS } from '../base/clock.ts';
import { sha256 } from '../crypto/digest.ts';

/** A client creates a proof for one request and sends it immediately. The window only allows for clock skew. */
export const PROOF_WINDOW_MS = 300 * SECOND_MS;
const PROOF_LENGTH_MAX = 4096;
const JTI_LENGTH_MAX = 256;
const ALGORITHMS = [
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
  'EdDSA',
  'Ed25519',
];
export const PROOF_ALGORITHMS = ALGORITHMS.join(' ');
const RSA_BITS_MIN = 2048;
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** The request that the proof must match. */
export interface ProvedRequest {
  method: string;
  /** Path and query as received. */
  url: string;
  /** The configured origins of this service, never those that the request claims. */
  origins: readonly string[];
  /** The token sent with the request, if there is one. */
  token: string | null;
  now: number;
}

export interface Proof {
  /** RFC 7638 thumbprint of the signing key. */
  jkt: string;
  /** The key under which the proof is stored, so that it can be used only once. */
  replayKey: string;
  nonce: string | null;
  issuedAt: number;
}

/** The message says why a proof is not accepted. It goes to the audit log and never to the caller. */
export class InvalidProof extends Error {
  override readonly name = 'InvalidProof';
}

/** Verifies a proof (RFC 9449). The caller must still check that it was not used before and that its key is the expected one. */
export async function verifyProof(proof: string, request: ProvedRequest): Promise<Proof> {
  if (proof.length > PROOF_LENGTH_MAX) throw new InvalidProof('the proof is too long');
  const { payload, protectedHeader } = await verifySignature(proof, request.now);
  const { jti, htm, htu, iat, ath, nonce } = payload as Record<string, unknown>;
  const jwk = protectedHeader.jwk as JWK;
  refuseBadKey(jwk);
  if (typeof jti !== 'string' || jti === '' || jti.length > JTI_LENGTH_MAX)
    throw new InvalidProof('it has no usable jti');
  if (htm !== request.method) throw new InvalidProof('it was made for another method');
  if (typeof htu !== 'string' || !isSameTarget(htu, request)) throw new InvalidProof('it was made for another URL');
  if (typeof iat !== 'number' || !Number.isFinite(iat)) throw new InvalidProof('it has no iat');
  if (Math.abs(iat * SECOND_MS - request.now) > PROOF_WINDOW_MS)
    throw new InvalidProof('its iat is too old or in the future');
  if (nonce !== undefined && typeof nonce !== 'string') throw new InvalidProof('its nonce is not a string');
  if (request.token === null) {
    if (ath !== undefined) throw new InvalidProof('it is for a token, but none was sent');
  } else if (ath !== sha256(request.token).toString('base64url'))
    throw new InvalidProof('it was made for another token');
  const jkt = await calculateJwkThumbprint(jwk, 'sha256');
  return {
    jkt,
    replayKey: sha256(`${jkt} ${jti}`).toString('base64url'),
    nonce: nonce ?? null,
    issuedAt: Math.ceil(iat * SECOND_MS),
  };
}

async function verifySignature(proof: string, now: number) {
  try {
    return await jwtVerify(proof, EmbeddedJWK, {
      typ: 'dpop+jwt',
      algorithms: ALGORITHMS,
      currentDate: new Date(now),
    });
  } catch (error) {
    const kind = error instanceof errors.JOSEError ? error.code : 'malformed';
    throw new InvalidProof(`it is not a signed proof (${kind})`);
  }
}

function refuseBadKey(jwk: JWK): void {
  const members = jwk as Record<string, unknown>;
  if (PRIVATE_MEMBERS.some((name) => members[name] !== undefined)) throw new InvalidProof('it carries a private key');
  if (jwk.kty === 'RSA' && Buffer.from(jwk.n ?? '', 'base64url').length * 8 < RSA_BITS_MIN) {
    throw new InvalidProof('its key is too short');
  }
}

/** Compares without query and fragment, after normalizing both URLs in the same way. */
function isSameTarget(htu: string, { url, origins }: ProvedRequest): boolean {
  const claimed = URL.parse(htu);
  if (claimed === null || claimed.search !== '' || claimed.hash !== '' || claimed.username !== '') return false;
  if (/[?#]/.test(htu)) return false;
  const [path = '/'] = url.split('?', 1);
  return origins.some((origin) => {
    const own = URL.parse(origin.replace(/\/$/, '') + path);
    return own !== null && own.origin === claimed.origin && normalPath(own.pathname) === normalPath(claimed.pathname);
  });
}

/** Percent-encodings are compared by the character they encode, but an encoded slash never equals a slash. */
function normalPath(path: string): string {
  return path.replace(/%[0-9A-Fa-f]{2}/g, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : encoded.toUpperCase();
  });
}
