import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** What is requested from the service during completion, by the name of an argument or option. */
const VALUES: Readonly<Record<string, ValueKind>> = {
  vault: 'vaults',
  path: 'paths',
  environment: 'environments',
  env: 'environments',
  group: 'groups',
  policy: 'policies',
};
export const VALUE_KINDS = ['vaults', 'paths', 'environments', 'groups', 'policies'] as const;
export type ValueKind = (typeof VALUE_KINDS)[number];

interface Completed {
  /** The command line before the cursor, such as `secrets get`. */
  line: string;
  next: string[];
  /** What its arguments are. */
  values: ValueKind | null;
}

/** For each command what can come next: sub-commands and options. */
function completionsOf(command: Command, line: readonly string[] = []): Completed[] {
  const subcommands = command.commands.map((one) => one.name());
  const options = command.options.flatMap(({ long }) => (long == null ? [] : [long]));
  const argument = command.registeredArguments.map((one) => VALUES[one.name()]).find((kind) => kind !== undefined);
  return [
    { line: line.join(' '), next: [...subcommands, ...options], values: argument ?? null },
    ...command.commands.flatMap((one) => completionsOf(one, [...line, one.name()])),
  ];
}

export function completionScript(shell: Shell, program: Command): string {
  const all = completionsOf(program);
  return { bash, zsh, fish }[shell](all);
}

const cases = (all: readonly Completed[]) =>
  all
    .map(
      ({ line, next, values }) =>
        `    '${line}') next='${next.join(' ')}'${values === null ? '' : `; kind=${values}`} ;;`,
    )
    .join('\n');

/** Options and their values do not count; after `run … --` the shell completes commands and files. */
function bash(all: readonly Completed[]): string {
  return `_coffer() {
  local word words='' next='' kind='' vault='' i
  local typed=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    [[ $word == -- ]] && { COMPREPLY=($(compgen -c -f -- "$typed")); return; }
    [[ $word == --vault ]] && vault=\${COMP_WORDS[i+1]}
    [[ $word == -* ]] && continue
    case "$words\${words:+ }$word" in
${all.map(({ line }) => (line === '' ? '' : `      '${line}') words='${line}' ;;\n`)).join('')}    esac
  done
  case "$words" in
${cases(all)}
  esac
  case "$before" in
    --vault) next='' kind=vaults vault='' ;;
    --env) next='' kind=environments ;;
  esac
  [[ $kind != '' && $typed != -* ]] && next+=" $(coffer completion $kind \${vault:+--vault "$vault"} 2> /dev/null)"
  COMPREPLY=($(compgen -W "$next" -- "$typed"))
}
complete -o default -F _coffer coffer
`;
}

function zsh(all: readonly Completed[]): string {
  return `#compdef coffer
_coffer() {
  local word command='' next='' kind='' vault='' i
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    [[ $word == -- ]] && { _normal; return; }
    [[ $word == --vault ]] && vault=\${words[i+1]}
    [[ $word == -* ]] && continue
    case "$command\${command:+ }$word" in
${all.map(({ line }) => (line === '' ? '' : `      '${line}') command='${line}' ;;\n`)).join('')}    esac
  done
  case "$command" in
${cases(all)}
  esac
  case "\${words[CURRENT-1]}" in
    --vault) next='' kind=vaults vault='' ;;
    --env) next='' kind=environments ;;
  esac
  [[ $kind != '' && \${words[CURRENT]} != -* ]] && next+=" $(coffer completion $kind \${vault:+--vault} \${vault:+$vault} 2> /dev/null)"
  compadd -- \${=next} || _files
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _coffer "$@"; else compdef _coffer coffer; fi
`;
}

function fish(all: readonly Completed[]): string {
  const lines = all.flatMap(({ line, next, values }) => {
    const [verb, sub] = line.split(' ');
    const seen = [verb, sub].filter(Boolean).map((word) => `__fish_seen_subcommand_from ${word}`);
    const condition = seen.length === 0 ? '__fish_use_subcommand' : seen.join('; and ');
    const ofService =
      values === null ? [] : [`complete -c coffer -f -n '${condition}' -a '(__coffer_values ${values})'`];
    return [...next.map((word) => fishLine(condition, word)), ...ofService];
  });
  return `function __coffer_values
  set -l words (commandline -opc)
  set -l at (contains -i -- --vault $words)
  if test -n "$at" -a "$argv[1]" = paths
    coffer completion paths --vault $words[(math $at + 1)] 2> /dev/null
  else
    coffer completion $argv[1] 2> /dev/null
  end
end
${lines.join('\n')}
`;
}

function fishLine(condition: string, word: string): string {
  const kind = word === '--vault' ? 'vaults' : word === '--env' ? 'environments' : null;
  const values = kind === null ? '' : ` -x -a '(__coffer_values ${kind})'`;
  return word.startsWith('--')
    ? `complete -c coffer -n '${condition}' -l ${word.slice(2)}${values}`
    : `complete -c coffer -f -n '${condition}' -a ${word}`;
}
