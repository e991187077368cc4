import { randomBytes } from 'node:crypto';
import { signedHeaders } from '../outbound/aws-signature.ts';
import { parseOutgoingUrl } from '../outbound/http-client.ts';
import { AwsCredentialChain } from './aws-credentials.ts';
import { EnvelopeProvider, type KeyWrapping, notSealedHere } from './envelope.ts';
import { type SealContext, SealError, type SealProblem } from './provider.ts';
import { misconfigured, optionsOf, type SealOption, type SealReference } from './reference.ts';
import { ServiceCalls } from './service-calls.ts';
import { type SealSurroundings, type SealVariable, variable } from './surroundings.ts';

const REGION = /^[a-z]{2,4}(?:-[a-z]{2,10}){1,3}-\d{1,2}$/;

export const AWS_KMS_OPTIONS: readonly SealOption[] = [
  { name: 'fips', value: /^true$/, doc: '`true` uses the endpoints that are validated for FIPS 140.' },
  {
    name: 'replica',
    value: REGION,
    doc: 'Another region with a replica of a multi-Region key (`mrk-…`), used while the first one cannot be reached.',
  },
];

export const AWS_KMS_VARIABLES: readonly SealVariable[] = [
  {
    name: 'AWS_ENDPOINT_URL_KMS',
    doc: 'Origin of KMS, if it has one of its own in your network. A private address also belongs in CV_OUTBOUND_ALLOW.',
    secret: false,
  },
];

const KEY_ID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32}';
const ALIAS = 'alias/[A-Za-z0-9/_-]{1,250}';
const ARN = new RegExp(
  `^arn:(aws|aws-cn|aws-us-gov|aws-eusc):kms:([a-z0-9-]{1,32}):(\\d{12}):(?:key/(${KEY_ID})|(${ALIAS}))$`,
);
const URI = new RegExp(`^//([a-z0-9-]{1,32})/(?:(${KEY_ID})|(${ALIAS}))$`);
const ENCRYPTED_KEY = /^arn:[a-z-]{3,16}:kms:[a-z0-9-]{1,32}:(\d{12}):key\/([0-9a-z-]{1,64})$/;

/** A key as the reference names it. */
interface KmsKey {
  readonly region: string;
  readonly account: string | null;
  /** Null for an alias. */
  readonly id: string | null;
  /** How a request to KMS in a region is addressed. */
  nameIn(region: string): string;
}

/** Where the key is, and how it is called there. */
interface Location {
  readonly origin: string;
  readonly region: string;
  readonly keyId: string;
}

type Action = 'Encrypt' | 'Decrypt';

/** The `Encrypt` and `Decrypt` calls of AWS KMS, signed with Signature Version 4. */
class AwsKms implements KeyWrapping {
  readonly kind = 'aws-kms';
  readonly #key: KmsKey;
  readonly #locations: readonly Location[];
  readonly #credentials: AwsCredentialChain;
  readonly #calls: ServiceCalls;
  readonly #surroundings: SealSurroundings;

  constructor(key: KmsKey, isFips: boolean, replica: string | null, surroundings: SealSurroundings) {
    const regions = replica === null ? [key.region] : [key.region, replica];
    const own = originOf(surroundings, 'AWS_ENDPOINT_URL_KMS');
    this.#key = key;
    this.#locations = regions.map((region) => ({
      // An endpoint of one's own is that of the region that the reference names.
      origin:
        region === key.region && own !== null
          ? own
          : `https://kms${isFips ? '-fips' : ''}.${region}.${suffixOf(region)}`,
      region,
      keyId: key.nameIn(region),
    }));
    const sts = originOf(surroundings, 'AWS_ENDPOINT_URL_STS');
    this.#credentials = new AwsCredentialChain(
      surroundings,
      sts ?? `https://sts${isFips ? '-fips' : ''}.${key.region}.${suffixOf(key.region)}`,
    );
    this.#calls = new ServiceCalls('AWS KMS', surroundings);
    this.#surroundings = surroundings;
  }

  async wrap(key: Buffer, context: SealContext): Promise<Buffer> {
    const members = await this.#call('Encrypt', { Plaintext: key.toString('base64') }, context);
    return this.#calls.base64(members, 'CiphertextBlob');
  }

  async unwrap(wrapped: Buffer, context: SealContext): Promise<Buffer> {
    try {
      return await this.#decrypt(wrapped, context);
    } catch (error) {
      const isDenied = error instanceof SealError && error.problem === 'denied';
      // KMS says so of a ciphertext of a key that it does not find, too.
      throw isDenied && (await this.#works(context)) ? otherKey() : error;
    }
  }

  async #decrypt(wrapped: Buffer, context: SealContext): Promise<Buffer> {
    const members = await this.#call('Decrypt', { CiphertextBlob: wrapped.toString('base64') }, context);
    return this.#calls.base64(members, 'Plaintext');
  }

  /** Whether the key may be used, so that only what was given can be at fault. */
  async #works(context: SealContext): Promise<boolean> {
    const probe = randomBytes(32);
    try {
      return (await this.#decrypt(await this.wrap(probe, context), context)).equals(probe);
    } catch (error) {
      if (error instanceof SealError) return false;
      throw error;
    }
  }

  async close(): Promise<void> {}

  async #call(action: Action, members: object, { installation, purpose }: SealContext) {
    const sent = { ...members, EncryptionContext: { coffer_installation: installation, coffer_purpose: purpose } };
    let last: unknown;
    for (const location of this.#locations) {
      try {
        const answer = await this.#calls.retried(() =>
          this.#withFreshCredentials(action, { ...sent, KeyId: location.keyId }, location),
        );
        this.#checkKey(this.#calls.text(answer, 'KeyId'));
        return answer;
      } catch (error) {
        if (!(error instanceof SealError) || !error.isPassing) throw error;
        last = error;
      }
    }
    throw last;
  }

  /** Once more if the credentials are refused, because they may have been replaced before their end. */
  async #withFreshCredentials(action: Action, members: object, location: Location) {
    try {
      return await this.#send(action, members, location);
    } catch (error) {
      if (!(error instanceof SealError) || error.problem !== 'denied') throw error;
      this.#credentials.evict();
      return this.#send(action, members, location);
    }
  }

  async #send(action: Action, members: object, { origin, region }: Location): Promise<Record<string, unknown>> {
    const url = `${origin}/`;
    const body = JSON.stringify(members);
    const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `TrentService.${action}` };
    const place = { region, service: 'kms', now: this.#surroundings.clock.now() };
    const signed = signedHeaders({ method: 'POST', url, headers, body }, await this.#credentials.current(), place);
    const answer = await this.#calls.send({ url, method: 'POST', headers: signed, body });
    if (answer.status === 200) return this.#calls.json(answer);
    throw this.#errorOf(answer.status, answer.body);
  }

  #errorOf(status: number, body: Buffer): SealError {
    const type = status >= 500 && body.length === 0 ? '' : typeOf(body);
    if (type === 'InvalidCiphertextException') return notSealedHere();
    const known = ERRORS.get(type);
    return known === undefined ? this.#calls.refusal(status) : new SealError(known[0], known[1]);
  }

  /** KMS says which key it used. An alias may name any key of its account. */
  #checkKey(arn: string): void {
    const [, account, id] = ENCRYPTED_KEY.exec(arn) ?? [];
    const { account: expected, id: expectedId } = this.#key;
    if (id === undefined || (expected !== null && account !== expected) || (expectedId !== null && id !== expectedId))
      throw new SealError(
        'wrong',
        'AWS KMS used another key than the reference names. Check that AWS_ENDPOINT_URL_KMS and the network lead to KMS itself.',
      );
  }
}

const OTHER_KEY =
  'Another key in AWS KMS sealed this. Name that key; an alias may have been moved to another key, and must be moved back.';
const CREDENTIALS_REFUSED =
  'AWS refused the credentials of this service. Check that they have not ended, that the clock of this machine is right, and that the role or access key exists.';
const NOT_AUTHORIZED =
  'AWS KMS does not let this role or access key use the key. Allow it kms:Encrypt and kms:Decrypt in the policy of the key.';
const DELETED =
  'The key in AWS KMS is about to be deleted, or is not usable yet. Cancel its deletion before its waiting period ends, or finish its import, then enable it.';
const FAULT = 'AWS KMS is overloaded or has a fault. The next attempt may succeed.';
const STORE =
  'The key store behind AWS KMS does not respond. Check that your CloudHSM cluster or external key store is connected.';
const UNUSABLE =
  'The key in AWS KMS cannot be used for this. Name a symmetric key for encryption and decryption (SYMMETRIC_DEFAULT).';

/** The documented errors of both calls, and those of every signed call. */
const ERRORS: ReadonlyMap<string, readonly [SealProblem, string]> = new Map<string, readonly [SealProblem, string]>([
  ['IncorrectKeyException', ['wrong', OTHER_KEY]],
  ['DisabledException', ['disabled', 'The key in AWS KMS is disabled. Enable it.']],
  ['KMSInvalidStateException', ['deleted', DELETED]],
  [
    'NotFoundException',
    [
      'deleted',
      'AWS KMS has no such key in this region and account: it was deleted, or the reference names it wrongly. Open with another seal, and replace this one.',
    ],
  ],
  ['InvalidArnException', ['misconfigured', UNUSABLE]],
  ['InvalidKeyUsageException', ['misconfigured', UNUSABLE]],
  ['UnsupportedOperationException', ['misconfigured', UNUSABLE]],
  ['ValidationException', ['misconfigured', UNUSABLE]],
  ['InvalidGrantTokenException', ['denied', NOT_AUTHORIZED]],
  ['AccessDeniedException', ['denied', NOT_AUTHORIZED]],
  ['AccessDenied', ['denied', NOT_AUTHORIZED]],
  ['NotAuthorized', ['denied', NOT_AUTHORIZED]],
  ['OptInRequired', ['denied', NOT_AUTHORIZED]],
  ...[
    'ExpiredTokenException',
    'IncompleteSignature',
    'IncompleteSignatureException',
    'InvalidClientTokenId',
    'InvalidSignatureException',
    'MissingAuthenticationToken',
    'MissingAuthenticationTokenException',
    'RequestExpired',
    'SignatureDoesNotMatch',
    'UnrecognizedClientException',
  ].map((type): [string, readonly [SealProblem, string]] => [type, ['denied', CREDENTIALS_REFUSED]]),
  ...[
    'DependencyTimeoutException',
    'InternalFailure',
    'KMSInternalException',
    'LimitExceededException',
    'RequestLimitExceeded',
    'ServiceUnavailable',
    'ServiceUnavailableException',
    'Throttling',
    'ThrottlingException',
    'ThrottledException',
  ].map((type): [string, readonly [SealProblem, string]] => [type, ['unreachable', FAULT]]),
  ['KeyUnavailableException', ['unreachable', STORE]],
]);

function otherKey(): SealError {
  return new SealError('wrong', OTHER_KEY);
}

/** `__type` is `NotFoundException` or `com.amazonaws.kms#NotFoundException`. */
function typeOf(body: Buffer): string {
  try {
    const members = JSON.parse(body.toString('utf8')) as { __type?: unknown } | null;
    const type = members?.__type;
    return typeof type === 'string' ? (type.split('#').at(-1) ?? '') : '';
  } catch {
    return '';
  }
}

function suffixOf(region: string): string {
  if (region.startsWith('cn-')) return 'amazonaws.com.cn';
  return region.startsWith('eusc-') ? 'amazonaws.eu' : 'amazonaws.com';
}

function originOf(surroundings: SealSurroundings, name: string): string | null {
  const text = variable(surroundings, name);
  if (text === null) return null;
  const url = parseOutgoingUrl(text);
  if (url === null || url.origin !== text) throw misconfigured(`${name} has the form https://host, without a path.`);
  return text;
}

/** Opens `aws-kms:arn:aws:kms:<region>:<account>:key/<id>` or `aws-kms://<region>/<id>`, each also with an alias. */
export function openAwsKms(reference: SealReference, surroundings: SealSurroundings): EnvelopeProvider {
  const options = optionsOf(reference, AWS_KMS_OPTIONS);
  const key = keyIn(reference.name);
  const replica = options.get('replica') ?? null;
  if (replica !== null && !key.id?.startsWith('mrk-'))
    throw misconfigured('The option replica of aws-kms needs a multi-Region key, whose id begins with mrk-.');
  if (replica === key.region)
    throw misconfigured('The option replica of aws-kms names another region than that of the key.');
  return new EnvelopeProvider(reference.text, new AwsKms(key, options.has('fips'), replica, surroundings));
}

function keyIn(name: string): KmsKey {
  const [, partition, arnRegion, account, arnId, arnAlias] = ARN.exec(name) ?? [];
  const [, uriRegion, uriId, uriAlias] = URI.exec(name) ?? [];
  const [region, id, alias] = [arnRegion ?? uriRegion ?? '', arnId ?? uriId ?? null, arnAlias ?? uriAlias];
  if (!REGION.test(region))
    throw misconfigured(
      'A reference of aws-kms is aws-kms:arn:aws:kms:<region>:<account>:key/<id>, or aws-kms://<region>/<id>; in place of the id it may have alias/<name>, without key/ before it.',
    );
  const local = id ?? String(alias);
  const resource = id === null ? local : `key/${id}`;
  const nameIn = (where: string) =>
    account === undefined ? local : `arn:${partition}:kms:${where}:${account}:${resource}`;
  return { region, account: account ?? null, id, nameIn };
}
