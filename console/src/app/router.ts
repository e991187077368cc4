import { signal } from '@preact/signals';
import './invitation-link.ts';

/**
 * The page that is shown is named in the fragment of the address, `#/vaults/payments`, because every other path belongs to the API. A fragment is
 * never sent to the service, so names of secrets do not reach the logs of proxies.
 */
export interface Place {
  /** Decoded segments: `['vaults', 'payments']`. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

export const place = signal<Place>(parse(location.hash));

/** Asked before another page is opened; false stays, for example because something was typed and not saved. */
let mayLeave: (() => boolean) | null = null;

export function guardLeaving(guard: (() => boolean) | null): void {
  mayLeave = guard;
}

addEventListener('hashchange', (event) => {
  if (mayLeave !== null && !mayLeave()) {
    history.replaceState(null, '', new URL(event.oldURL).hash);
    return;
  }
  mayLeave = null;
  place.value = parse(location.hash);
});

function parse(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  return { segments: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The address of a page. Each argument is one or, with slashes, several segments. */
export function href(...parts: readonly (string | number)[]): string {
  return `#/${parts
    .flatMap((part) => String(part).split('/'))
    .map(encodeURIComponent)
    .join('/')}`;
}

/** The address of a page that has a link back to this one. */
export function withWayBack(address: string): string {
  return `${address}?${new URLSearchParams({ back: addressOf(place.value) })}`;
}

/** The page to go back to, which is always one of this console. */
export function wayBack(): Place | null {
  const text = place.value.query.get('back');
  return text === null ? null : parse(text);
}

/** The address of this place, with its query. */
export function addressOf({ segments, query }: Place): string {
  const text = query.toString();
  return href(...segments) + (text === '' ? '' : `?${text}`);
}

export function navigate(address: string): void {
  location.hash = address;
}

/** Opens a page in the place of this one. */
export function replace(address: string): void {
  history.replaceState(null, '', address);
  place.value = parse(address);
}

/** Changes the query of this page without a new step in the history. `added` is for names that occur several times. */
export function setQuery(
  changes: Readonly<Record<string, string | null>>,
  added: readonly (readonly [name: string, value: string])[] = [],
): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, value);
  }
  for (const [name, value] of added) query.append(name, value);
  replace(addressOf({ segments: place.value.segments, query }));
}
