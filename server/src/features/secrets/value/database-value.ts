import { JsonError, parseJson } from '../../../kernel/wire/json.ts';

/** The value of a secret of type `database`: the server and the login. */
export interface DatabaseValue {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly username: string;
  readonly password: string;
  readonly tls: boolean;
}

export type DatabaseReading = { readonly value: DatabaseValue } | { readonly problem: string };

const TEXTS = ['host', 'database', 'username', 'password'] as const;
/** One line of at most 4,096 characters: a line break could add a setting to a configuration file the value is pasted into. */
export const LINE = /^[^\p{Cc}\p{Zl}\p{Zp}]{1,4096}$/u;
const PORT_MAX = 65_535;

/**
 * Parses the value strictly: of a duplicate key, a client might use the other value. Error texts never repeat the input, not even a field name,
 * because a password may have slipped to the wrong side of a colon.
 */
export function readDatabaseValue(text: string): DatabaseReading {
  const fields = readObject(text);
  if (fields === null) return { problem: 'must be a JSON object with host, port, database, username and password' };
  for (const name of TEXTS) {
    const field = fields[name];
    if (typeof field !== 'string' || !LINE.test(field)) {
      return { problem: `must be a JSON object whose ${name} is one line of 1 to 4,096 characters` };
    }
  }
  const { port, tls = true, ...others } = fields;
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > PORT_MAX) {
    return { problem: `must be a JSON object whose port is a whole number from 1 to ${PORT_MAX}` };
  }
  if (typeof tls !== 'boolean') return { problem: 'must be a JSON object whose tls, if given, is true or false' };
  if (Object.values(others).some((other) => typeof other !== 'string')) {
    return { problem: 'must be a JSON object whose further fields are strings' };
  }
  const { host, database, username, password } = fields as Record<(typeof TEXTS)[number], string>;
  return { value: { host, port, database, username, password, tls } };
}

/** Returns the same value with another password; every other field is unchanged. */
export function withPassword(text: string, password: string): string {
  const fields = readObject(text);
  if (fields === null) throw new TypeError('the value is not a JSON object');
  return JSON.stringify({ ...fields, password });
}

function readObject(text: string): Record<string, unknown> | null {
  try {
    const parsed = parseJson(Buffer.from(text, 'utf8'));
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : null;
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}
