import type { Command } from 'commander';
import { CofferError } from '../../client/src/index.ts';
import { fieldName } from './named-fields.ts';
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
export function explain(error: unknown, command: Command | null = null): string {
  if (error instanceof CommandError) return printable(error.message);
  if (error instanceof CofferError) return explainRefusal(error, command);
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

function explainRefusal(error: CofferError, command: Command | null): string {
  const { code, status, requestId, message, details, retryAfterSeconds } = error;
  const fields = Array.isArray(details['fields']) ? (details['fields'] as { pointer?: string; reason?: string }[]) : [];
  const lines = [
    // The message of an invalid request repeats its first field.
    ...(fields.length === 0 ? [INSTEAD[code] ?? inCommands(message)] : []),
    ...new Set(fields.map(({ pointer = '', reason = '' }) => sentence(`${fieldName(pointer, command)} ${reason}`))),
    ...(code === 'RATE_LIMIT_EXCEEDED' && retryAfterSeconds !== null ? [`Try again in ${retryAfterSeconds} s.`] : []),
    ...adviceFor(error, command),
    ...(status > 0 ? [`(${code}, ${requestId ?? 'no request id'})`] : []),
  ];
  return lines.map(printable).join('\n');
}

function adviceFor({ code, cause, details }: CofferError, command: Command | null): string[] {
  const { source } = credential;
  if (source !== null && (code === 'INVALID_TOKEN' || code === 'LOGIN_DENIED'))
    return [`What ${source} has is expired, revoked or wrong: replace it.`];
  if (code === 'NO_ANSWER' && isUntrusted(cause))
    return ['Its certificate is not trusted here. If that is right, name its CA: --ca-file FILE'];
  if (code === 'INSUFFICIENT_PRIVILEGE' && typeof details['action'] === 'string')
    return [`Why, and who can change it: coffer why ${details['action']} ${resourceOf(command, details)}`];
  return ADVICE[code] === undefined ? [] : [ADVICE[code]];
}

/** A message names routes, which somebody at a terminal has no use for. */
function inCommands(message: string): string {
  return message.replace(ROUTE, (route) => COMMANDS[route] ?? route);
}
const ROUTE = /\b(?:GET|POST|PUT|PATCH|DELETE) \/[\w./{}<>-]*[\w}>]/g;

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

/** What was refused, as `coffer why` takes it: as the service names it, or the path or vault that the command was given. Anything but plain names may be a value. */
function resourceOf(command: Command | null, { action, resource }: Record<string, unknown>): string {
  if (typeof resource === 'string' && /^[\w.@:-]+(\/[\w.@:-]+)*$/.test(resource)) return resource;
  if (typeof resource === 'string' && /^[\w-]+\/\*$/.test(resource)) return `'${resource}'`;
  const path = plainArgument(command, ['path']);
  const { vault } = command?.opts<{ vault?: string }>() ?? {};
  if (path !== null) return vault === undefined ? path : `${path} --vault ${vault}`;
  const name = plainArgument(command, ['vault', 'name']) ?? vault;
  return /^(vaults|members):/.test(String(action)) && name !== undefined ? `vault/${name}` : 'PATH';
}

function plainArgument(command: Command | null, names: readonly string[]): string | null {
  const at = command?.registeredArguments.findIndex((argument) => names.includes(argument.name())) ?? -1;
  const given = command?.args[at];
  return given !== undefined && /^[\w.-]+(\/[\w.-]+)*$/.test(given) ? given : null;
}

function isUntrusted(cause: unknown): boolean {
  return /CERT|VERIFY_LEAF|SELF_SIGNED|ISSUER/.test((cause as NodeJS.ErrnoException)?.code ?? '');
}

/** What to type, where the service can only say what is wrong. */
const ADVICE: Readonly<Record<string, string>> = {
  INVALID_TOKEN: 'Log in again: coffer login',
  MFA_REQUIRED:
    'On a terminal you are asked for it; or log in again, with your second factor if you have one: coffer login',
  INSUFFICIENT_PRIVILEGE: 'coffer whoami shows who you are, and coffer why ACTION PATH why.',
  VAULT_NOT_FOUND: 'coffer vaults list shows the vaults that you may see.',
  ROTATION_NOT_CONFIGURED: 'Give --length 32, or --stdin for a value of your own.',
  SECRET_NOT_FOUND: 'coffer secrets list shows the secrets that you may see.',
};

/** What is said instead of a message that tells what to send. */
const INSTEAD: Readonly<Record<string, string>> = {
  VAULT_ENV_PROMOTE_REQUIRED: 'This is a production vault. Give --promote if it belongs into production.',
};

/** The command for each route that a message names. A route without a command stays. */
const COMMANDS: Readonly<Record<string, string>> = {
  'POST /v1/access-requests': 'coffer request',
  'GET /admin/jobs': 'coffer jobs',
  'GET /v1/audit/verify': 'coffer audit verify',
  'DELETE /auth/tokens/<id>': 'coffer tokens revoke',
  'POST /approvals/<id>/reject': 'coffer approvals reject',
  'GET /approvals/<id>': 'coffer approvals show',
  'POST /clusters/{cluster_id}/rotate-token': 'coffer clusters rotate-token',
  'GET /v1/vaults/<vault>/secrets/<path>': 'coffer secrets get',
};

/** A caller who may write to a vault may lack the right to see it. */
export function nullIfRefused(error: unknown): null {
  if (error instanceof CofferError && error.code === 'INSUFFICIENT_PRIVILEGE') return null;
  throw error;
}
