import { ERROR_CODES } from './error-codes.ts';

/** What the service can refuse a request with. */
export type RefusalCode = (typeof ERROR_CODES)[number];

/** What can go wrong before or after the service decided. */
export type LocalCode =
  /** No connection, or it was cut before a whole answer arrived: whether a change was made is not known. */
  | 'NO_ANSWER'
  /** No answer in time: whether a change was made is not known. */
  | 'TIMED_OUT'
  /** Something answered that is not the service, such as a proxy. */
  | 'UNEXPECTED_ANSWER'
  /** The service refused with a code that this version of the client does not know; `details.code` has it. */
  | 'UNKNOWN_CODE'
  /** A region referred to an origin that is not listed, or to regions in a circle. */
  | 'REGION_REDIRECT'
  /** The change was accepted and waits for somebody's approval, which `details` name. */
  | 'PENDING_APPROVAL'
  /** A reference, a path or an option is not valid; nothing was sent. */
  | 'INVALID_ARGUMENT';

export type CofferErrorCode = RefusalCode | LocalCode;

export interface CofferErrorFields {
  code: CofferErrorCode;
  /** The HTTP status, or 0 if there was no answer. */
  status?: number;
  requestId?: string | null;
  details?: Readonly<Record<string, unknown>>;
  retryAfterSeconds?: number | null;
  cause?: unknown;
}

/** Every failure of a call. Its message is for people and never has a value of a secret; decide by `code`. */
export class CofferError extends Error {
  override readonly name = 'CofferError';
  readonly code: CofferErrorCode;
  readonly status: number;
  readonly requestId: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds: number | null;

  constructor(
    message: string,
    { code, status = 0, requestId = null, details = {}, retryAfterSeconds = null, cause }: CofferErrorFields,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** The same failure, saying what it is about. */
  about(what: string): CofferError {
    const { code, status, requestId, details, retryAfterSeconds, cause } = this;
    return new CofferError(`${what}: ${this.message}`, { code, status, requestId, details, retryAfterSeconds, cause });
  }
}

const KNOWN: ReadonlySet<string> = new Set(ERROR_CODES);
const RETRY_AFTER_SECONDS_MAX = 86_400;

/** The error for an answer that is no success. */
export function refusalOf(status: number, header: (name: string) => string | null, text: string): CofferError {
  const requestId = header('x-request-id');
  const retryAfterSeconds = retryAfterOf(header('retry-after'));
  const { code, message, details } = errorIn(text);
  if (code === null) {
    return new CofferError(
      `The answer is not one of Coffer (status ${status}). Check the URL and what is in between.`,
      {
        code: 'UNEXPECTED_ANSWER',
        status,
        requestId,
        retryAfterSeconds,
      },
    );
  }
  const isKnown = KNOWN.has(code);
  return new CofferError(message, {
    code: isKnown ? (code as RefusalCode) : 'UNKNOWN_CODE',
    status,
    requestId,
    details: isKnown ? details : { ...details, code },
    retryAfterSeconds,
  });
}

function errorIn(text: string): { code: string | null; message: string; details: Record<string, unknown> } {
  const nothing = { code: null, message: '', details: {} };
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown; details?: unknown } };
    if (typeof error?.code !== 'string' || typeof error.message !== 'string') return nothing;
    return { code: error.code, message: error.message, details: { ...(error.details as Record<string, unknown>) } };
  } catch {
    return nothing;
  }
}

/** In whole seconds; a date is not used by the service. */
function retryAfterOf(header: string | null): number | null {
  return header !== null && /^\d{1,9}$/.test(header) ? Math.min(Number(header), RETRY_AFTER_SECONDS_MAX) : null;
}
