import type { TSchema } from 'typebox';
import { type CofferError, ERROR_CODES, type ErrorCode } from '../base/errors.ts';

/** How a family of endpoints that follows a standard of its own writes its responses. Endpoints without one use JSON and the errors of this API. */
export interface WireFormat {
  /** Its name in the OpenAPI document. */
  readonly name: string;
  /** Every path under it has this format, also one that does not exist. */
  readonly under: string;
  /** The content type of responses. Request bodies may have it too, besides `application/json`. */
  readonly mediaType: string;
  /** Errors whose status differs from the usual one. */
  readonly statuses: Readonly<Partial<Record<ErrorCode, number>>>;
  readonly errorSchema: TSchema;
  errorBody(error: CofferError, status: number): object;
}

export function statusIn(format: WireFormat | undefined, code: ErrorCode): number {
  return format?.statuses[code] ?? ERROR_CODES[code][0];
}

/** A client that accepts plain JSON only gets the same body under that name. */
export function contentTypeIn({ mediaType }: WireFormat, accept: string | undefined): string {
  const isPlain = accept?.includes('application/json') === true && !accept.includes(mediaType);
  return isPlain ? 'application/json' : mediaType;
}

/** The format of a path, which may belong to no endpoint. */
export function formatAt(formats: readonly WireFormat[], url: string): WireFormat | undefined {
  const path = url.startsWith('/v1/') ? url.slice('/v1'.length) : url;
  return formats.find(({ under }) => path === under || path.startsWith(`${under}/`));
}
