/** Whether a secret is named like a URL or a connection string, of which only a part is secret. */
export function looksLikeAddress(path: string): boolean {
  return /(url|uri|dsn|connection|connection[-_]?string)$/i.test(path);
}

/** Types whose values have rules, in the order in which they are offered. */
export const SECRET_TYPES = [
  'generic',
  'password',
  'api_key',
  'token',
  'database',
  'ssh_key',
  'certificate',
  'json',
] as const;
