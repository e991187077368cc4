import { createHmac, timingSafeEqual } from 'node:crypto';
import { SECOND_MS } from '../../kernel/base/clock.ts';
import { headerPart } from '../../kernel/base/headers.ts';

/** How far the time of a signature may be from ours, as Stripe recommends. */
export const TOLERANCE_MS = 300 * SECOND_MS;
const HEADER_LENGTH_MAX = 4096;
/** Stripe sends one signature for each secret that is valid, which is two while one is rotated. */
const SIGNATURES_MAX = 10;

/**
 * Whether one of the secrets made one of the `v1` signatures over the time and the bytes of the body
 * (https://docs.stripe.com/webhooks#verify-manually). Other schemes are ignored, as Stripe requires.
 */
export function isSignedBy(
  secrets: readonly string[],
  { header, body, now }: { header: string; body: Buffer; now: number },
): boolean {
  const parsed = parseHeader(header);
  if (parsed === null || Math.abs(now - parsed.time * SECOND_MS) > TOLERANCE_MS) return false;
  const expected = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${parsed.time}.`).update(body).digest(),
  );
  let isSigned = false;
  for (const signature of parsed.signatures) {
    for (const mac of expected) if (timingSafeEqual(mac, signature)) isSigned = true;
  }
  return isSigned;
}

function parseHeader(header: string): { time: number; signatures: Buffer[] } | null {
  if (header.length > HEADER_LENGTH_MAX) return null;
  const parts = header.split(',').map(headerPart);
  const times = parts.filter((part) => part.startsWith('t='));
  const [time = ''] = times;
  const signatures = parts.filter((part) => /^v1=[0-9a-f]{64}$/.test(part));
  if (times.length !== 1 || !/^t=[1-9]\d{0,11}$/.test(time) || signatures.length > SIGNATURES_MAX) return null;
  return { time: Number(time.slice(2)), signatures: signatures.map((part) => Buffer.from(part.slice(3), 'hex')) };
}
