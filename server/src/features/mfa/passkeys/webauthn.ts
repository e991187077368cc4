import { generateKeyPairSync } from 'node:crypto';
import { isIP } from 'node:net';
import type { VerifiedAuthenticationResponse, VerifiedRegistrationResponse } from '@simplewebauthn/server';
import { CofferError } from '../../../kernel/base/errors.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import { isChallengeFor, type Occasion, spendChallenge } from '../challenges.ts';
import type { MfaKernel } from '../links.ts';
import type { PasskeyAssertion, PasskeyRegistration } from '../schemas.ts';
import { lockPasskey, type PasskeyRow, updatePasskey } from './passkey-store.ts';

/** ES256, EdDSA and RS256, as COSE numbers them: every authenticator has one of them. */
export const ALGORITHMS = [-7, -8, -257];

/** It takes 150 ms to load, and many installations never need it. */
const library = () => import('@simplewebauthn/server');
const helpers = () => import('@simplewebauthn/server/helpers');

/** The name and origin under which browsers know this service. */
export interface RelyingParty {
  id: string;
  origin: string;
}

/** Browsers make passkeys for host names over https, and for localhost: never for an IP address. */
export function relyingParty({ addresses, config }: Pick<Kernel, 'addresses' | 'config'>): RelyingParty {
  const url = new URL(addresses.baseUrl);
  const isAddress = isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0;
  // Without a configured base URL the service listens on this machine only, where localhost is the same.
  if (isAddress && !config.hasBaseUrl) url.hostname = 'localhost';
  const isLocal = url.hostname === 'localhost' || url.hostname.endsWith('.localhost');
  if (isAddress && config.hasBaseUrl) {
    throw disabled('Browsers refuse passkeys for an IP address such as 127.0.0.1');
  }
  if (url.protocol !== 'https:' && !isLocal) throw disabled('Browsers refuse passkeys without https');
  return { id: url.hostname, origin: url.origin };
}

function disabled(why: string): CofferError {
  const what = 'the operator sets CV_BASE_URL to https with a host name, or to http://localhost on one machine';
  return new CofferError('PASSKEYS_DISABLED', `${why}: ${what}.`);
}

/** One answer for every reason; the audit log has the reason. */
export function refusedPasskey(auditReason: string): CofferError {
  return new CofferError(
    'LOGIN_DENIED',
    'The passkey was not accepted: start again with new options. If it is refused again, an admin finds the reason in the audit log.',
    { auditReason: `passkey: ${auditReason}` },
  );
}

/** A passkey that an authenticator has just made. */
export interface NewPasskey {
  challenge: string;
  credentialId: Buffer;
  publicKey: Uint8Array;
  signCount: number;
  isSynced: boolean;
  rp: RelyingParty;
}

/** WebAuthn, section 7.1: registering a new credential. */
export async function verifyRegistration(
  kernel: MfaKernel,
  occasion: Occasion,
  response: PasskeyRegistration,
): Promise<NewPasskey> {
  const rp = relyingParty(kernel);
  const challenge = await checkedChallenge(kernel, occasion, response.response.clientDataJSON);
  const verified = await asRefusal(async (): Promise<VerifiedRegistrationResponse> => {
    await refuseCertificates(response);
    const { verifyRegistrationResponse } = await library();
    return verifyRegistrationResponse({
      response: response as Parameters<typeof verifyRegistrationResponse>[0]['response'],
      expectedChallenge: challenge,
      expectedOrigin: rp.origin,
      expectedRPID: rp.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
  });
  if (!verified.verified) throw refusedPasskey('the attestation does not verify');
  const { credential, credentialDeviceType } = verified.registrationInfo;
  if (credential.id !== response.id) throw refusedPasskey('the id is not that of the credential');
  return {
    challenge,
    credentialId: Buffer.from(credential.id, 'base64url'),
    publicKey: credential.publicKey,
    signCount: credential.counter,
    isSynced: credentialDeviceType === 'multiDevice',
    rp,
  };
}

/**
 * No attestation was requested, so an authenticator sends none, or signs with the new key itself. Anyone who sends certificates made the response by
 * hand, and checking those would make the service fetch addresses of the sender's choice.
 */
async function refuseCertificates({ response }: PasskeyRegistration): Promise<void> {
  const { decodeAttestationObject } = await helpers();
  const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(response.attestationObject, 'base64url')));
  const format = decoded.get('fmt');
  const isSelfSigned = format === 'packed' && decoded.get('attStmt').get('x5c') === undefined;
  if (format !== 'none' && !isSelfSigned) throw refusedPasskey('it has an attestation that was not requested');
}

/** A response by a passkey whose signature was verified. `spendAssertion` then makes sure that it counts once. */
export interface VerifiedAssertion {
  occasion: Occasion;
  challenge: string;
  passkey: PasskeyRow;
  signCount: number;
  isSynced: boolean;
}

/** WebAuthn, section 7.2: verifying an assertion. Without a passkey it does the same work and refuses. */
export async function verifyAssertion(
  kernel: MfaKernel,
  occasion: Occasion,
  response: PasskeyAssertion,
  passkey: PasskeyRow | undefined,
): Promise<VerifiedAssertion> {
  const rp = relyingParty(kernel);
  const challenge = await checkedChallenge(kernel, occasion, response.response.clientDataJSON);
  const verified = await asRefusal(async (): Promise<VerifiedAuthenticationResponse> => {
    const { verifyAuthenticationResponse } = await library();
    return verifyAuthenticationResponse({
      response: response as Parameters<typeof verifyAuthenticationResponse>[0]['response'],
      expectedChallenge: challenge,
      expectedOrigin: rp.origin,
      expectedRPID: rp.id,
      requireUserVerification: true,
      // The counter is compared under a lock, when the response is spent.
      credential: { id: response.id, publicKey: new Uint8Array(passkey?.public_key ?? decoyKey()), counter: 0 },
    });
  });
  if (passkey === undefined) throw refusedPasskey('no such passkey');
  if (!verified.verified) throw refusedPasskey('the signature is wrong');
  const { userHandle } = response.response;
  const handle = userHandle == null ? null : Buffer.from(userHandle, 'base64url').toString('utf8');
  // Section 7.2, step 6: a person who was not known before is named by the authenticator.
  const isNamed = handle === passkey.user_id || (handle === null && occasion.userId === passkey.user_id);
  if (!isNamed) throw refusedPasskey('the user handle names somebody else');
  const { newCounter, credentialDeviceType } = verified.authenticationInfo;
  return { occasion, challenge, passkey, signCount: newCounter, isSynced: credentialDeviceType === 'multiDevice' };
}

/** Counts the response in the transaction that lets the person in. */
export async function spendAssertion(tx: Tx, verified: VerifiedAssertion, now: number): Promise<void> {
  const { occasion, challenge, passkey, signCount, isSynced } = verified;
  const current = await lockPasskey(tx, passkey.tenant_id, passkey.passkey_id);
  if (current === undefined) throw refusedPasskey('it was removed concurrently');
  if (!(await spendChallenge(tx, occasion.tenantId, challenge)))
    throw refusedPasskey('the challenge was answered before');
  // Section 7.2, step 22: an authenticator that counts never signs twice with one number, but a copy of it does.
  const isCounting = signCount > 0 || current.sign_count > 0;
  if (isCounting && signCount <= current.sign_count) {
    throw refusedPasskey(`the counter of ${passkey.passkey_id} went back: it may have been copied`);
  }
  await updatePasskey(tx, current, { sign_count: signCount, is_synced: Number(isSynced), last_used_at: now });
}

/** The challenge in the response, if it was issued for this occasion. */
async function checkedChallenge(
  kernel: Pick<Kernel, 'clock' | 'keyring'>,
  occasion: Occasion,
  clientDataJSON: string,
): Promise<string> {
  const { challenge, crossOrigin, topOrigin } = clientDataOf(clientDataJSON);
  if (typeof challenge !== 'string' || !(await isChallengeFor(kernel, occasion, challenge))) {
    throw refusedPasskey('the challenge was issued for something else, or has expired');
  }
  if (crossOrigin === true || topOrigin !== undefined)
    throw refusedPasskey('it was made inside a page of another site');
  return challenge;
}

function clientDataOf(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

/** The library throws an error of no particular class for everything that a response can have wrong. Quoted text comes from the response. */
async function asRefusal<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof CofferError || !(error instanceof Error)) throw error;
    throw refusedPasskey(error.message.replace(/"[^"]*"/g, '…').slice(0, REASON_LENGTH_MAX));
  }
}

const REASON_LENGTH_MAX = 200;

let decoy: Buffer | null = null;

/** A COSE key that nobody has the other half of, so that a response for no passkey takes as long as one for a passkey. */
function decoyKey(): Buffer {
  if (decoy === null) {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const [head, between] = [Buffer.from('a5010203262001215820', 'hex'), Buffer.from('225820', 'hex')];
    decoy = Buffer.concat([head, Buffer.from(x, 'base64url'), between, Buffer.from(y, 'base64url')]);
  }
  return decoy;
}
