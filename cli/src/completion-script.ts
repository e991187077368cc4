import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Completed {
  /** The words before, such as `secrets get`. */
  words: string;
  next: string[];
}

/** For each command the words that can come next: sub-commands and options. */
function completionsOf(command: Command, words: readonly string[] = []): Completed[] {
  const subcommands = command.commands.map((one) => one.name());
  const options = command.options.flatMap(({ long }) => (long == null ? [] : [long]));
  return [
    { words: words.join(' '), next: [...subcommands, ...options] },
    ...command.commands.flatMap((one) => completionsOf(one, [...words, one.name()])),
  ];
}

export function completionScript(shell: Shell, program: Command): string {
  const all = completionsOf(program);
  return { bash, zsh, fish }[shell](all);
}

const cases = (all: readonly Completed[]) =>
  all.map(({ words, next }) => `    '${words}') next='${next.join(' ')}' ;;`).join('\n');

/** Words that are options, and their values, do not count; after `run … --` the shell completes commands and files. */
function bash(all: readonly Completed[]): string {
  return `_coffer() {
  local word words='' next='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    [[ $word == -- ]] && { COMPREPLY=($(compgen -c -f -- "\${COMP_WORDS[COMP_CWORD]}")); return; }
    [[ $word == -* ]] && continue
    case "$words\${words:+ }$word" in
${all.map(({ words }) => (words === '' ? '' : `      '${words}') words='${words}' ;;\n`)).join('')}    esac
  done
  case "$words" in
${cases(all)}
  esac
  COMPREPLY=($(compgen -W "$next" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _coffer coffer
`;
}

function zsh(all: readonly Completed[]): string {
  return `#compdef coffer
_coffer() {
  local word command='' next='' i
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    [[ $word == -- ]] && { _normal; return; }
    [[ $word == -* ]] && continue
    case "$command\${command:+ }$word" in
${all.map(({ words }) => (words === '' ? '' : `      '${words}') command='${words}' ;;\n`)).join('')}    esac
  done
  case "$command" in
${cases(all)}
  esac
  compadd -- \${=next} || _files
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _coffer "$@"; else compdef _coffer coffer; fi
`;
}

function fish(all: readonly Completed[]): string {
  const lines = all.flatMap(({ words, next }) => {
    const [verb, sub] = words.split(' ');
    const seen = [verb, sub].filter(Boolean).map((word) => `__fish_seen_subcommand_from ${word}`);
    const condition = seen.length === 0 ? '__fish_use_subcommand' : seen.join('; and ');
    return next.map((word) =>
      word.startsWith('--')
        ? `complete -c coffer -n '${condition}' -l ${word.slice(2)}`
        : `complete -c coffer -f -n '${condition}' -a ${word}`,
    );
  });
  return `${lines.join('\n')}\n`;
}
