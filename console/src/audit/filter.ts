import type { Place } from '../app/router.ts';

export const FIELDS = ['actor', 'action', 'vault', 'resource', 'decision', 'request_id', 'from', 'to'] as const;
export type Field = (typeof FIELDS)[number];
/** What the audit log is filtered by, as it is in the address of the page. */
export type Filter = Partial<Record<Field, string>>;

export function filterOf({ query }: Place): Filter {
  return Object.fromEntries(
    FIELDS.flatMap((name) => {
      const text = query.get(name) ?? '';
      const value = name === 'from' || name === 'to' ? localTime(text) : text;
      return value === '' ? [] : [[name, value]];
    }),
  );
}

/** A time as a field for times has it: in the time zone of the browser, without its name. Empty for what is no time, as in a broken link. */
export function localTime(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return '';
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
}

export function without(filter: Filter, name: Field): Filter {
  const { [name]: _, ...rest } = filter;
  return rest;
}
