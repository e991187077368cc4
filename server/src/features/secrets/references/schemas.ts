import Type, { type Static } from 'typebox';
import { named } from '../../../kernel/wire/named-schemas.ts';
import { id, object } from '../../../kernel/wire/wire.ts';

const TemplatePart = named(
  'TemplatePart',
  'A secret that the value of a template was resolved from.',
  object({
    vault: Type.String({ description: 'The name of its vault.' }),
    path: Type.String({ description: 'Its path in the vault.' }),
    id: id('sec'),
    version: Type.Integer({ description: 'The version whose value was used.' }),
  }),
);

const SecretName = named(
  'SecretName',
  'A secret by the names that requests use.',
  object({
    vault: Type.String({ description: 'The name of its vault.' }),
    path: Type.String({ description: 'Its path in the vault.' }),
  }),
);
export const secretNames = (description: string) => Type.Array(SecretName, { description });
export const referredBy = secretNames(
  'Templates that refer to this place, of which you may see the metadata; at most 100. They cannot be resolved while no secret is there.',
);
export interface Referred {
  referred_by: Static<typeof referredBy>;
}

/** Only of templates, so that nothing is added to the response for another secret. */
export const templateParts = Type.Optional(
  Type.Array(TemplatePart, {
    description: 'Only of a template that was resolved: the secrets whose values are in its value.',
  }),
);
export const resolve = Type.Optional(
  Type.Boolean({
    description: 'If false, templates are returned as they are written. Default: with the values that they refer to.',
  }),
);

/** Beside the version of a secret. */
export const partsVersion = Type.Optional(
  Type.String({
    description:
      'Only of a template of which you may read every part: changes whenever the version of a part does, or a part is moved or deleted.',
  }),
);
