import { SealError } from './provider.ts';

const REFERENCE_LENGTH_MAX = 1024;
const REFERENCE = /^([a-z0-9][a-z0-9-]*):([\x21-\x7e]+)$/;

/** `kind:name?option=value&option=value` */
export interface SealReference {
  readonly text: string;
  readonly kind: string;
  /** Between the kind and the options. */
  readonly name: string;
  readonly options: readonly (readonly [name: string, value: string])[];
}

/** An option of a reference: what its value may be, and what it does. */
export interface SealOption {
  readonly name: string;
  readonly value: RegExp;
  readonly doc: string;
}

export function misconfigured(message: string): SealError {
  return new SealError('misconfigured', message);
}

/** Nothing is repaired: a reference has one spelling, so that one seal does not count as two. */
export function splitReference(text: string): SealReference {
  const [, kind, rest] = (text.length <= REFERENCE_LENGTH_MAX && REFERENCE.exec(text)) || [];
  if (kind === undefined || rest === undefined)
    throw misconfigured(
      `The reference of a seal has the form kind:name, at most ${REFERENCE_LENGTH_MAX} visible ASCII characters.`,
    );
  const at = rest.indexOf('?');
  const name = at === -1 ? rest : rest.slice(0, at);
  const options =
    at === -1
      ? []
      : rest
          .slice(at + 1)
          .split('&')
          .map(optionIn);
  return { text, kind, name, options };
}

function optionIn(text: string): [string, string] {
  const at = text.indexOf('=');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** The values of the options, which stand in alphabetical order. */
export function optionsOf(
  { kind, options }: SealReference,
  choices: readonly SealOption[],
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let last = '';
  for (const [name, value] of options) {
    const choice = choices.find((one) => one.name === name);
    if (choice === undefined) {
      const names = choices.map((one) => one.name).join(', ');
      throw misconfigured(
        `A reference of ${kind} has an unknown option. ${names === '' ? 'It has none.' : `Choose of: ${names}.`}`,
      );
    }
    if (name <= last) throw misconfigured(`The options of ${kind} stand in alphabetical order, each of them once.`);
    if (!choice.value.test(value)) throw misconfigured(`The option ${name} of ${kind} is wrong. ${choice.doc}`);
    found.set(name, value);
    last = name;
  }
  return found;
}
