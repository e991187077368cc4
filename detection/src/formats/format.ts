import { entropyOf } from '../entropy.ts';
import { isMixed } from '../judgement.ts';
import type { Confidence, SecretKind } from '../match.ts';

/**
 * A credential whose issuer documents its form. It begins with something that is rare elsewhere, so that other text costs one comparison. Every
 * quantifier is bounded, and no two neighbours can match the same text.
 */
export interface Format {
  readonly rule: string;
  readonly kind: SecretKind;
  /** What it begins with, as a pattern. */
  readonly begins: string;
  /** The whole of it, at one position. */
  readonly form: RegExp;
  /** How many characters stand before `begins`. */
  readonly before: number;
  /** Rejects text that has the form by chance. */
  readonly check: ((text: string) => boolean) | null;
  readonly confidence: Confidence;
}

interface Options {
  before?: number;
  check?: (text: string) => boolean;
  kind?: SecretKind;
  confidence?: Confidence;
  /** Letters of any case. */
  isCaseless?: boolean;
}

/** The form of one issuer: its rule, how it begins, and what follows. */
export function format(rule: string, begins: string, rest: string, options: Options = {}): Format {
  const { before = 0, check = null, confidence = 'high', isCaseless = false } = options;
  const kind = options.kind ?? (rule.endsWith('token') ? 'token' : 'secret');
  const whole = before === 0 ? `(?:${begins})(?:${rest})` : rest;
  const form = new RegExp(`(?:${whole})(?![A-Za-z0-9_])`, isCaseless ? 'iy' : 'y');
  return { rule, kind, begins, form, before, check, confidence };
}

/** Text with at least so much entropy for each character. */
export const random = (least: number) => (text: string) => entropyOf(text) >= least;
export const mixed = isMixed;
/** Digits are in every random text of some length, and in few names. */
export const withDigits = (text: string) => /\d/.test(text) && entropyOf(text) >= 3;
