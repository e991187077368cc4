import { type DpopKey, type ProofClaims, proofBy } from '../support/machines.ts';
import type { Service } from '../support/service.ts';
import type { Sent } from './request.ts';

export type Header = [string, string];

/** What goes along with a request to identify the caller: made from it as it is sent, since a proof fits one request alone. */
export type Credential = (sent: Sent) => Header[] | Promise<Header[]>;

export function bearer(token: string): Header[] {
  return [['authorization', `Bearer ${token}`]];
}

/** Who makes proofs, and for which listener. */
export interface Prover {
  service: Service;
  key: DpopKey;
  origin: string;
}

/** A DPoP proof of this very request, but for what `claims` say otherwise. */
export async function proofOf(
  { service, key, origin }: Prover,
  { method, path }: Pick<Sent, 'method' | 'path'>,
  claims: Partial<ProofClaims> = {},
): Promise<Header> {
  const [target = ''] = path.split('?', 1);
  return ['dpop', await proofBy(key, { htm: method, htu: `${origin}${target}`, at: service.clock.now(), ...claims })];
}

/** A token that is bound to a key, with a proof by it. */
export async function boundTo(
  prover: Prover,
  token: string,
  sent: Sent,
  claims: Partial<ProofClaims> = {},
): Promise<Header[]> {
  return [['authorization', `DPoP ${token}`], await proofOf(prover, sent, { token, ...claims })];
}

const OLD_MS = 400_000;

/** Proofs that fit almost, one after the other: of another method, of another path, of another token, of some time ago. */
export function misfits(service: Service): (sent: Sent) => Partial<ProofClaims> {
  const kinds: ((sent: Sent) => Partial<ProofClaims>)[] = [
    ({ method }) => ({ htm: method === 'POST' ? 'PUT' : 'POST' }),
    () => ({ htu: `${service.url}/somewhere/else` }),
    () => ({ token: service.adminToken }),
    () => ({ at: service.clock.now() - OLD_MS }),
  ];
  let made = 0;
  return (sent) => kinds[made++ % kinds.length]?.(sent) ?? {};
}

/** The same, with one letter of its signature changed. */
export function altered(token: string): string {
  const at = token.length - 20;
  return `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
}
