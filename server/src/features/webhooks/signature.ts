import { createHmac, randomBytes } from 'node:crypto';

/** Signatures of the Standard Webhooks specification. */

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export function newSigningSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

export interface Signed {
  /** The same over all attempts, so that the receiver can tell repeats. It contains no dot, which separates the signed parts. */
  id: string;
  /** Of this attempt, in seconds: receivers refuse old ones. */
  timestamp: number;
  body: string;
}

/** One signature for each secret: while a secret is being replaced, receivers may know the old or the new one. */
export function signatureHeaders(signed: Signed, secrets: readonly string[]): Record<string, string> {
  const content = `${signed.id}.${signed.timestamp}.${signed.body}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(content, 'utf8').digest('base64')}`;
  });
  return {
    'webhook-id': signed.id,
    'webhook-timestamp': String(signed.timestamp),
    'webhook-signature': signatures.join(' '),
  };
}
