import { invalidField } from '../../kernel/base/errors.ts';
import { parseSecretPath } from '../../kernel/wire/secret-path.ts';

/** The names by which a request addresses a secret. */
export interface SecretLocation {
  vault: string;
  path: string;
}

/** Neither part needs escaping: both were already validated against alphabets whose characters stand for themselves in a resource name. */
export function secretResource(vault: string, path: string): string {
  return `vault/${vault}/${path}`;
}

/** The other way round; null if the resource is no secret. */
export function secretOfResource(resource: string): { vault: string; path: string } | null {
  const [, vault, path] = /^vault\/([^/]+)\/(.+)$/s.exec(resource) ?? [];
  return vault === undefined || path === undefined ? null : { vault, path };
}

/** A path in a body follows the same rules as in a URL, so each secret has one spelling. */
export function parsePath(text: string, pointer: string): string {
  const parsed = parseSecretPath(text);
  if (!parsed.ok) throw invalidField(pointer, parsed.reason);
  return parsed.path;
}
