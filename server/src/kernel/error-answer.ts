import Type from 'typebox';
import { ERROR_CODES, type ErrorCode } from './errors.ts';
import { named } from './named-schemas.ts';
import { oneOf } from './wire.ts';

/** The schema of every error response. Unlike other responses it allows additional properties, so that a later version can add some. */

const FieldProblem = named(
  'FieldProblem',
  'What is wrong with one field of a request.',
  Type.Object({
    pointer: Type.String({
      description: 'Where: `/path`, `/query` or `/body`, then the names on the way to the field.',
    }),
    reason: Type.String({ description: 'What is wrong with it, or what it must be.' }),
  }),
);

const ErrorDetails = named(
  'ErrorDetails',
  'What a machine may want to know beside the code; which members there are depends on it.',
  Type.Object(
    { fields: Type.Optional(Type.Array(FieldProblem, { description: 'Of VALIDATION_FAILED: every problem found.' })) },
    { additionalProperties: true },
  ),
);

const ErrorBody = named(
  'ErrorBody',
  'Why a request was refused.',
  Type.Object({
    code: named(
      'ErrorCode',
      'Stable; decide by this. Which of them an endpoint answers with stands at its responses.',
      oneOf(Object.keys(ERROR_CODES) as ErrorCode[]),
    ),
    message: Type.String({ description: 'For people; may change.' }),
    request_id: Type.String({ pattern: '^req_', description: 'The id of the request, also found in the audit log.' }),
    details: Type.Optional(ErrorDetails),
  }),
);

export const ErrorAnswer = named('Error', 'What every refusal answers with.', Type.Object({ error: ErrorBody }));
