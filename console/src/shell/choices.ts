import { signal } from '@preact/signals';
import type { GroupName } from './navigation.ts';

/** How somebody arranged the navigation in this browser. */
const RAIL = 'coffer-rail';
const CLOSED = 'coffer-closed-groups';

/** Icons alone, for more room. */
export const isRail = signal(localStorage.getItem(RAIL) !== null);
export const closedGroups = signal<ReadonlySet<string>>(
  new Set((localStorage.getItem(CLOSED) ?? '').split(' ').filter(Boolean)),
);

export function toggleRail(): void {
  isRail.value = !isRail.value;
  if (isRail.value) localStorage.setItem(RAIL, '1');
  else localStorage.removeItem(RAIL);
}

export function toggleGroup(name: GroupName): void {
  const closed = new Set(closedGroups.value);
  if (!closed.delete(name)) closed.add(name);
  closedGroups.value = closed;
  localStorage.setItem(CLOSED, [...closed].join(' '));
}
