import { type DestinationStream, type LogFn, type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { CofferError } from '../base/errors.ts';
import type { LogFormat, LogLevel } from './log-levels.ts';
import { RepeatedLines } from './repeated-lines.ts';

export type { Logger } from 'pino';

export type ErrorClass = abstract new (...args: never[]) => Error;

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Standard output by default. */
  readonly stream?: DestinationStream & { readonly isTTY?: boolean };
  /** Error classes whose messages we write ourselves, for operators, and which contain no secret value. */
  readonly ownErrors?: readonly ErrorClass[];
}

/** An error in the form in which it may be logged. No field can hold anything that a caller sent. */
export interface LoggedError {
  type: string;
  message: string;
  code?: string | number;
  stack?: string[];
  cause?: LoggedError;
  [fact: string]: unknown;
}

export const MESSAGE_WITHHELD = '(message withheld: it may contain a secret value)';
const DATABASE_MESSAGE = 'the database refused the statement';
const HIDDEN = '[hidden]';
const MAX_STACK_FRAMES = 20;
const MAX_CAUSES = 3;

// In lower case, because the comparison ignores case. Headers and bodies are hidden as a whole, because callers control their content.
const HIDDEN_KEYS = new Set([
  ...['authorization', 'cookie', 'set-cookie', 'dpop', 'headers', 'body', 'query'],
  ...['password', 'passphrase', 'secret', 'client_secret', 'clientsecret', 'value', 'plaintext', 'otp'],
  ...['token', 'access_token', 'accesstoken', 'id_token', 'idtoken', 'private_key', 'privatekey'],
]);

/** Facts about the schema. `detail`, `where`, `hint` and the message of PostgreSQL can quote a row and are left out. */
const DATABASE_FACTS = ['severity', 'constraint_name', 'table_name', 'routine'];
const PLAIN_WORD = /^[A-Za-z0-9_$.-]{1,64}$/;
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;
const FRAME = /^ {4}at .+(?::\d+:\d+\)?|\((?:<anonymous>|native)\))$/;

/** Whether lines are for people, rather than JSON. */
export function isPretty(format: LogFormat, stream: { readonly isTTY?: boolean } = process.stdout): boolean {
  return format === 'pretty' || (format === 'auto' && stream.isTTY === true);
}

export function createLogger(options: LogOptions): Logger {
  const describe = (error: unknown) => describeError(error, options.ownErrors ?? [CofferError]);
  const settings: LoggerOptions = {
    level: options.level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    serializers: { err: describe, req: describeRequest, res: describeResponse },
    formatters: { level: (label) => ({ level: label }), log: (fields) => clean(fields, describe) },
    hooks: { logMethod: withSafeMessage(describe) },
  };
  const stream = options.stream ?? process.stdout;
  const pretty = isPretty(options.format, stream);
  const plain = options.stream ?? pino.destination({ fd: 1, sync: true });
  return withCleanBindings(pino(settings, pretty ? prettyStream(stream) : plain), describe);
}

/**
 * Keeps what identifies a fault and drops what may quote data. A message is logged only if we or the operating system wrote it: V8, Node, parsers and
 * databases include the offending value in theirs.
 */
export function describeError(error: unknown, ownErrors: readonly ErrorClass[], causes = MAX_CAUSES): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: MESSAGE_WITHHELD };
  const fields: Record<string, unknown> = { ...error };
  const code = fields['code'];
  const described: LoggedError = { type: plainWord(error.constructor?.name) ?? 'Error', message: MESSAGE_WITHHELD };
  if (ownErrors.some((own) => error instanceof own)) described.message = error.message;
  else if (typeof fields['syscall'] === 'string') described.message = error.message;
  else if (typeof code === 'string' && SQLSTATE.test(code)) Object.assign(described, databaseFacts(fields));
  else if (code === 'ERR_SQLITE_ERROR') Object.assign(described, sqliteFacts(fields));
  const plainCode = typeof code === 'number' ? code : plainWord(code);
  if (plainCode !== undefined) described.code = plainCode;
  described.stack = framesOf(error);
  if (error.cause !== undefined && causes > 0) described.cause = describeError(error.cause, ownErrors, causes - 1);
  return described;
}

function databaseFacts(fields: Record<string, unknown>): Record<string, unknown> {
  const facts = DATABASE_FACTS.map((name) => [name, plainWord(fields[name])]).filter(([, fact]) => fact !== undefined);
  return { message: DATABASE_MESSAGE, ...Object.fromEntries(facts) };
}

// `errcode` is the extended result code, which distinguishes a full disk from a violated constraint.
function sqliteFacts(fields: Record<string, unknown>): Record<string, unknown> {
  const errcode = fields['errcode'];
  return { message: DATABASE_MESSAGE, ...(typeof errcode === 'number' ? { errcode } : {}) };
}

/** A stack starts with the message, which may have many lines, so only lines that are frames are logged. */
function framesOf(error: Error): string[] {
  const stack = typeof error.stack === 'string' ? error.stack : '';
  const message = stack.indexOf(error.message);
  const frames = message === -1 ? stack : stack.slice(message + error.message.length);
  const lines = frames.split('\n', 200).filter((line) => FRAME.test(line));
  return lines.slice(0, MAX_STACK_FRAMES).map((line) => line.trim());
}

function plainWord(text: unknown): string | undefined {
  return typeof text === 'string' && PLAIN_WORD.test(text) ? text : undefined;
}

// Only method and path are logged: a request object holds headers and the socket, and a query string may hold a token.
function describeRequest(request: unknown): Record<string, unknown> {
  const { method, url } = Object(request) as { method?: unknown; url?: unknown };
  return { method: plainWord(method), path: typeof url === 'string' ? url.split('?', 1)[0] : undefined };
}

function describeResponse(response: unknown): Record<string, unknown> {
  const { statusCode } = Object(response) as { statusCode?: unknown };
  return { status: typeof statusCode === 'number' ? statusCode : undefined };
}

type Describe = (error: Error) => LoggedError;

const SERIALIZED = new Set(['err', 'req', 'res']);

/**
 * Hides what must not be logged in the top two levels of a line. pino's own redaction does the same for known paths, but took 30 µs a line with
 * wildcards (this: below 2 µs), and it keeps all fields of an error under any name but `err`.
 */
function clean(fields: object, describe: Describe): Record<string, unknown> {
  const inner = (value: unknown, name: string): unknown => {
    if (HIDDEN_KEYS.has(name.toLowerCase()) || ArrayBuffer.isView(value)) return HIDDEN;
    return value instanceof Error ? describe(value) : value;
  };
  return mapValues(fields, (value, name) => {
    if (SERIALIZED.has(name)) return value;
    const shown = inner(value, name);
    if (typeof shown !== 'object' || shown === null || shown !== value) return shown;
    if (Array.isArray(shown)) return shown.map((item: unknown) => inner(item, ''));
    const plain: unknown = 'toJSON' in shown && typeof shown.toJSON === 'function' ? shown.toJSON() : shown;
    return typeof plain === 'object' && plain !== null ? mapValues(plain, inner) : plain;
  });
}

function mapValues(fields: object, map: (value: unknown, name: string) => unknown): Record<string, unknown> {
  const mapped: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) mapped[name] = map(value, name);
  return mapped;
}

/** Without a message, pino uses the one of the error, and it prints objects among the arguments. Both could hold a secret value. */
function withSafeMessage(describe: Describe) {
  const safeArgument = (value: unknown): unknown => {
    if (value instanceof Error) return describe(value).message;
    return typeof value === 'object' && value !== null ? clean(value, describe) : value;
  };
  const repeated = new RepeatedLines();
  return function (this: Logger, [first, ...rest]: unknown[], method: LogFn, level: number): void {
    const safe = rest.map(safeArgument);
    const error = first instanceof Error ? first : errorIn(first);
    if (error !== null) safe[0] = safeMessage(safe[0], error.message, describe(error).message);
    const fields = first instanceof Error ? { err: first } : first;
    const isLimited = error !== null && LIMITED_LEVELS.has(level) && !EVIDENCE.has(error.constructor.name);
    const facts = !isLimited ? null : findFacts(fields, describe(error));
    if (facts !== null && this.isLevelEnabled(this.levels.labels[level] ?? '')) {
      const report = (left_out: number) =>
        Reflect.apply(method, this, [
          { left_out, ...facts, like: safe[0] },
          'lines that repeat an earlier one were left out',
        ]);
      if (!repeated.mayWrite(JSON.stringify([level, safe[0], facts]), report)) return;
    }
    Reflect.apply(method, this, [fields, ...safe]);
  };
}

/** Warnings and errors: what is fatal is written always. */
const LIMITED_LEVELS = new Set([pino.levels.values['warn'], pino.levels.values['error']]);
/** Each is about one stored value or row, which the id of its request leads to. */
const EVIDENCE = new Set(['UnsealError', 'ForgedRowError']);
/** Fields in which lines differ although they say the same. */
const OF_ONE_REQUEST = new Set(['request_id', 'trace_id', 'span_id', 'duration_ms']);

/**
 * What tells a line with an error from others: its error, and all plain facts, such as its endpoint, tenant, table or row. Lines without an error are
 * not limited, because each may be evidence of its own.
 */
function findFacts(fields: unknown, { type, code, message }: LoggedError): Record<string, unknown> {
  const plain = Object.entries(Object(fields) as object).filter(
    ([name, value]) => typeof value !== 'object' && !OF_ONE_REQUEST.has(name) && !HIDDEN_KEYS.has(name.toLowerCase()),
  );
  return { ...Object.fromEntries(plain), error: { type, code, message } };
}

// Much code logs an error together with its message.
function safeMessage(given: unknown, original: string, described: string): unknown {
  if (given === undefined) return described;
  return typeof given === 'string' && original !== '' ? given.replaceAll(original, () => described) : given;
}

// pino's formatters see only the fields of the line itself. Child loggers inherit this method, so their bindings are cleaned as well.
function withCleanBindings(logger: Logger, describe: Describe): Logger {
  const original = logger.child;
  const child = function (this: Logger, bindings: object, options?: object): unknown {
    return Reflect.apply(original, this, [clean(bindings, describe), options]);
  };
  return Object.assign(logger, { child });
}

function errorIn(fields: unknown): Error | null {
  if (typeof fields !== 'object' || fields === null || !('err' in fields)) return null;
  return fields.err instanceof Error ? fields.err : null;
}

/** Formats in this process and synchronously: a worker would lose the last lines before a crash, which matter most. */
function prettyStream(stream: DestinationStream & { readonly isTTY?: boolean }): DestinationStream {
  // Somebody at a terminal knows which node it is.
  const options = { translateTime: 'SYS:HH:MM:ss.l', ignore: 'node_id' };
  const prettify = prettyFactory({ colorize: stream.isTTY === true, ...options });
  return { write: (line) => stream.write(prettify(line)) };
}
