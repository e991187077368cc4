import { useEffect, useState } from 'preact/hooks';
import { call, me, whenSessionEnds } from './api.ts';

/** An action on a resource: `['secrets:read', 'vault/payments/db']`. */
export type Check = readonly [action: string, resource: string];

const CHECKS_MAX = 200;
const known = new Map<string, boolean>();
let waiting = new Map<string, { check: Check; resolve: (isAllowed: boolean) => void }[]>();
whenSessionEnds(() => known.clear());

/**
 * Whether the signed-in person may do each of these, by the evaluator that decides their requests. What would be refused is not offered. Checks of
 * one moment are sent as one request.
 */
export function useMay<K extends string>(checks: Readonly<Record<K, Check>>): Readonly<Record<K, boolean>> {
  const names = Object.keys(checks) as K[];
  const key = JSON.stringify(names.map((name) => checks[name]));
  const [answers, setAnswers] = useState<{ key: string; allowed: readonly boolean[] } | null>(null);
  useEffect(() => {
    let isCurrent = true;
    Promise.all(names.map((name) => mayOne(checks[name]))).then((allowed) => {
      if (isCurrent) setAnswers({ key, allowed });
    });
    return () => {
      isCurrent = false;
    };
  }, [key, me.value?.credential.id]);
  const isKnown = answers?.key === key;
  return Object.fromEntries(names.map((name, index) => [name, isKnown && answers.allowed[index] === true])) as Record<
    K,
    boolean
  >;
}

/** How long something has to be in sight before it is asked for. */
const IN_SIGHT_MS = 150;
const inSight = new Set<() => void>();
let resting: ReturnType<typeof setTimeout> | undefined;

/** For a row of a long list: what scrolls past asks nothing, and all rows in sight ask with one request. */
export function useMayInSight(check: Check): boolean {
  const key = check.join(' ');
  const [isAllowed, setAllowed] = useState(known.get(key) ?? false);
  useEffect(() => {
    if (known.has(key)) return;
    let isCurrent = true;
    const ask = () =>
      void mayOne(check).then((answer) => {
        if (isCurrent) setAllowed(answer);
      });
    inSight.add(ask);
    clearTimeout(resting);
    resting = setTimeout(() => {
      const asking = [...inSight];
      inSight.clear();
      for (const each of asking) each();
    }, IN_SIGHT_MS);
    return () => {
      isCurrent = false;
      inSight.delete(ask);
    };
  }, [key]);
  return isAllowed;
}

export function mayOne(check: Check): Promise<boolean> {
  const key = check.join(' ');
  const answer = known.get(key);
  if (answer !== undefined) return Promise.resolve(answer);
  return new Promise((resolve) => {
    if (waiting.size === 0) queueMicrotask(sendWaiting);
    waiting.set(key, [...(waiting.get(key) ?? []), { check, resolve }]);
  });
}

async function sendWaiting(): Promise<void> {
  const sent = [...waiting.entries()];
  waiting = new Map();
  for (let from = 0; from < sent.length; from += CHECKS_MAX) {
    const part = sent.slice(from, from + CHECKS_MAX);
    const checks = part.map(([, [first]]) => {
      const [action, resource] = (first as { check: Check }).check;
      return { action, resource };
    });
    // If this cannot be decided, nothing is offered; a page that needs it shows its own error.
    const allowed = await call('POST /auth/capabilities', { body: { checks } }, { isRead: true }).then(
      (answer) => answer.allowed,
      () => null,
    );
    part.forEach(([key, callers], index) => {
      const isAllowed = allowed?.[index] === true;
      if (allowed !== null) known.set(key, isAllowed);
      for (const { resolve } of callers) resolve(isAllowed);
    });
  }
}
