import { CofferError } from '../../client/src/index.ts';
import { printable } from './printable.ts';

export const EXIT = { done: 0, local: 1, remote: 2, refused: 3, notFound: 4 } as const;

/** Where the credential came from, so that a refusal can say what to replace: null for a profile. */
export const credential: { source: string | null } = { source: null };

/** A failure on this machine, or a use that cannot work. Its message says what to do. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.local) {
    super(message);
    this.exitCode = exitCode;
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  if (!(error instanceof CofferError)) return EXIT.local;
  const { status, code } = error;
  if (code === 'INVALID_ARGUMENT') return EXIT.local;
  if (status === 404) return EXIT.notFound;
  return status >= 400 && status < 500 && status !== 429 ? EXIT.refused : EXIT.remote;
}

/** What went wrong and what to do, in one or two lines without a value of a secret. */
export function explain(error: unknown): string {
  if (error instanceof CommandError) return printable(error.message);
  if (error instanceof CofferError) return explainRefusal(error);
  const { code = '', path = 'The file' } = error as NodeJS.ErrnoException;
  if (SYSTEM[code] !== undefined) return `${printable(path)}: ${SYSTEM[code]}.`;
  // The text of an unknown failure may quote what it worked on, so only the places are shown.
  const places = String((error as Error)?.stack)
    .split('\n')
    .filter((line) => line.startsWith('    at '));
  return [
    `Something failed that was not expected (${(error as Error)?.name ?? typeof error}). Please report it with these lines:`,
    ...places,
  ].join('\n');
}

const SYSTEM: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'you may not read or write it',
  EISDIR: 'it is a folder',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
};

function explainRefusal(error: CofferError): string {
  const { code, status, requestId, message, details, retryAfterSeconds } = error;
  const fields = Array.isArray(details['fields']) ? (details['fields'] as { pointer?: string; reason?: string }[]) : [];
  const lines = [
    message,
    ...fields.map(({ pointer = '', reason = '' }) => `  ${pointer}: ${reason}`),
    ...(code === 'RATE_LIMIT_EXCEEDED' && retryAfterSeconds !== null ? [`Try again in ${retryAfterSeconds} s.`] : []),
    ...adviceFor(error),
    ...(status > 0 ? [`(${code}, ${requestId ?? 'no request id'})`] : []),
  ];
  return lines.map(printable).join('\n');
}

function adviceFor({ code, cause }: CofferError): string[] {
  const { source } = credential;
  if (source !== null && (code === 'INVALID_TOKEN' || code === 'LOGIN_DENIED'))
    return [`What ${source} has is expired, revoked or wrong: replace it.`];
  if (code === 'NO_ANSWER' && isUntrusted(cause))
    return ['Its certificate is not trusted here. If that is right, name its CA: --ca-file FILE'];
  return ADVICE[code] === undefined ? [] : [ADVICE[code]];
}

function isUntrusted(cause: unknown): boolean {
  return /CERT|VERIFY_LEAF|SELF_SIGNED|ISSUER/.test((cause as NodeJS.ErrnoException)?.code ?? '');
}

/** What to type, where the service can only say what is wrong. */
const ADVICE: Readonly<Record<string, string>> = {
  INVALID_TOKEN: 'Log in again: coffer login',
  MFA_REQUIRED: 'Log in again with your second factor: coffer login',
  INSUFFICIENT_PRIVILEGE: 'coffer whoami shows who you are; coffer policies simulate shows why.',
  VAULT_NOT_FOUND: 'coffer vaults list shows the vaults that you may see.',
  ROTATION_NOT_CONFIGURED: 'Give --length 32, or --stdin for a value of your own.',
  VAULT_ENV_PROMOTE_REQUIRED: 'Give --promote if it belongs into production.',
  SECRET_NOT_FOUND: 'coffer secrets list shows the secrets that you may see.',
};
