import { inspect } from 'node:util';

const SECRET_FIELDS = ['databaseUrl', 'key', 'passphrase', 'pass', 'secrets', 'apiKey'];

/**
 * Makes an object print without its secrets. The two methods are enumerable on purpose, so that a copy by spread keeps them. The names of secret
 * files stay visible, because the operator needs them.
 */
export function hideSecrets<T extends object>(target: T): T {
  const shown = function (this: object): Record<string, unknown> {
    const fields = Object.entries(this).filter(([, field]) => typeof field !== 'function');
    return Object.fromEntries(fields.map(([name, field]) => [name, isSecret(name, field) ? '[hidden]' : field]));
  };
  return Object.assign(target, { toJSON: shown, [inspect.custom]: shown });
}

function isSecret(name: string, field: unknown): boolean {
  return SECRET_FIELDS.includes(name) && (typeof field === 'string' || Buffer.isBuffer(field) || Array.isArray(field));
}
