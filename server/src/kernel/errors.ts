/**
 * Every error code with its HTTP status and its meaning for the caller. The list is closed: the wire schema, the docs and the test of declared
 * errors are derived from it.
 */
export const ERROR_CODES = {
  INVALID_REQUEST: [400, 'The request could not be parsed: bad JSON, encoding, content type or URL.'],
  INVALID_TOKEN: [401, 'No credential was given, or it is malformed, expired or revoked.'],
  LOGIN_DENIED: [401, 'The login was refused. The reason is in the audit log, not in the answer.'],
  JWKS_KEY_NOT_FOUND: [401, 'The key that signed the token is not among those its issuer publishes.'],
  INVALID_DPOP_PROOF: [
    401,
    'The DPoP proof is missing where the token is bound to a key, or does not fit the request.',
  ],
  INSUFFICIENT_PRIVILEGE: [403, 'The credential does not permit this action on this resource.'],
  IP_NOT_ALLOWED: [403, 'The credential may not be used from this address.'],
  MFA_REQUIRED: [403, 'A one-time code is needed: send it as `otp`.'],
  CERTIFICATE_REQUIRED: [403, 'The connection must show its own valid client certificate.'],
  DPOP_REQUIRED: [403, 'The connection must send a DPoP proof.'],
  SESSION_LIMIT: [403, 'The connection has as many sessions as it may have at a time.'],
  TIER_REQUIRED: [403, "The tenant's plan does not include this operation."],
  QUOTA_EXCEEDED: [403, "The tenant's plan has room for no more of these; `details` says which quota and its limit."],
  NOT_FOUND: [404, 'There is no such resource, or no such route.'],
  VAULT_NOT_FOUND: [404, 'There is no such vault.'],
  SECRET_NOT_FOUND: [404, 'There is no such secret in this vault.'],
  VERSION_NOT_FOUND: [404, 'The secret has no such version, or it is no longer kept.'],
  METHOD_NOT_ALLOWED: [405, 'The path exists, the method does not; `Allow` lists those that do.'],
  ALREADY_EXISTS: [409, 'A resource with this name exists.'],
  VAULT_ALREADY_EXISTS: [409, 'A vault with this name exists, or is deleted and not yet purged.'],
  SECRET_ALREADY_EXISTS: [409, 'There is a secret at this path.'],
  VERSION_CONFLICT: [409, 'The resource changed since it was read: read it again and repeat.'],
  IN_USE: [409, 'The resource is needed by another one, or by a request that is still running.'],
  KEY_DELETE_PROTECTED: [409, 'The key is protected: take `delete_protection` off first.'],
  ENVIRONMENT_CYCLE: [409, 'A composed environment cannot inherit from itself or from one that inherits from it.'],
  ROTATION_IN_PROGRESS: [409, 'The secret is being rotated: repeat when that has ended.'],
  VAULT_ENV_PROMOTE_REQUIRED: [
    409,
    'A secret without an environment enters a production vault only with `promote: true`.',
  ],
  VAULT_ENV_CONFLICT: [409, "The secret's environment does not fit that of the vault."],
  VAULT_OUT_OF_SCOPE: [409, "What is asked for lies outside the scope of the caller's connection."],
  ZK_FLAG_IMMUTABLE: [409, '`is_zero_knowledge` is chosen when a vault is made and never changes.'],
  ZkBoundaryViolation: [409, 'The operation needs plaintext, which the service never sees in a zero-knowledge vault.'],
  PAYLOAD_TOO_LARGE: [413, 'The body is larger than this endpoint accepts.'],
  VALIDATION_FAILED: [422, 'The request was understood but is not valid; `details.fields` says where and why.'],
  ROTATION_NOT_CONFIGURED: [
    422,
    'Nothing says how to make a new value: send `value` or `generator`, or configure `rotation`.',
  ],
  DECRYPT_FAILED: [
    422,
    'The ciphertext could not be opened: it is malformed, was changed, or is not of this key and data.',
  ],
  RATE_LIMIT_EXCEEDED: [429, 'Too many requests: wait for `Retry-After` seconds.'],
  INTERNAL_ERROR: [500, 'The service failed. The request id leads to the log line.'],
  UNAVAILABLE: [503, 'The store or the audit log cannot be used now: repeat after `Retry-After` seconds.'],
} as const satisfies Record<string, readonly [number, string]>;

/** The URL counts towards the size of the headers, so a request to any endpoint can be too large. */
export const HEADERS_TOO_LARGE_STATUS = 431;

/** Errors found before there is a complete request have another status, whichever endpoint was meant. */
export const BEFORE_A_REQUEST =
  'A connection whose headers are too large is answered 431, and one that takes too long to send them 408, both with `INVALID_REQUEST`, before any endpoint is found.';

export type ErrorCode = keyof typeof ERROR_CODES;

export interface FieldProblem {
  pointer: string;
  reason: string;
}

export interface ErrorOptions {
  details?: Record<string, unknown> | undefined;
  retryAfterSeconds?: number | undefined;
  headers?: Record<string, string> | undefined;
  /** The reason for the audit log only. The caller gets the code and the message, never this. */
  auditReason?: string | undefined;
  cause?: unknown;
}

/** An error with a stable code. Its message is shown to the caller, so it never contains a secret value or an internal detail. */
export class CofferError extends Error {
  override readonly name = 'CofferError';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Record<string, string> | undefined;
  readonly auditReason: string | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers;
    this.auditReason = options.auditReason;
  }

  get status(): number {
    return ERROR_CODES[this.code][0];
  }
}

export function invalid(fields: FieldProblem[]): CofferError {
  const first = fields[0];
  const where = first === undefined ? '' : `: ${first.pointer || '/'} ${first.reason}`;
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : '';
  const message = `The request is not valid${where}${more}`;
  // Some reasons are already whole sentences.
  const end = /[.?!]$/.test(message) ? '' : '.';
  return new CofferError('VALIDATION_FAILED', message + end, { details: { fields } });
}

export function invalidField(pointer: string, reason: string): CofferError {
  return invalid([{ pointer, reason }]);
}

export function notFound(what: string): CofferError {
  return new CofferError('NOT_FOUND', `There is no such ${what}.`);
}

export function unavailable(message: string, cause?: unknown): CofferError {
  return new CofferError('UNAVAILABLE', message, { retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS, cause });
}

const UNAVAILABLE_RETRY_SECONDS = 2;
