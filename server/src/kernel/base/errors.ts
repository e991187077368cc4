/**
 * Every error code with its HTTP status and its meaning for the caller. The list is closed: the wire schema, the docs and the test of declared
 * errors are derived from it.
 */
export const ERROR_CODES = {
  INVALID_REQUEST: [400, 'The request could not be parsed: bad JSON, encoding, content type or URL.'],
  INVALID_TOKEN: [401, 'No credential was given, or it is malformed, expired or revoked.'],
  LOGIN_DENIED: [401, 'The login was refused. The reason is in the audit log, not in the response.'],
  JWKS_KEY_NOT_FOUND: [401, 'The issuer of the token does not publish the key that signed it.'],
  INVALID_DPOP_PROOF: [
    401,
    'The token is bound to a key, and the DPoP proof is missing, or the proof does not match the request.',
  ],
  INSUFFICIENT_PRIVILEGE: [403, 'The credential does not permit this action on this resource.'],
  IP_NOT_ALLOWED: [403, 'The credential may not be used from this address.'],
  MFA_REQUIRED: [403, 'A second factor is required; the message says how to provide it.'],
  CERTIFICATE_REQUIRED: [403, 'The connection must present its own valid client certificate.'],
  DPOP_REQUIRED: [403, 'The connection must send a DPoP proof.'],
  SESSION_LIMIT: [403, 'The connection has reached its limit of concurrent sessions.'],
  SESSION_CHANGED: [
    403,
    'Requests of the console name the user they are sent for, and the session in the cookie is of another one: load the page again.',
  ],
  TIER_REQUIRED: [403, "The tenant's plan does not include this operation."],
  QUOTA_EXCEEDED: [
    403,
    "The quota of the tenant's plan is used up; `details` has the name of the quota and its limit.",
  ],
  NOT_FOUND: [404, 'The resource or the route does not exist.'],
  VAULT_NOT_FOUND: [404, 'The vault does not exist.'],
  SECRET_NOT_FOUND: [404, 'The secret does not exist in this vault.'],
  VERSION_NOT_FOUND: [404, 'The secret has no such version, or the version is no longer stored.'],
  METHOD_NOT_ALLOWED: [405, 'The path exists, but not with this method; `Allow` lists the methods.'],
  ALREADY_EXISTS: [409, 'A resource with this name already exists.'],
  VAULT_ALREADY_EXISTS: [409, 'A vault with this name exists, or was deleted and is not purged yet.'],
  SECRET_ALREADY_EXISTS: [409, 'A secret already exists at this path.'],
  VERSION_CONFLICT: [409, 'The resource changed since it was read: read it again and repeat the request.'],
  IN_USE: [409, 'The resource is used by another resource, or by a request that is still running.'],
  KEY_DELETE_PROTECTED: [409, 'The key is protected against deletion: set `delete_protection` to false first.'],
  ENVIRONMENT_CYCLE: [409, 'A composed environment cannot inherit from itself or from one that inherits from it.'],
  ROTATION_IN_PROGRESS: [409, 'The secret is being rotated: repeat the request when the rotation has ended.'],
  VAULT_ENV_PROMOTE_REQUIRED: [
    409,
    'A secret without an environment can be placed in a production vault only with `promote: true`.',
  ],
  VAULT_ENV_CONFLICT: [409, "The secret's environment conflicts with that of the vault."],
  REVIEW_REQUIRED: [409, 'Changes of the vault are reviewed, and this one cannot wait for that.'],
  VAULT_OUT_OF_SCOPE: [409, "The requested vault or path is outside the scope of the caller's connection."],
  ZK_FLAG_IMMUTABLE: [409, '`is_zero_knowledge` is set when a vault is created and never changes.'],
  ZkBoundaryViolation: [
    409,
    'The operation requires plaintext, which the service never sees in a zero-knowledge vault.',
  ],
  TEMPLATE_UNRESOLVED: [
    409,
    'The template cannot be resolved; `details` has the secret it refers to and the reason. `resolve=false` returns it as it is written.',
  ],
  REGION_FENCED: [
    409,
    "Another region is the tenant's primary region, and only that one changes its data; `details` has its name and URL.",
  ],
  PAYLOAD_TOO_LARGE: [413, 'The body is larger than this endpoint accepts.'],
  UNKNOWN_HOST: [
    421,
    'The Host header names a host that is not one of the service’s own names: use one of those, or the operator adds it to CV_HOSTS.',
  ],
  VALIDATION_FAILED: [422, 'The request was understood but is not valid; `details.fields` says where and why.'],
  ROTATION_NOT_CONFIGURED: [
    422,
    'The secret has no rotation configured: send `value` or `generator`, or configure `rotation`.',
  ],
  DECRYPT_FAILED: [
    422,
    'The ciphertext could not be decrypted: it is malformed, was changed, or belongs to another key or other associated data.',
  ],
  HARDCODED_SECRET: [
    422,
    'The generated code contains secrets as literals and is not returned; `details.findings` has the lines and the rules.',
  ],
  RATE_LIMIT_EXCEEDED: [429, 'Too many requests: wait the number of seconds in `Retry-After`.'],
  INTERNAL_ERROR: [500, 'The service failed. Search the log for the request id.'],
  UNAVAILABLE: [
    503,
    'The database or the audit log is unavailable: repeat the request after the number of seconds in `Retry-After`.',
  ],
  PASSKEYS_DISABLED: [
    503,
    'Browsers refuse passkeys for the base URL of the service: the operator sets CV_BASE_URL to https with a host name.',
  ],
  COPILOT_DISABLED: [503, 'The assistant is not enabled: the operator has not set CV_COPILOT_PROVIDER.'],
  COPILOT_UNAVAILABLE: [
    503,
    'The provider of the assistant could not be reached, or its response could not be used: repeat the request later.',
  ],
  REGION_LOOP: [
    508,
    'The regions refer to each other for this tenant, because their directories differ: try again shortly.',
  ],
} as const satisfies Record<string, readonly [number, string]>;

/** The URL counts towards the size of the headers, so a request to any endpoint can be too large. */
export const HEADERS_TOO_LARGE_STATUS = 431;

/** Errors found before there is a complete request have another status, whichever endpoint was meant. */
export const INCOMPLETE_REQUEST_ERRORS =
  'A connection whose headers are too large gets status 431, and one that takes too long to send them 408, both with `INVALID_REQUEST`, before the request is routed to an endpoint.';

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

export function invalid(fields: FieldProblem[], others: object = {}): CofferError {
  const first = fields[0];
  const where = first === undefined ? '' : `: ${first.pointer || '/'} ${first.reason}`;
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : '';
  const message = `The request is not valid${where}${more}`;
  // Some reasons are already whole sentences.
  const end = /[.?!]$/.test(message) ? '' : '.';
  return new CofferError('VALIDATION_FAILED', message + end, { details: { fields, ...others } });
}

export function invalidField(pointer: string, reason: string): CofferError {
  return invalid([{ pointer, reason }]);
}

/** One text of a request that is larger than its limit. */
export function tooLarge(pointer: string, bytesMax: number): CofferError {
  const message = `${pointer} is larger than ${bytesMax} bytes in UTF-8: send less at a time.`;
  const fields: FieldProblem[] = [{ pointer, reason: `must be at most ${bytesMax} bytes in UTF-8` }];
  return new CofferError('PAYLOAD_TOO_LARGE', message, { details: { fields } });
}

export function notFound(what: string): CofferError {
  return new CofferError('NOT_FOUND', `There is no such ${what}.`);
}

export function unavailable(message: string, cause?: unknown): CofferError {
  return new CofferError('UNAVAILABLE', message, { retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS, cause });
}

const UNAVAILABLE_RETRY_SECONDS = 2;
