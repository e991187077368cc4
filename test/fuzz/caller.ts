import type { Shown } from '../support/machines.ts';
import { bearer, type Credential } from './credentials.ts';
import type { Operation } from './document.ts';
import type { Side } from './marks.ts';
import type { Sighting } from './pool.ts';
import type { Sent } from './request.ts';

/** A caller, and what would be a breach if they got it. */
export interface Caller {
  name: string;
  side: Side;
  /** How likely they are to be chosen, beside the others. */
  weight: number;
  /** What their credential is, by its name in the document; none: it is good for nothing. */
  kinds: readonly string[];
  credential: Credential;
  /** The certificate they show, on the listener that takes one; null: they ask on the main one. */
  certificate(): Shown | null;
  /** Whether what they send is good for one request alone. */
  isOnce: boolean;
  /** Whether an answer of success to this would be one that nobody should get. */
  isBreach(operation: Operation): boolean;
  /** May see names, ids and values of their own tenant only as far as they sent them. */
  seesNames: boolean;
  seesValues: boolean;
  /** What they know of, if that is not what their tenant knows of. */
  home: Sighting | null;
  /** Begins anew after what ended the credential; null: it does not end. */
  renew: (() => Promise<void>) | null;
}

export type Rule = (operation: Operation) => boolean;

export const anyOf =
  (...rules: Rule[]): Rule =>
  (operation) =>
    rules.some((rule) => rule(operation));

export const needsOther =
  (kinds: readonly string[]): Rule =>
  (operation) =>
    !operation.isPublic && !operation.credentials.some((kind) => kinds.includes(kind));

export const locked: Rule = (operation) => !operation.isPublic;

/** Somebody whose credential is of this kind, with every right there is unless told. */
export function known(name: string, kind: string, credential: Credential, rules: Partial<Caller> = {}): Caller {
  return {
    name,
    side: 'ours',
    weight: 2,
    kinds: [kind],
    credential,
    certificate: () => null,
    isOnce: false,
    isBreach: needsOther([kind]),
    seesNames: true,
    seesValues: true,
    home: null,
    renew: null,
    ...rules,
  };
}

export function withToken(name: string, token: string, rules: Partial<Caller> = {}): Caller {
  return known(name, 'pat', () => bearer(token), rules);
}

const NOBODY = { kinds: [], isBreach: locked, isOnce: false, seesNames: false, seesValues: false, renew: null };

/** Somebody to whom nothing opens but what is open to all. */
export function stranger(name: string, credential: Credential, rules: Partial<Caller> = {}): Caller {
  return known(name, '', credential, { weight: 1, ...NOBODY, ...rules });
}

/** Somebody who has every byte of what another sent, and sends it once more. */
export function overhearing(caller: Caller): Caller {
  return { ...caller, ...NOBODY, name: `somebody who overheard ${caller.name}` };
}

/** As it goes out, with what says who sends it. */
export async function asSentBy(caller: Caller, sent: Sent): Promise<Sent> {
  return { ...sent, headers: [...(await caller.credential(sent)), ...sent.headers] };
}
