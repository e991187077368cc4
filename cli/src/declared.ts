import { type Command, Option } from 'commander';
import {
  type Coffer,
  collected,
  type PagedRoute,
  type Route,
  type RouteInput,
  type RouteOutput,
} from '../../client/src/index.ts';
import { CommandError, EXIT } from './failure.ts';
import { withFreshProof } from './fresh-session.ts';
import { nameFields } from './named-fields.ts';
import { secondsOf } from './options.ts';
import { type Column, note, print, printJson, printTable, writeValue } from './output.ts';
import { sayIfPending } from './pending.ts';
import { confirm, isInteractive, readSecretInput, readStandardInput, readTextFile } from './prompt.ts';
import { clientOf, type Settings, settingsOf, vaultOf, wantsJson } from './settings.ts';

/** The parts of a route's input, as pointers such as `path/group_id` and `body/filter/vault`. */
type Members<T, Prefix extends string> = T extends object
  ? { [Name in keyof T & string]: `${Prefix}/${Name}` | `${Prefix}/${Name}/${string}` }[keyof T & string]
  : never;
type PartOf<R extends Route, Kind extends string> =
  RouteInput<R> extends { [K in Kind]?: infer T } ? Members<NonNullable<T>, Kind> : never;
export type Pointer<R extends Route> = PartOf<R, 'path'> | PartOf<R, 'query'> | PartOf<R, 'body'> | 'body';

/** An option, and the field of the request that it fills. */
export interface Field<R extends Route> {
  flags: string;
  description: string;
  to: Pointer<R>;
  /**
   * `list`: several values with commas between them. `pairs`: `key=value`, several times. `limits`: `key=number`, or `key=none`. `duration`: a time such as 8h,
   * sent in seconds. `json`: a file with JSON, or
   * - for standard input. `secret`: not the value but its source, standard input or a prompt. `input`: the same without being an option.
   * `local`: only a translation reads it. `fixed`: no option; `otherwise` is always sent.
   */
  kind?:
    | 'text'
    | 'number'
    | 'duration'
    | 'list'
    | 'pairs'
    | 'limits'
    | 'json'
    | 'file'
    | 'secret'
    | 'vault'
    | 'local'
    | 'input'
    | 'fixed'
    | 'number-or-text';
  isRequired?: boolean;
  /** What an option without an argument stands for. */
  value?: unknown;
  /** Instead of an option that is not given. */
  otherwise?: unknown;
}

interface Common<R extends Route> {
  /** The name of the command and its arguments. */
  usage: string;
  alias?: string;
  isDefault?: boolean;
  summary: string;
  route: R;
  /** What each argument fills, in their order. An argument may be translated first, such as an e-mail address into an id. */
  arguments?: readonly (Pointer<NoInfer<R>> | { to: Pointer<NoInfer<R>>; translate: Translate })[];
  options?: readonly Field<NoInfer<R>>[];
  help?: string;
}

export type Translate = (coffer: Coffer, given: string, command: Command) => Promise<unknown>;
type Given = Readonly<Record<string, string>>;

export interface Listing<R extends PagedRoute, Row> extends Common<R> {
  /** Whether one answer has everything, so that the route takes no size of a page. */
  isOnePage?: boolean;
  rows(page: RouteOutput<R>): readonly Row[];
  columns: readonly Column<Row>[];
  empty: string;
}

export interface Action<R extends Route> extends Common<R> {
  /** What is printed on standard output, such as a token that is shown once. */
  shows?(
    result: Exclude<RouteOutput<R>, { approval_id: string; status: 'pending_approval' }>,
    given: Given,
  ): string | null;
  /** What is said on standard error when it was done. */
  says?(result: Exclude<RouteOutput<R>, { approval_id: string; status: 'pending_approval' }>, given: Given): string;
  /** Why a command whose request succeeded has failed, such as a signature that is not valid; null if it has not. */
  failure?(result: Exclude<RouteOutput<R>, { approval_id: string; status: 'pending_approval' }>): string | null;
  /** Whether what is shown is a value, which a pipe gets as it is. */
  isValue?: boolean;
  isRead?: boolean;
  /** A prompt before something is destroyed. */
  asks?(given: Given): string;
  /** Whether the service may want a fresh proof of who the person is. */
  needsProof?: boolean;
}

/** Adds a command that prints a list. */
export function listing<R extends PagedRoute, Row>(parent: Command, spec: Listing<R, Row>): Command {
  return declared(parent, spec, async (input, coffer, command) => {
    const { query = {}, ...rest } = input as { query?: object };
    const size = spec.isOnePage === true ? {} : { limit: 1000 };
    const pages = coffer.pages(spec.route, { ...rest, query: { ...size, ...query } } as RouteInput<R>);
    const rows = (await collected(pages)).flatMap((page) => [...spec.rows(page)]);
    if (wantsJson(command)) return printJson(rows);
    printTable(rows, spec.columns, spec.empty);
  });
}

/** Adds a command that sends one request. */
export function action<R extends Route>(parent: Command, spec: Action<R>): Command {
  const { asks } = spec;
  const command = declared(parent, spec, async (input, coffer, executed, given) => {
    if (asks !== undefined && executed.opts<{ yes?: boolean }>().yes !== true) {
      if (!isInteractive()) throw new CommandError('This needs --yes where nobody can be asked.');
      if (!(await confirm(asks(given)))) return note('Nothing was changed.');
    }
    const options = spec.isRead === true ? { isRead: true } : { idempotencyKey: crypto.randomUUID() };
    const send = (client: Coffer) => client.call(spec.route, input, options);
    const result = spec.needsProof === true ? await withFreshProof(executed, send) : await send(coffer);
    const failure = spec.failure?.(result as Parameters<NonNullable<Action<R>['failure']>>[0]) ?? null;
    if (wantsJson(executed)) printJson(result ?? {});
    if (failure !== null) throw new CommandError(failure, EXIT.refused);
    if (wantsJson(executed)) return;
    if (typeof result === 'object' && result !== null && sayIfPending(result)) return;
    const done = result as Parameters<NonNullable<Action<R>['says']>>[0];
    const shown = spec.shows === undefined ? null : spec.shows(done, given);
    if (shown !== null && spec.isValue === true) writeValue(shown, 'As it is: a pipe.');
    else if (shown !== null) print(shown);
    if (spec.says !== undefined) note(spec.says(done, given));
  });
  return asks === undefined ? command : command.option('--yes', 'do not ask');
}

type Run<R extends Route> = (input: RouteInput<R>, coffer: Coffer, command: Command, given: Given) => Promise<void>;

function declared<R extends Route>(parent: Command, spec: Common<R>, run: Run<R>): Command {
  const { usage, alias, isDefault, summary, options = [], help } = spec;
  const command = parent.command(usage, { isDefault: isDefault === true }).description(summary);
  if (alias !== undefined) command.alias(alias);
  for (const field of options) if (field.kind !== 'input' && field.kind !== 'fixed') command.addOption(optionOf(field));
  if (help !== undefined) command.addHelpText('after', `\n${help}`);
  nameFields(command, namesOf(command, spec));
  return command.action(async (...args: unknown[]) => {
    const executed = args.at(-1) as Command;
    const settings = settingsOf(executed);
    const coffer = clientOf(settings);
    const names = executed.registeredArguments.map((argument) => argument.name());
    const given = Object.fromEntries(
      names.flatMap((name, i) => (args[i] === undefined ? [] : [[name, String(args[i])]])),
    );
    const input = await inputOf(
      spec,
      executed,
      { settings, coffer },
      names.map((name) => given[name]),
    );
    await run(input as RouteInput<R>, coffer, executed, given);
  });
}

function optionOf<R extends Route>({ flags, description, kind, isRequired }: Field<R>): Option {
  const option = new Option(flags, description);
  if (isRequired === true) option.makeOptionMandatory();
  if (kind === 'list' || kind === 'pairs' || kind === 'limits') {
    option.argParser((value: string, before: string[] | undefined) => [
      ...(before ?? []),
      ...(kind === 'pairs' ? [value] : value.split(',').filter((one) => one !== '')),
    ]);
  }
  return option;
}

/** Finds `--host` in `-h, --host <name>`. */
function optionName(flags: string): string {
  return flags.match(/--[\w-]+/)?.[0] ?? flags;
}

/** So that a refusal speaks of the option or argument. */
function namesOf<R extends Route>(command: Command, spec: Common<R>): Record<string, string> {
  const field = (pointer: string) => pointer.slice(pointer.indexOf('/') + 1);
  const names = (spec.arguments ?? []).map((one, i) => [
    field(typeof one === 'string' ? one : one.to),
    `<${command.registeredArguments[i]?.name()}>`,
  ]);
  const ofOptions = (spec.options ?? []).map(({ flags, to }) => [field(to), optionName(flags)]);
  return Object.fromEntries([...ofOptions, ...names]);
}

async function inputOf<R extends Route>(
  { arguments: targets = [], options = [] }: Common<R>,
  command: Command,
  { settings, coffer }: { settings: Settings; coffer: Coffer },
  given: readonly (string | undefined)[],
): Promise<object> {
  const input: Record<string, unknown> = {};
  for (const [i, target] of targets.entries()) {
    const text = given[i];
    if (text === undefined) continue;
    const { to, translate } = typeof target === 'string' ? { to: target, translate: undefined } : target;
    put(input, to, translate === undefined ? text : await translate(coffer, text, command));
  }
  for (const field of options) {
    const value = await valueGiven(field, command, settings);
    if (value !== undefined) put(input, field.to, value);
  }
  return input;
}

async function valueGiven<R extends Route>(field: Field<R>, command: Command, settings: Settings): Promise<unknown> {
  const { kind, otherwise } = field;
  if (kind === 'fixed') return otherwise;
  const option = optionOf(field);
  const given = command.opts<Record<string, unknown>>()[option.attributeName()];
  if (kind === 'vault') return vaultOf(settings, given as string | undefined);
  if (kind === 'local') return undefined;
  if (kind === 'input') return readSecretInput(field.description);
  if (given === undefined) return otherwise;
  if (field.value !== undefined) return field.value;
  switch (kind) {
    case 'number':
      return numberIn(String(given), option.long ?? '');
    case 'duration':
      return secondsOf(String(given), option.long ?? '');
    case 'number-or-text':
      return /^\d+$/.test(String(given)) ? Number(given) : given;
    case 'pairs':
      return pairsIn(given as string[], option.long ?? '');
    case 'limits':
      return limitsIn(pairsIn(given as string[], option.long ?? ''), option.long ?? '');
    case 'json':
      return jsonIn(await textOf(String(given)), String(given));
    case 'file':
      return textOf(String(given));
    case 'secret':
      return readSecretInput(field.description);
    default:
      return given;
  }
}

function put(input: Record<string, unknown>, pointer: string, value: unknown): void {
  const parts = pointer.split('/');
  const last = parts.pop() ?? '';
  let at = input;
  for (const part of parts) {
    at[part] ??= {};
    at = at[part] as Record<string, unknown>;
  }
  // A file with a whole object and options for some of its fields go together.
  at[last] = isObject(at[last]) && isObject(value) ? { ...at[last], ...value } : value;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function numberIn(text: string, option: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new CommandError(`${option} must be a whole number.`);
  return number;
}

function pairsIn(texts: readonly string[], option: string): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const equals = text.indexOf('=');
      if (equals < 1) throw new CommandError(`${option} must be written NAME=VALUE.`);
      return [text.slice(0, equals), text.slice(equals + 1)];
    }),
  );
}

function limitsIn(pairs: Readonly<Record<string, string>>, option: string): Record<string, number | null> {
  return Object.fromEntries(
    Object.entries(pairs).map(([name, text]) => [name, text === 'none' ? null : numberIn(text, option)]),
  );
}

export async function textOf(file: string): Promise<string> {
  return file === '-' ? readStandardInput() : readTextFile(file);
}

export function jsonIn(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError(`${file === '-' ? 'Standard input' : file} is not JSON.`);
  }
}
