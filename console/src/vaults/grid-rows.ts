/** What the grid knows of a secret; the names are those of the API. */
export interface GridSecret {
  readonly path: string;
  readonly type: string;
  readonly version: number;
  readonly updated_at: string;
  readonly next_rotation: string | null;
  readonly expires_at?: string | null;
  readonly risk_score: number | null;
  readonly metadata: { readonly owner?: string | null; readonly tags?: readonly string[] } | null;
}

export type SortKey = 'path' | 'type' | 'owner' | 'version' | 'updated' | 'rotation' | 'end' | 'risk';

export interface Sorting {
  readonly by: SortKey;
  readonly isDescending: boolean;
}

export interface GridFilter {
  /** Every part of it must be in the path. */
  readonly path: string;
  readonly type: string;
  readonly tag: string;
  /** Only values that nobody changed for so many days; empty for all. */
  readonly age: string;
  /** Only those with this need. */
  readonly need: '' | 'risk' | 'ending' | 'rotation';
}

export const NO_FILTER: GridFilter = { path: '', type: '', tag: '', age: '', need: '' };

const DAY_MS = 86_400_000;
export const RISK_MIN = 50;
export const SOON_DAYS = 30;

export function tagsOf({ metadata }: GridSecret): readonly string[] {
  return metadata?.tags ?? [];
}

export function filteredRows<T extends GridSecret>(secrets: readonly T[], filter: GridFilter, now: number): T[] {
  const parts = filter.path.toLowerCase().split(/\s+/).filter(Boolean);
  const changedBefore = filter.age === '' ? null : now - Number(filter.age) * DAY_MS;
  return secrets.filter(
    (secret) =>
      parts.every((part) => secret.path.toLowerCase().includes(part)) &&
      (filter.type === '' || secret.type === filter.type) &&
      (filter.tag === '' || tagsOf(secret).includes(filter.tag)) &&
      (changedBefore === null || Date.parse(secret.updated_at) < changedBefore) &&
      hasNeed(secret, filter.need, now),
  );
}

function hasNeed(secret: GridSecret, need: GridFilter['need'], now: number): boolean {
  const isSoon = (at: string | null | undefined) => !!at && Date.parse(at) < now + SOON_DAYS * DAY_MS;
  if (need === 'risk') return (secret.risk_score ?? 0) >= RISK_MIN;
  if (need === 'ending') return isSoon(secret.expires_at);
  return need === '' || isSoon(secret.next_rotation);
}

/** What has no value in a column stands last, whichever way it is sorted. */
export function sortedRows<T extends GridSecret>(rows: readonly T[], { by, isDescending }: Sorting): T[] {
  const keyed = rows.map((row) => ({ row, key: keyOf(row, by) }));
  const sign = isDescending ? -1 : 1;
  return keyed
    .sort((a, b) => compared(a.key, b.key, sign) || comparedTexts(a.row.path, b.row.path))
    .map(({ row }) => row);
}

type Key = string | number | null;

function keyOf(row: GridSecret, by: SortKey): Key {
  const keys: Record<SortKey, Key> = {
    path: row.path,
    type: row.type,
    owner: row.metadata?.owner || null,
    version: row.version,
    updated: row.updated_at,
    rotation: row.next_rotation,
    end: row.expires_at ?? null,
    risk: row.risk_score,
  };
  return keys[by];
}

function compared(a: Key, b: Key, sign: number): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
  return sign * comparedTexts(String(a), String(b));
}

const comparedTexts = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** The choice after a click on a row; with Shift, all from the row that was clicked before. */
export function chosenAfter(
  chosen: ReadonlySet<string>,
  rows: readonly { readonly path: string }[],
  { from, to }: { from: string | null; to: string },
): Set<string> {
  const next = new Set(chosen);
  const isOn = !next.has(to);
  const [first, last] = [from ?? to, to]
    .map((path) => rows.findIndex((row) => row.path === path))
    .sort((a, b) => a - b);
  const range = first === undefined || first < 0 ? [{ path: to }] : rows.slice(first, (last ?? first) + 1);
  for (const { path } of range) {
    if (isOn) next.add(path);
    else next.delete(path);
  }
  return next;
}
