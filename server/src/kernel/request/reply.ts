import { CofferError } from '../base/errors.ts';
import { contentTypeIn, statusIn, type WireFormat } from '../wire/wire-format.ts';
import { errorPage } from './error-page.ts';

export interface Reply {
  status: number;
  headers: Record<string, string>;
  /** Cookies beside one that the headers may set: a header of this name cannot be joined into one. */
  cookies?: readonly string[];
  body: string | Uint8Array | AsyncIterable<string> | null;
}

export function isStream(body: Reply['body']): body is AsyncIterable<string> {
  return body !== null && typeof body === 'object' && Symbol.asyncIterator in body;
}

/** Whether the caller is not, or no longer, allowed. Such an error is not a failure of the service. */
export function isRefusal(error: unknown): error is CofferError {
  return error instanceof CofferError && [401, 403].includes(error.status);
}

/** What decides about the form of an error: the endpoint, if there is one, and what the caller accepts. */
export interface ErrorForm {
  format?: WireFormat | undefined;
  /** The content type of a raw response: where pages are served, a browser gets a page. */
  raw?: string;
  accept?: string | undefined;
}

export function isPage(raw: string | undefined): boolean {
  return raw?.startsWith('text/html') === true;
}

export function errorReply(
  error: CofferError,
  requestId: string,
  headers: Record<string, string> = {},
  { format, raw, accept }: ErrorForm = {},
): Reply {
  if (format !== undefined) {
    const status = statusIn(format, error.code);
    const body = JSON.stringify(format.errorBody(error, status));
    return { status, headers: { ...headers, 'Content-Type': contentTypeIn(format, accept) }, body };
  }
  if (raw !== undefined && isPage(raw) && accept?.includes('text/html') === true) {
    return { status: error.status, headers: { ...headers, 'Content-Type': raw }, body: errorPage(error, requestId) };
  }
  const { code, message, details } = error;
  const body = JSON.stringify({ error: { code, message, request_id: requestId, ...(details && { details }) } });
  return { status: error.status, headers, body };
}
