const CALLS =
  /\.(?:selectFrom|\w+Join(?:Lateral)?|insertInto|replaceInto|mergeInto|updateTable|deleteFrom|from|using)\(\s*(\[[^\]]*\]|'[^']*'|`[^`]*`)/g;
const TABLE = /['`](\w+)(?: as \w+)?['`]/g;
const RAW_SQL = /\bsql(?:<[^`]*?>)?`([^`]*)`/g;
const AFTER_KEYWORD = /\b(?:from|join|into|update|table|using)\s+"?(\w+)/gi;
const TABLE_REFERENCE = /\bsql\.table\(\s*'(\w+)'/g;

/** The tables, and other names, that the queries in a source file read or write: by Kysely's calls, and in raw SQL. */
export function queriedTables(source: string): Set<string> {
  const builders = matches(source, CALLS).flatMap((argument) => matches(argument, TABLE));
  const raw = matches(source, RAW_SQL).flatMap((text) => matches(text, AFTER_KEYWORD));
  return new Set([...builders, ...raw, ...matches(source, TABLE_REFERENCE)]);
}

/** The constants through which authenticated tables are written, with the table of each. */
export function authenticatedTables(source: string): [constant: string, table: string][] {
  const found = source.matchAll(/\bconst (\w+) = new AuthenticatedTable<\s*'(\w+)'/g);
  return [...found].map(([, constant, table]) => [String(constant), String(table)]);
}

/** The names that a source file imports from another one. */
export function importedNames(source: string): { name: string; from: string }[] {
  return [...source.matchAll(/^import (?:type )?\{([^}]*)\} from '([^']+)';/gm)].flatMap(([, names, from]) =>
    matches(String(names), /(?:^|,)\s*(?:type )?(\w+)/g).map((name) => ({ name, from: String(from) })),
  );
}

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => String(match[1]));
}
