/**
 * Writes files of environment variables. Readers differ in what they unquote, unescape and expand, so an entry is written only in a form that all
 * readers of its format read back exactly; others are refused with the reason.
 */

import { isLoadingName } from '../../kernel/base/loading-names.ts';
import { UNFIT, UNFIT_REASON } from './dotenv.ts';

export type EnvFileFormat = 'dotenv' | 'docker' | 'shell';

interface Format {
  /** Returns why this entry cannot be written, as text that follows the name of its secret, or null. */
  refusal(name: string, value: string): string | null;
  written(value: string): string;
  /** Text before the name. */
  keyword?: string;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Bash sets these itself or makes them read-only; a JavaScript object loses `__proto__`. */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...[
    '_',
    'BASHOPTS',
    'BASHPID',
    'BASH_ALIASES',
    'BASH_ARGC',
    'BASH_ARGV',
    'BASH_ARGV0',
    'BASH_CMDS',
    'BASH_COMMAND',
    'BASH_LINENO',
    'BASH_REMATCH',
  ],
  ...['BASH_SOURCE', 'BASH_SUBSHELL', 'BASH_VERSINFO', 'COMP_WORDBREAKS', 'DIRSTACK', 'EPOCHREALTIME', 'EPOCHSECONDS'],
  ...[
    'EUID',
    'FUNCNAME',
    'GROUPS',
    'HISTCMD',
    'LINENO',
    'OPTIND',
    'PIPESTATUS',
    'PPID',
    'RANDOM',
    'SECONDS',
    'SHELLOPTS',
    'SHLVL',
  ],
  ...['SRANDOM', 'UID', '__proto__'],
]);

function reservedName(name: string): string | null {
  return RESERVED_NAMES.has(name) ? `would become ${name}, which is reserved by bash or a library` : null;
}

/** Every reader takes these characters literally without quotes. A leading `=` would be a command in zsh. */
const BARE = /^(?!=)[A-Za-z0-9_./:@%+,=-]*$/;

/** For shells (`set -a; . file`), npm's dotenv, python-dotenv and Node's `--env-file`. */
const DOTENV: Format = {
  refusal(name, value) {
    const reserved = reservedName(name);
    if (reserved !== null) return reserved;
    // npm's dotenv and python-dotenv turn it into a line feed.
    if (value.includes('\r')) return 'has a carriage return';
    // python-dotenv expands it within any quotes.
    if (value.includes('${')) return 'has ${, which python-dotenv expands within any quotes';
    if (value.includes("'")) return /["\\$`]/.test(value) ? 'has both a single quote and one of " \\ $ `' : null;
    // python-dotenv drops one of two backslashes, and one before the closing quote.
    return /\\(?:\\|$)/.test(value) ? 'has two backslashes in a row, or one at its end' : null;
  },
  written(value) {
    if (BARE.test(value)) return value;
    return value.includes("'") ? `"${value}"` : `'${value}'`;
  },
};

/** Docker reads with Go's `bufio.Scanner`, which accepts no longer line, including its line feed. */
const DOCKER_LINE_BYTES_MAX = 64 * 1024;

/** For `docker run --env-file`, which takes everything after the `=` literally, including quotes, up to the line end. */
const DOCKER: Format = {
  refusal(name, value) {
    if (/[\r\n]/.test(value)) return 'has a line break';
    const isLong = Buffer.byteLength(`${name}=${value}\n`) > DOCKER_LINE_BYTES_MAX;
    return isLong ? `is longer than the ${DOCKER_LINE_BYTES_MAX} bytes of a line that Docker reads` : null;
  },
  written: (value) => value,
};

/** For shells only (`. file`): within single quotes nothing is special but the quote itself. */
const SHELL: Format = {
  keyword: 'export ',
  refusal: (name) => reservedName(name),
  written: (value) => `'${value.replaceAll("'", `'\\''`)}'`,
};

const FORMATS: Readonly<Record<EnvFileFormat, Format>> = { dotenv: DOTENV, docker: DOCKER, shell: SHELL };

/** The variable name of a secret in a file. A path that is a valid name stays unchanged, so that an import can be exported identically. */
export function variableName(path: string): string {
  if (NAME.test(path)) return path;
  const name = path.replace(/[^A-Za-z0-9]/g, '_').toUpperCase();
  return /^\d/.test(name) ? `_${name}` : name;
}

/** Returns why nothing gets this variable name, as text that follows the name of its secret; null if it is harmless or the reader permitted it. */
export function nameRefusal(name: string, permitted: readonly string[] = []): string | null {
  if (!isLoadingName(name) || permitted.includes(name)) return null;
  return `would become ${name}, which changes how programs are loaded or where they connect: if that is meant, send permit=${name}; otherwise rename the secret`;
}

const UNPERMITTED_SHOWN_MAX = 20;

/** What an error says about names that were refused, so that a program can ask a person whether they are meant. */
export function unpermitted(names: readonly string[]): { permit?: readonly string[] } {
  return names.length === 0 ? {} : { permit: names.slice(0, UNPERMITTED_SHOWN_MAX) };
}

/** Returns why an entry cannot be written in this format, or null. It never repeats the value. */
export function envFileRefusal(format: EnvFileFormat, name: string, value: string): string | null {
  if (!NAME.test(name)) return 'would get a name that is not valid for an environment variable';
  if (UNFIT.test(value)) return UNFIT_REASON;
  return FORMATS[format].refusal(name, value);
}

export function envFileLine(format: EnvFileFormat, name: string, value: string): string {
  const refusal = envFileRefusal(format, name, value);
  if (refusal !== null) throw new Error(`a value cannot be written as ${format}: it ${refusal}`);
  const { keyword = '', written } = FORMATS[format];
  return `${keyword}${name}=${written(value)}\n`;
}
