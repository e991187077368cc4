import { pathOf } from './data-set.ts';
import type { Installation } from './installation.ts';

/** A server that gets the same request again and again shows its caches. So requests go to this many secrets in turn. */
export const SPREAD = 1000;
/** A prime has no factor in common with the number of secrets, so it visits all of them, in an order that no cache can guess. */
const STRIDE = 611_953;

/** A secret, and somebody who may read and write it. */
export interface Target {
  token: string;
  /** Paths in the API. */
  vault: string;
  secret: string;
}

/** The vaults that requests go to: those of an installation, or some of them. */
export type Seeded = Pick<Installation, 'vaults' | 'perVault'>;

export function secretsIn({ vaults, perVault }: Seeded): number {
  return vaults.length * perVault;
}

/** Requests to `count` secrets in turn, spread evenly over the vaults, their tenants and the callers of these. */
export function spread(seeded: Seeded, request: (target: Target) => Buffer, count = SPREAD): () => Buffer {
  const next = targets(seeded, count);
  if (count > SPREAD) return () => request(next());
  // Serialized beforehand: a client that costs as much as the server would measure itself.
  const requests = Array.from({ length: count }, () => request(next()));
  let sent = 0;
  return () => requests[sent++ % count] as Buffer;
}

export function targets(seeded: Seeded, count = SPREAD): () => Target {
  if (count > secretsIn(seeded)) throw new Error(`there are fewer than ${count} secrets`);
  let n = 0;
  return () => {
    n = (n + STRIDE) % count;
    return targetAt(seeded, n, count);
  };
}

function targetAt(seeded: Seeded, n: number, count: number): Target {
  const { vaults } = seeded;
  const found = vaults[n % vaults.length];
  if (found === undefined) throw new Error('there are no vaults');
  const turn = Math.floor(n / vaults.length);
  const token = String(found.tokens[turn % found.tokens.length]);
  const vault = `/v1/vaults/${found.name}`;
  const gap = Math.floor(secretsIn(seeded) / count);
  return { token, vault, secret: `${vault}/secrets/${pathOf(turn * gap)}` };
}
