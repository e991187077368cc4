import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import type { StandInAnswer, StandInRequest } from './stand-in.ts';

export const KMS_KEY = '1234abcd-12ab-34cd-56ef-1234567890ab';
export const KMS_ARN = `arn:aws:kms:eu-central-1:111122223333:key/${KMS_KEY}`;
export const ACCESS_KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret-of-the-access-key' };

export interface TemporaryKey {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** AWS KMS with one key: it checks signatures by the SDK's own signer, and binds the encryption context. */
export class KmsStandIn {
  readonly #key = randomBytes(32);
  readonly accounts: TemporaryKey[] = [ACCESS_KEY];
  /** In a response, in place of the key's own. */
  usedKey = KMS_ARN;
  /** Other names under which the key is called. */
  readonly names = new Set([KMS_ARN]);

  answer = async (request: StandInRequest): Promise<StandInAnswer> => {
    const [, region = ''] = /^kms(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com$/.exec(request.url.host) ?? [];
    if (!(await this.#isSigned(request, region))) return refusal('InvalidSignatureException');
    const { KeyId, Plaintext, CiphertextBlob, EncryptionContext } = JSON.parse(request.body);
    if (!this.names.has(KeyId)) return refusal('NotFoundException');
    const used = { KeyId: this.usedKey.replace('eu-central-1', region), EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' };
    const context = Buffer.from(JSON.stringify(EncryptionContext));
    if (request.headers['x-amz-target'] === 'TrentService.Encrypt') {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(context);
      const parts = [iv, cipher.update(Plaintext, 'base64'), cipher.final(), cipher.getAuthTag()];
      return { body: { ...used, CiphertextBlob: Buffer.concat(parts).toString('base64') } };
    }
    const blob = Buffer.from(CiphertextBlob, 'base64');
    if (blob.length < 28) return refusal('com.amazonaws.kms#InvalidCiphertextException');
    const decipher = createDecipheriv('aes-256-gcm', this.#key, blob.subarray(0, 12)).setAAD(context);
    decipher.setAuthTag(blob.subarray(-16));
    try {
      const plaintext = Buffer.concat([decipher.update(blob.subarray(12, -16)), decipher.final()]);
      return { body: { ...used, Plaintext: plaintext.toString('base64') } };
    } catch {
      return refusal('InvalidCiphertextException');
    }
  };

  async #isSigned({ url, headers, body }: StandInRequest, region: string): Promise<boolean> {
    const authorization = String(headers['authorization']);
    const account = this.accounts.find(
      ({ accessKeyId, sessionToken }) =>
        authorization.includes(`Credential=${accessKeyId}/`) && headers['x-amz-security-token'] === sessionToken,
    );
    if (account === undefined) return false;
    const names = (/SignedHeaders=([^,]+)/.exec(authorization)?.[1] ?? '').split(';');
    const { protocol } = new URL('https://any');
    const signed = Object.fromEntries(
      names
        .filter((name) => !['x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256'].includes(name))
        .map((name) => [name, name === 'host' ? url.host : String(headers[name])]),
    );
    const signer = new SignatureV4({ service: 'kms', region, credentials: account, sha256: Sha256 });
    const date = String(headers['x-amz-date']).replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z');
    const request = { method: 'POST', protocol, hostname: url.hostname, path: '/', query: {}, headers: signed, body };
    const { headers: theirs } = await signer.sign(request, { signingDate: new Date(date) });
    return theirs['authorization'] === authorization;
  }
}

export function refusal(type: string, status = 400): StandInAnswer {
  return { status, body: { __type: type, message: 'a text with secret-of-the-access-key in it' } };
}
