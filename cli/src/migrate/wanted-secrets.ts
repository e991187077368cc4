import { isObject, textOf } from './exact-json.ts';
import type { Reading, Skipped, SourceEntry } from './source.ts';
import { targetMetadata } from './target-metadata.ts';
import { targetPath } from './target-path.ts';

/** What becomes of an entry with several keys: a secret for each, or one secret of type json. */
export type KeysAs = 'paths' | 'json';

/** A secret as it shall be in Coffer. */
export interface WantedSecret {
  from: string;
  path: string;
  isRenamed: boolean;
  type: 'json' | null;
  /** Its history, oldest first, without repetitions of the value before. */
  values: { value: string; label: string }[];
  metadata: Record<string, string | string[]>;
}

const VALUE_BYTES_MAX = 1024 * 1024;

/** Turns what was read into secrets, and says what cannot become one. */
export function wantedSecrets(
  { entries, skipped: before }: Reading,
  { keysAs, prefix }: { keysAs: KeysAs; prefix: readonly string[] },
): { secrets: WantedSecret[]; skipped: Skipped[] } {
  const secrets = new Map<string, WantedSecret>();
  const skipped = [...before];
  const add = (entry: SourceEntry, part: Part, metadata: WantedSecret['metadata']) => {
    const target = targetPath(prefix, [...entry.names, ...part.names]);
    if ('reason' in target) return void skipped.push({ from: part.from, reason: target.reason });
    const { values, reason } = fitting(part);
    if (reason !== null) return void skipped.push({ from: part.from, reason });
    const wanted = { from: part.from, ...target, type: part.type, values, metadata };
    const other = secrets.get(wanted.path);
    // A name that fits as it is keeps its path; one that was changed gives way.
    const wins = other === undefined || (other.isRenamed && !wanted.isRenamed);
    const [winner, left] = wins ? [wanted, other] : [other, wanted];
    secrets.set(winner.path, winner);
    if (left !== undefined)
      skipped.push({ from: left.from, reason: `its path ${winner.path} is that of ${winner.from}` });
  };
  for (const entry of entries) {
    const { metadata, skipped: fields } = targetMetadata(entry);
    for (const { name, reason } of fields) skipped.push({ from: `${entry.origin}, metadata ${name}`, reason });
    const { parts, removed } = partsOf(entry, keysAs);
    for (const key of removed)
      skipped.push({ from: `${entry.origin}, key ${key}`, reason: 'the newest version has no such key' });
    for (const part of parts) add(entry, part, metadata);
  }
  return { secrets: [...secrets.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1)), skipped };
}

interface Part {
  from: string;
  names: string[];
  type: 'json' | null;
  values: { value: string; label: string }[];
}

/** The secrets that one entry becomes. */
function partsOf(entry: SourceEntry, keysAs: KeysAs): { parts: Part[]; removed: string[] } {
  const { origin, versions } = entry;
  const newest = versions.at(-1)?.data;
  if (newest === undefined) return { parts: [], removed: [] };
  if ('value' in newest || keysAs === 'json') {
    const values = versions.map(({ data, label }) => ({
      value: 'value' in data ? data.value : textOf(data.keys),
      label,
    }));
    // A type is that of all versions, so one that was no JSON object makes it an ordinary secret.
    const type = versions.every(({ data }) => 'keys' in data) ? 'json' : null;
    return { parts: [{ from: origin, names: [], type, values }], removed: [] };
  }
  const keyed = versions.flatMap(({ data, label }) =>
    'keys' in data ? [{ keys: new Map(Object.entries(data.keys)), label }] : [],
  );
  const names = Object.keys(newest.keys);
  const parts = names.map((name): Part => {
    const values = keyed.flatMap(({ keys, label }) =>
      keys.has(name) ? [{ value: textOf(keys.get(name)), label }] : [],
    );
    return { from: `${origin}, key ${name}`, names: [name], type: null, values };
  });
  const removed = new Set(keyed.flatMap(({ keys }) => [...keys.keys()]).filter((name) => !names.includes(name)));
  return { parts, removed: [...removed] };
}

/** The history without repetitions, or why it is skipped. */
function fitting({ values }: Part): { values: Part['values']; reason: string | null } {
  const changes = values.filter(({ value }, i) => i === 0 || value !== values[i - 1]?.value);
  const isTooLarge = changes.some(({ value }) => Buffer.byteLength(value) > VALUE_BYTES_MAX);
  const isBroken = changes.some(({ value }) => !value.isWellFormed());
  if (isTooLarge) return { values: [], reason: 'a value is larger than 1 MiB' };
  return { values: changes, reason: isBroken ? 'a value is not valid Unicode' : null };
}

/** The keys of a text that is a JSON object, or null if it is another text. */
export function keysIn(text: string, parse: (text: string) => unknown): object | null {
  if (!/^\s*\{/.test(text)) return null;
  try {
    const parsed = parse(text);
    return isObject(parsed) && Object.keys(parsed).length > 0 ? parsed : null;
  } catch {
    return null;
  }
}
