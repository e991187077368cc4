import { CofferError } from './errors.ts';

/** `coffer://<vault>/<path>[?version=N][#json-pointer]`, parsed. */
export interface Reference {
  vault: string;
  path: string;
  version?: number;
  /** An RFC 6901 pointer into a value that is JSON, such as `/user`. */
  pointer?: string;
}

const FORM =
  /^coffer:\/\/(?<vault>[A-Za-z0-9][A-Za-z0-9._-]{0,62})\/(?<path>[A-Za-z0-9._@+=-]{1,128}(?:\/[A-Za-z0-9._@+=-]{1,128}){0,31})(?:\?version=(?<version>[1-9]\d{0,8}))?(?:#(?<pointer>.*))?$/s;

/** All references in a text, each from `coffer://` to the first character that cannot be part of one. */
export const REFERENCES_IN_TEXT =
  /coffer:\/\/[A-Za-z0-9][A-Za-z0-9._-]*\/[A-Za-z0-9._@+=/-]*[A-Za-z0-9_@+=-](?:\?version=\d+)?(?:#[A-Za-z0-9._~/%-]*[A-Za-z0-9_~%-])?/g;

export function parseReference(text: string): Reference {
  const { vault, path, version, pointer } = FORM.exec(text)?.groups ?? {};
  if (vault === undefined || path === undefined) {
    throw invalid(`"${text}" is no reference. One looks like coffer://vault/path/of/secret?version=3#/field.`);
  }
  return {
    vault,
    path,
    ...(version !== undefined && { version: Number(version) }),
    // `#field` is a friendly spelling of `#/field`.
    ...(pointer !== undefined && pointer !== '' && { pointer: pointer.startsWith('/') ? pointer : `/${pointer}` }),
  };
}

/** The part of a JSON value that a pointer names: a text as it is, anything else as JSON. */
export function valueAt(value: string, pointer: string, name: string): string {
  let at: unknown;
  try {
    at = JSON.parse(value);
  } catch {
    throw invalid(`The value of ${name} is not JSON, so it has no ${pointer}.`);
  }
  for (const token of pointer.slice(1).split('/')) {
    const key = decodeURIComponentSafely(token).replaceAll('~1', '/').replaceAll('~0', '~');
    const isThere = typeof at === 'object' && at !== null && Object.hasOwn(at, key);
    if (!isThere) throw invalid(`The value of ${name} has no ${pointer}.`);
    at = (at as Record<string, unknown>)[key];
  }
  return typeof at === 'string' ? at : JSON.stringify(at);
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function invalid(message: string): CofferError {
  return new CofferError(message, { code: 'INVALID_ARGUMENT' });
}
