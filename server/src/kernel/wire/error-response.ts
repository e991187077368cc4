import Type from 'typebox';
import { ERROR_CODES, type ErrorCode } from '../base/errors.ts';
import { named } from './named-schemas.ts';
import { oneOf } from './wire.ts';

/** The schema of every error response. Unlike other responses it allows additional properties, so that a later version can add some. */

const FieldProblem = named(
  'FieldProblem',
  'A problem with one field of a request.',
  Type.Object({
    pointer: Type.String({
      description: 'The location: `/path`, `/query` or `/body`, followed by the names that lead to the field.',
    }),
    reason: Type.String({ description: 'What is wrong, or what the field must be.' }),
  }),
);

const ErrorDetails = named(
  'ErrorDetails',
  'Machine-readable details; the members depend on the code.',
  Type.Object(
    {
      fields: Type.Optional(Type.Array(FieldProblem, { description: 'With VALIDATION_FAILED: every problem found.' })),
    },
    { additionalProperties: true },
  ),
);

const ErrorBody = named(
  'ErrorBody',
  'Why a request was refused.',
  Type.Object({
    code: named(
      'ErrorCode',
      'Stable: base decisions on this. The responses of each endpoint list its codes.',
      oneOf(Object.keys(ERROR_CODES) as ErrorCode[]),
    ),
    message: Type.String({ description: 'For people; the wording may change.' }),
    request_id: Type.String({ pattern: '^req_', description: 'The id of the request, also found in the audit log.' }),
    details: Type.Optional(ErrorDetails),
  }),
);

export const ErrorResponse = named('Error', 'The body of every error response.', Type.Object({ error: ErrorBody }));
