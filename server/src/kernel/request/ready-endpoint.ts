import type { ErrorCode } from '../base/errors.ts';
import { errorCodes } from '../endpoint/declaration.ts';
import type { BoundEndpoint } from './binding.ts';
import { type CursorPlace, placeOfCursor } from './list-cursor.ts';
import { type InputValidator, inputValidator } from './validation.ts';

/** An endpoint with everything that can be prepared before the first request. */
export interface ReadyEndpoint extends BoundEndpoint {
  validate: InputValidator;
  serialize(result: unknown): string;
  declaredErrors: ReadonlySet<ErrorCode>;
  cursorPlace: CursorPlace | null;
}

export function makeReady(bound: BoundEndpoint, serialize: (result: unknown) => string): ReadyEndpoint {
  const { declaration } = bound;
  return {
    ...bound,
    serialize,
    validate: inputValidator(declaration),
    declaredErrors: new Set(errorCodes(declaration)),
    cursorPlace: placeOfCursor(declaration),
  };
}
