/** The settings of sshd that decide which keys are accepted. */
export interface SshdSettings {
  authorizedKeysFiles: string[];
  isStrict: boolean;
}

/** Reads an included file; the pattern may have wildcards in its last part. */
export type ReadIncluded = (pattern: string) => Buffer[];

interface Line {
  keyword: string;
  values: string[];
  /** Whether the enclosing Match block applies to an account. */
  applies: (username: string) => boolean;
  isGlobal: boolean;
  /** Whether it stands outside of Match blocks, or in `Match all`. */
  isForAll: boolean;
}

const DEFAULT_FILES = ['.ssh/authorized_keys', '.ssh/authorized_keys2'];
const INCLUDE_DEPTH_MAX = 16;
const LINES_MAX = 100_000;
const always = () => true;
const never = () => false;

/** The settings of sshd, for each account. */
export class SshdConfig {
  readonly #lines: Line[] = [];
  readonly #flags = new Set<string>();

  constructor(content: Buffer, included: ReadIncluded) {
    this.#parse(content, included, { applies: always, isGlobal: true, isForAll: true }, 0);
    for (const { keyword, values } of this.#lines) {
      const [value = ''] = values;
      if (keyword === 'authorizedkeyscommand' && value !== 'none') this.#flags.add('authorized_keys_command');
      if (keyword === 'trustedusercakeys' && value !== 'none') this.#flags.add('trusted_user_ca_keys');
      if (keyword === 'pubkeyauthentication' && value.toLowerCase() === 'no') this.#flags.add('pubkey_disabled');
    }
  }

  /** What the report cannot cover, or what limits it. */
  get flags(): string[] {
    return [...this.#flags].sort();
  }

  settingsFor(username: string): SshdSettings {
    const files = this.#value(username, 'authorizedkeysfile') ?? DEFAULT_FILES;
    // A Match block cannot change StrictModes, but sshd reads the lines in `Match all` as if they stood outside of it.
    const strict = this.#lines.find(({ keyword, isForAll }) => keyword === 'strictmodes' && isForAll)?.values[0];
    return {
      authorizedKeysFiles: files.length === 1 && files[0]?.toLowerCase() === 'none' ? [] : files,
      isStrict: strict?.toLowerCase() !== 'no',
    };
  }

  /** The first value in a Match block that applies wins; without one, the first value outside of Match blocks. */
  #value(username: string, keyword: string): string[] | undefined {
    const lines = this.#lines.filter((line) => line.keyword === keyword && line.applies(username));
    return (lines.find(({ isGlobal }) => !isGlobal) ?? lines.find(({ isGlobal }) => isGlobal))?.values;
  }

  #parse(
    content: Buffer,
    included: ReadIncluded,
    outer: Pick<Line, 'applies' | 'isGlobal' | 'isForAll'>,
    depth: number,
  ): void {
    let block = outer;
    for (const text of content.toString('utf8').split('\n')) {
      const [keyword = '', ...values] = splitArguments(text);
      if (keyword === '' || this.#lines.length >= LINES_MAX) continue;
      if (keyword === 'match') {
        const matches = this.#match(values);
        const isForAll = outer.isForAll && matches === always;
        block = { applies: (name) => outer.applies(name) && matches(name), isGlobal: false, isForAll };
      } else if (keyword === 'include') {
        if (depth >= INCLUDE_DEPTH_MAX) this.#flags.add('sshd_config_incomplete');
        else for (const file of values.flatMap(included)) this.#parse(file, included, block, depth + 1);
      } else if (values.length > 0) this.#lines.push({ keyword, values, ...block });
    }
  }

  /** Only `all` and `User` can be decided without a connection; a block with another condition is left out and reported. */
  #match(values: readonly string[]): (username: string) => boolean {
    // An equals sign may stand between a condition and its value.
    const conditions = values.join(' ').replaceAll('=', ' ').split(/ +/);
    if (conditions.length === 1 && conditions[0]?.toLowerCase() === 'all') return always;
    const [kind = '', patterns = '', ...more] = conditions;
    if (kind.toLowerCase() === 'user' && more.length === 0) return (name) => matchesList(name, patterns.split(','));
    this.#flags.add('sshd_match_not_evaluated');
    return never;
  }
}

/** The paths in which sshd looks for keys of an account. */
export function expandKeysFile(file: string, account: { username: string; uid: number; home: string }): string | null {
  const tokens: Record<string, string> = {
    '%%': '%',
    '%h': account.home,
    '%u': account.username,
    '%U': String(account.uid),
  };
  let isKnown = true;
  const path = file.replace(/%[\s\S]?/g, (token) => {
    const value = tokens[token];
    if (value === undefined) isKnown = false;
    return value ?? '';
  });
  if (!isKnown) return null;
  return path.startsWith('/') ? path : `${account.home}/${path}`;
}

/** The keyword in lower case and its values. A `#` begins a comment, and quotes hold blanks together. */
function splitArguments(text: string): string[] {
  const line = text.trim();
  const [, keyword = '', rest = ''] = /^([A-Za-z0-9]+)(?:[ \t]*=[ \t]*|[ \t]+)([\s\S]*)$/.exec(line) ?? [];
  if (keyword === '') return [];
  const arguments_: string[] = [];
  for (const [word] of rest.matchAll(/"[^"]*"|[^ \t"]+/g)) {
    if (word.startsWith('#')) break;
    arguments_.push(word.startsWith('"') ? word.slice(1, -1) : word);
  }
  return [keyword.toLowerCase(), ...arguments_];
}

/** OpenSSH's match_pattern_list: a pattern with `!` that matches refuses, whatever else matches. */
export function matchesList(name: string, patterns: readonly string[]): boolean {
  const negated = patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1));
  if (negated.some((pattern) => matchesPattern(name, pattern))) return false;
  return patterns.some((pattern) => !pattern.startsWith('!') && matchesPattern(name, pattern));
}

/** `*` and `?`, in time that grows with the product of the lengths and no faster. */
export function matchesPattern(text: string, pattern: string): boolean {
  let [at, from, star, mark] = [0, 0, -1, 0];
  while (at < text.length) {
    if (pattern[from] === '*') {
      star = from++;
      mark = at;
    } else if (from < pattern.length && (pattern[from] === '?' || pattern[from] === text[at])) {
      at++;
      from++;
    } else if (star !== -1) {
      from = star + 1;
      at = ++mark;
    } else return false;
  }
  while (pattern[from] === '*') from++;
  return from === pattern.length;
}
