import { type Signal, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { sessionOwner } from './session-owner.ts';

/** A page of one thing that somebody pinned, or that they opened lately. */
export interface Visit {
  readonly title: string;
  readonly kind: string;
  readonly address: string;
}

const RECENT_MAX = 8;
const PINNED_MAX = 20;

/** Each person of this browser has their own. */
function stored(name: string): { list: Signal<readonly Visit[]>; set(list: readonly Visit[]): void } {
  const key = () => `coffer-${name}-${sessionOwner() ?? ''}`;
  const list = signal<readonly Visit[]>(parsed(localStorage.getItem(key())));
  return {
    list,
    set(next) {
      list.value = next;
      localStorage.setItem(key(), JSON.stringify(next));
    },
  };
}

function parsed(text: string | null): Visit[] {
  if (text === null) return [];
  const list: unknown = JSON.parse(text);
  return Array.isArray(list) ? list.filter(isVisit) : [];
}

function isVisit(each: unknown): each is Visit {
  const { title, kind, address } = (each ?? {}) as Record<string, unknown>;
  return typeof title === 'string' && typeof kind === 'string' && typeof address === 'string';
}

const recent = stored('recent');
const pinned = stored('pinned');

export const recentVisits = recent.list;
export const pinnedVisits = pinned.list;

const others = (list: readonly Visit[], address: string) => list.filter((each) => each.address !== address);

/** Notes that a page of one thing was opened; null until the thing is known to be there. */
export function useVisit(visit: Visit | null): void {
  useEffect(() => {
    if (visit !== null) recent.set([visit, ...others(recent.list.value, visit.address)].slice(0, RECENT_MAX));
  }, [visit?.address]);
}

export function isPinned(address: string): boolean {
  return pinned.list.value.some((each) => each.address === address);
}

export function togglePin(visit: Visit): void {
  const rest = others(pinned.list.value, visit.address);
  pinned.set(rest.length < pinned.list.value.length ? rest : [visit, ...rest].slice(0, PINNED_MAX));
}
