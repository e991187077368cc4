import type { BearerToken } from './bearer-token.ts';
import { crc32c } from './crc32c.ts';
import { EnvelopeProvider, type KeyWrapping, notSealedHere } from './envelope.ts';
import { googleToken } from './google-credentials.ts';
import { type SealContext, SealError } from './provider.ts';
import { misconfigured, optionsOf, type SealReference } from './reference.ts';
import { memberOf, ServiceCalls } from './service-calls.ts';
import type { SealSurroundings } from './surroundings.ts';

const ORIGIN = 'https://cloudkms.googleapis.com/v1/';
const PART = '[A-Za-z0-9_-]{1,63}';
const NAME = new RegExp(
  `^//(projects/(?:[a-z0-9.-]{1,63}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]/locations/[a-z0-9-]{1,63}/keyRings/${PART}/cryptoKeys/${PART})$`,
);

/** The `encrypt` and `decrypt` calls of Google Cloud KMS. */
class GcpKms implements KeyWrapping {
  readonly kind = 'gcp-kms';
  readonly #key: string;
  readonly #calls: ServiceCalls;
  readonly #token: BearerToken;

  constructor(key: string, surroundings: SealSurroundings) {
    this.#key = key;
    this.#calls = new ServiceCalls('Google Cloud KMS', surroundings);
    this.#token = googleToken(surroundings);
  }

  wrap(key: Buffer, context: SealContext): Promise<Buffer> {
    return this.#calls.retried(async () => {
      const answer = await this.#call('encrypt', { plaintext: key }, context);
      // The version that was used stands behind the name of the key.
      if (!this.#calls.text(answer, 'name').startsWith(`${this.#key}/cryptoKeyVersions/`)) throw anotherKey();
      if (answer['verifiedPlaintextCrc32c'] !== true || answer['verifiedAdditionalAuthenticatedDataCrc32c'] !== true)
        throw this.#damaged();
      return this.#checked(answer, 'ciphertext');
    });
  }

  unwrap(wrapped: Buffer, context: SealContext): Promise<Buffer> {
    return this.#calls.retried(async () =>
      this.#checked(await this.#call('decrypt', { ciphertext: wrapped }, context), 'plaintext'),
    );
  }

  async close(): Promise<void> {}

  /** Google leaves out fields that are empty, and writes 64-bit numbers as text. */
  #checked(answer: Record<string, unknown>, name: string): Buffer {
    const bytes = this.#calls.base64(answer, name);
    if (answer[`${name}Crc32c`] !== String(crc32c(bytes))) throw this.#damaged();
    return bytes;
  }

  #call(action: 'encrypt' | 'decrypt', input: Record<string, Buffer>, { installation, purpose }: SealContext) {
    const text = [installation, purpose].map((part) => `${Buffer.byteLength(part)}:${part}`).join('');
    const fields = Object.entries({ ...input, additionalAuthenticatedData: Buffer.from(text) });
    const body = Object.fromEntries(
      fields.flatMap(([name, bytes]) => [
        [name, bytes.toString('base64')],
        [`${name}Crc32c`, String(crc32c(bytes))],
      ]),
    );
    return this.#token.use(async (token) => {
      const answer = await this.#calls.send({
        url: `${ORIGIN}${this.#key}:${action}`,
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      });
      if (answer.status === 200) return this.#calls.json(answer);
      throw this.#errorOf(answer.status, answer.body, action);
    });
  }

  /** `google.rpc.Status`. Its message alone says in which state a version is. */
  #errorOf(status: number, body: Buffer, action: 'encrypt' | 'decrypt'): SealError {
    if (status >= 500 || status === 429) return this.#calls.refusal(status);
    const error = memberOf(this.#calls.json({ body }), 'error');
    const message = String(error['message']);
    if (error['status'] === 'INVALID_ARGUMENT' && action === 'decrypt') {
      return /checksum|crc32c/i.test(message) ? this.#damaged() : notSealedHere();
    }
    if (error['status'] === 'FAILED_PRECONDITION' && /DESTROY/.test(message))
      return new SealError(
        'deleted',
        'The version of the key in Google Cloud KMS is destroyed, or about to be. Restore it before its scheduled time is over, then enable it.',
      );
    if (error['status'] === 'FAILED_PRECONDITION')
      return new SealError(
        'disabled',
        'The version of the key in Google Cloud KMS is not enabled. Enable it, and give the key a primary version whose purpose is encryption.',
      );
    if (status === 404)
      return new SealError(
        'deleted',
        'Google Cloud KMS has no such key: the reference names it wrongly, or it is gone. Compare project, location, key ring and key; otherwise open with another seal.',
      );
    if (status === 403)
      return new SealError(
        'denied',
        'Google Cloud KMS does not let this service account use the key. Give it roles/cloudkms.cryptoKeyEncrypterDecrypter on the key, and enable the API of the project.',
      );
    return this.#calls.refusal(status);
  }

  #damaged(): SealError {
    return new SealError(
      'unreachable',
      'What was exchanged with Google Cloud KMS was damaged on its way, as a checksum shows. The next attempt may succeed.',
    );
  }
}

function anotherKey(): SealError {
  return new SealError(
    'wrong',
    'Google Cloud KMS used another key than the reference names. Check that the network leads to Google itself.',
  );
}

/** Opens `gcp-kms://projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>`. */
export function openGcpKms(reference: SealReference, surroundings: SealSurroundings): EnvelopeProvider {
  optionsOf(reference, []);
  const [, key] = NAME.exec(reference.name) ?? [];
  if (key === undefined)
    throw misconfigured(
      'A reference of gcp-kms is gcp-kms://projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>, without a version.',
    );
  return new EnvelopeProvider(reference.text, new GcpKms(key, surroundings));
}
