import Type from 'typebox';
import { named } from '../wire/named-schemas.ts';
import { explainedPattern } from '../wire/pattern-reasons.ts';
import { oneOf } from '../wire/wire.ts';

/** The environments that a vault or secret can belong to, as stored and compared. */
export const ENVIRONMENTS = ['development', 'homologation', 'staging', 'production'] as const;
export type EnvironmentName = (typeof ENVIRONMENTS)[number];

const ALIASES: Readonly<Record<string, EnvironmentName>> = {
  dev: 'development',
  hml: 'homologation',
  stg: 'staging',
  prd: 'production',
  prod: 'production',
};

const BY_TEXT: ReadonlyMap<string, EnvironmentName> = new Map([
  ...ENVIRONMENTS.map((name) => [name, name] as const),
  ...Object.entries(ALIASES),
]);

export const EnvironmentNameSchema = named(
  'Stage',
  'The environment that a vault or a secret belongs to.',
  oneOf(ENVIRONMENTS),
);

/** User input: a full or short name, in any letter case. */
export const environmentText = Type.String({
  maxLength: 32,
  pattern: explainedPattern(
    `^(?:${[...ENVIRONMENTS, ...Object.keys(ALIASES)].map(inAnyCase).join('|')})$`,
    `must be one of ${ENVIRONMENTS.join(', ')}, or ${Object.keys(ALIASES).join(', ')}`,
  ),
  description:
    'The environment: development (dev), homologation (hml), staging (stg) or production (prd, prod); stored as the full name.',
});

export function canonicalEnvironment(text: string): EnvironmentName {
  const name = BY_TEXT.get(text) ?? BY_TEXT.get(text.toLowerCase());
  if (name === undefined) throw new Error('not an environment: the schema should have refused it');
  return name;
}

function inAnyCase(word: string): string {
  return word.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}
