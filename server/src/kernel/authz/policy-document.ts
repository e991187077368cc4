import Type, { type Static } from 'typebox';
import { named } from '../wire/named-schemas.ts';
import { Condition } from './condition.ts';
import {
  MAX_ACTION_CHARS,
  MAX_POLICY_STATEMENTS,
  MAX_RESOURCE_PATTERN_CHARS,
  MAX_SID_CHARS,
  MAX_STATEMENT_ACTIONS,
  MAX_STATEMENT_RESOURCES,
} from './limits.ts';

export const POLICY_VERSION = '2026-01-01';

export const PolicyEffect = named('PolicyEffect', 'A deny wins over every allow.', Type.Enum(['allow', 'deny']));

export const PolicyStatement = named(
  'PolicyStatement',
  'Allows or denies actions on resources. A deny wins over every allow; anything that no statement allows is denied.',
  Type.Object(
    {
      sid: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: MAX_SID_CHARS,
          pattern: '^[A-Za-z0-9][A-Za-z0-9 ._:-]*$',
          description: 'A name for the statement, shown by `simulate`.',
        }),
      ),
      effect: PolicyEffect,
      action: Type.Array(Type.String({ minLength: 1, maxLength: MAX_ACTION_CHARS }), {
        minItems: 1,
        maxItems: MAX_STATEMENT_ACTIONS,
        description: '`<resource>:<verb>` such as secrets:read; `*` may replace either half.',
      }),
      resource: Type.Array(Type.String({ minLength: 1, maxLength: MAX_RESOURCE_PATTERN_CHARS }), {
        minItems: 1,
        maxItems: MAX_STATEMENT_RESOURCES,
        description:
          'Such as vault/<name>/<path>. `*` matches within one segment; a final `/*` or `**` matches several.',
      }),
      condition: Type.Optional(Condition),
    },
    { additionalProperties: false },
  ),
);
export type PolicyStatement = Static<typeof PolicyStatement>;

export const PolicyDocument = named(
  'PolicyDocument',
  'The document of a policy.',
  Type.Object(
    {
      version: Type.String({
        format: 'date',
        maxLength: 10,
        description: 'A date of your choice, such as 2026-01-01. It does not change how the document is evaluated.',
      }),
      statement: Type.Array(PolicyStatement, {
        maxItems: MAX_POLICY_STATEMENTS,
        description: 'All statements apply; their order does not matter.',
      }),
    },
    {
      additionalProperties: false,
      examples: [
        {
          version: '2026-01-01',
          statement: [
            { effect: 'allow', action: ['secrets:list', 'secrets:read'], resource: ['vault/payments/database/**'] },
          ],
        },
      ],
    },
  ),
);
export type PolicyDocument = Static<typeof PolicyDocument>;
