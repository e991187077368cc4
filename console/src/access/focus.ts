import { href } from '../app/router.ts';

export const FOCUS_KINDS = ['everything', 'user', 'app_connection', 'group', 'policy', 'vault', 'secret'] as const;
export type FocusKind = (typeof FOCUS_KINDS)[number];

/** From where or to where the ways are drawn. */
export interface Focus {
  readonly kind: FocusKind;
  /** An e-mail address, an id, a name, or a vault and a path with a slash between them. */
  readonly name: string;
  readonly endsAtSecrets: boolean;
}

/** The query of the endpoint, which is that of the page's address too. */
export function queryOf({ kind, name, endsAtSecrets }: Focus): Record<string, string> {
  const depth: Record<string, string> = endsAtSecrets ? { depth: 'secrets' } : {};
  if (kind === 'everything' || name === '') return depth;
  if (kind !== 'secret') return { [kind]: name, ...depth };
  const slash = name.indexOf('/');
  return slash === -1
    ? { vault: name, depth: 'secrets' }
    : { vault: name.slice(0, slash), path: name.slice(slash + 1) };
}

export function focusOf(query: URLSearchParams): Focus {
  const endsAtSecrets = query.get('depth') === 'secrets';
  const [vault, path] = [query.get('vault'), query.get('path')];
  if (vault !== null && path !== null) return { kind: 'secret', name: `${vault}/${path}`, endsAtSecrets };
  for (const kind of FOCUS_KINDS) {
    const name = query.get(kind);
    if (name !== null) return { kind, name, endsAtSecrets };
  }
  return { kind: 'everything', name: '', endsAtSecrets };
}

/** The address of the graph with this in its middle. */
export function accessAddress(kind: FocusKind, name: string): string {
  return `${href('access')}?${new URLSearchParams(queryOf({ kind, name, endsAtSecrets: false }))}`;
}
