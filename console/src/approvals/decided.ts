import type { RouteOutput } from '@coffer/client';
import { signal } from '@preact/signals';
import { call, me, whenSessionEnds } from '../app/api.ts';
import { mayOne } from '../app/capabilities.ts';
import { href } from '../app/router.ts';

export type Decided = RouteOutput<'GET /approvals'>['approvals'][number];

const DAYS = 7;
const DAY_MS = 86_400_000;
const LIMIT = 100;
/** Which of them somebody has looked at or put away, in this browser. */
const SEEN = 'coffer-decided-seen';

/** Requests of the signed-in person that others decided lately, or that ended undecided, and that they have not looked at since. */
export const decided = signal<readonly Decided[]>([]);
whenSessionEnds(() => {
  decided.value = [];
});

export async function loadDecided(): Promise<void> {
  const person = me.value?.user.id;
  if (person === undefined || !(await mayOne(['approvals:list', 'self/approvals']))) return;
  const { approvals } = await call('GET /approvals', { query: { requester: 'self', limit: LIMIT } });
  const since = Date.now() - DAYS * DAY_MS;
  const lately = approvals.filter((each) => isByOthers(each, person) && Date.parse(endOf(each)) > since);
  const seen = seenIds().filter((id) => lately.some((each) => each.id === id));
  keepSeen(seen);
  if (me.value?.user.id === person) decided.value = lately.filter(({ id }) => !seen.includes(id));
}

/** They were looked at or put away. */
export function markSeen(ids: readonly string[]): void {
  const own = decided.value.filter(({ id }) => ids.includes(id)).map(({ id }) => id);
  if (own.length === 0) return;
  keepSeen([...seenIds(), ...own]);
  decided.value = decided.value.filter(({ id }) => !own.includes(id));
}

export function endOf({ decided_at, expires_at }: Pick<Decided, 'decided_at' | 'expires_at'>): string {
  return decided_at ?? expires_at;
}

/** Nobody has to be told what they did themselves: withdraw it, or approve it because nobody else could. */
function isByOthers({ status, levels }: Decided, person: string): boolean {
  if (status === 'pending' || status === 'cancelled') return false;
  return status === 'expired' || levels.some(({ decided_by }) => decided_by !== null && decided_by.id !== person);
}

function seenIds(): string[] {
  const stored: unknown = JSON.parse(localStorage.getItem(SEEN) ?? '[]');
  return Array.isArray(stored) ? stored.filter((id) => typeof id === 'string') : [];
}

function keepSeen(ids: readonly string[]): void {
  if (ids.length === 0) localStorage.removeItem(SEEN);
  else localStorage.setItem(SEEN, JSON.stringify(ids));
}

/** The page of what a request was about, where there is one. */
export function pageOf(resource: string): string | null {
  const [kind = '', name] = resource.split('/');
  const page = PAGES[kind];
  return page === undefined || name === undefined ? null : href(page, name);
}

const PAGES: Readonly<Record<string, string>> = {
  vault: 'vaults',
  user: 'people',
  group: 'groups',
  policy: 'policies',
  'app-connection': 'connections',
  exporter: 'exporters',
  cluster: 'clusters',
};
