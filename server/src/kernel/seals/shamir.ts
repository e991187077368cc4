import { randomBytes } from 'node:crypto';

/**
 * Shamir's scheme over GF(2^8) with the polynomial 0x11b: each byte of the secret is the value at 0 of a random polynomial of degree k − 1, and a
 * share has the values at its own index. Fewer than k shares say nothing about the secret.
 */
export const PARTS_MAX = 255;

/** Multiplies without a table or a branch on the factors, so that neither the cache nor the time says what they are. */
function times(a: number, b: number): number {
  let product = 0;
  let factor = a;
  for (let bit = 0; bit < 8; bit++) {
    product ^= factor & -((b >> bit) & 1);
    factor = (factor << 1) ^ (0x11b & -((factor >> 7) & 1));
  }
  return product & 0xff;
}

/** a^254, which is 1 / a for any a but 0. */
function inverse(a: number): number {
  let power = a;
  let result = 1;
  for (let bit = 1; bit < 8; bit++) {
    power = times(power, power);
    result = times(result, power);
  }
  return result;
}

/** The y values of shares 1 to `parts`, any `needed` of which give the secret. */
export function split(secret: Uint8Array, { needed, parts }: { needed: number; parts: number }): Buffer[] {
  if (!Number.isInteger(needed) || !Number.isInteger(parts) || needed < 2 || parts < needed || parts > PARTS_MAX)
    throw new RangeError(`a secret is split into 2 to ${PARTS_MAX} shares, of which at least 2 are needed`);
  const shares = Array.from({ length: parts }, () => Buffer.alloc(secret.length));
  const coefficients = randomBytes(secret.length * (needed - 1));
  for (const [at, constant] of secret.entries()) {
    for (const [i, share] of shares.entries()) {
      let y = 0;
      for (let n = needed - 2; n >= 0; n--) y = times(y, i + 1) ^ (coefficients[at * (needed - 1) + n] as number);
      share[at] = times(y, i + 1) ^ constant;
    }
  }
  coefficients.fill(0);
  return shares;
}

/** The secret of exactly as many shares as are needed, each with another index. From other shares it makes noise, so the result must be checked. */
export function join(shares: readonly { index: number; y: Uint8Array }[]): Buffer {
  const secret = Buffer.alloc(shares[0]?.y.length ?? 0);
  for (const { index, y } of shares) {
    // The value at 0 of the Lagrange polynomial of this share.
    let weight = 1;
    for (const other of shares)
      if (other.index !== index) weight = times(weight, times(other.index, inverse(other.index ^ index)));
    for (const [at, byte] of y.entries()) secret[at] = (secret[at] as number) ^ times(byte, weight);
  }
  return secret;
}
