import { CommandError } from './failure.ts';
import type { Variables } from './variables.ts';

export const FORMATS = ['dotenv', 'json', 'yaml', 'shell', 'k8s', 'docker', 'github-actions'] as const;
export type Format = (typeof FORMATS)[number];

/** Everything but `github-actions`, which writes to files of the job. */
export function formatted(variables: Variables, format: Exclude<Format, 'github-actions'>, name: string): string {
  const all = [...variables];
  switch (format) {
    case 'json':
      return `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`;
    case 'yaml':
      return all.map(([key, value]) => `${yamlText(key)}: ${yamlText(value)}\n`).join('');
    case 'shell':
      return all.map(([key, value]) => `export ${variable(key)}=${shellQuoted(value)}\n`).join('');
    case 'dotenv':
      return all.map(([key, value]) => `${variable(key)}=${dotenvQuoted(key, value)}\n`).join('');
    case 'docker':
      return all.map(([key, value]) => `${key}=${oneLine(key, value)}\n`).join('');
    case 'k8s':
      return kubernetesSecret(all, name);
  }
}

/** Names that shells keep for themselves cannot be set, and a name that is none would be run as a command. */
function variable(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    throw new CommandError(`${name} is not a name that a shell can set. Use --format json.`);
  if (SHELL_OWN.has(name))
    throw new CommandError(`A shell keeps ${name} for itself. Leave it out with --only, or use --format json.`);
  return name;
}
const SHELL_OWN: ReadonlySet<string> = new Set(['UID', 'EUID', 'PPID', 'BASHOPTS', 'SHELLOPTS', 'BASH_VERSINFO']);

function shellQuoted(value: string): string {
  return `'${value.replaceAll("'", "'\\''")}'`;
}

/** Only what bash, dotenv, python-dotenv and `node --env-file` all read alike. */
function dotenvQuoted(name: string, value: string): string {
  if (/^[A-Za-z0-9_./:@%+,-]*$/.test(value)) return value;
  const isAmbiguous = /\r|\$\{|\\\\|\\$/.test(value);
  if (!isAmbiguous && !value.includes("'")) return `'${value}'`;
  if (!isAmbiguous && !/["\\$`]/.test(value)) return `"${value}"`;
  throw new CommandError(
    `The programs that read .env files read the value of ${name} differently. Use --format shell or json.`,
  );
}

/** A text of JSON is one of YAML, except for characters that YAML does not print. A name in quotes never becomes `no` or `null`. */
function yamlText(text: string): string {
  const isUnprintable = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
  return JSON.stringify(text).replaceAll(
    isUnprintable,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Docker removes no quotes and knows no lines. */
function oneLine(name: string, value: string): string {
  if (/[\r\n]/.test(value))
    throw new CommandError(`The value of ${name} has several lines, which --format docker cannot have.`);
  return value;
}

function kubernetesSecret(all: readonly (readonly [string, string])[], name: string): string {
  // Without quotes an empty value would be null, which Kubernetes drops, and some base64 reads as a number.
  const lines = all.map(([key, value]) => `  ${yamlText(key)}: "${Buffer.from(value).toString('base64')}"\n`);
  return `apiVersion: v1\nkind: Secret\nmetadata:\n  name: ${yamlText(name)}\ntype: Opaque\ndata:\n${lines.join('')}`;
}

/** Shorter lines would make every log unreadable, and are no secrets. */
const MASKED_MIN = 4;

/** What the runner replaces by *** in its log: each line by itself, since logs have lines. */
export function githubMasks(variables: Variables): string {
  const lines = [...variables.values()]
    .flatMap((value) => value.split(/\r?\n/))
    .filter((line) => line.trim().length >= MASKED_MIN);
  return [...new Set(lines)]
    .map((line) => `::add-mask::${line.replaceAll('%', '%25').replaceAll('\r', '%0D')}\n`)
    .join('');
}

/** Lines for the file of GITHUB_ENV. The delimiter is random, so that no value can contain it and add variables of its own. */
export function githubEnvironment(variables: Variables): string {
  return [...variables]
    .map(([name, value]) => {
      const delimiter = `coffer_${crypto.randomUUID()}`;
      return `${variable(name)}<<${delimiter}\n${value}\n${delimiter}\n`;
    })
    .join('');
}
