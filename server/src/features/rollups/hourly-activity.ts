import type { AuditEntry } from '../../kernel/audit/entry/entry.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';
import { type EndpointDeclaration, NONE } from '../../kernel/endpoint/declaration.ts';
import { countsOf, suppressedIn } from './counted-entries.ts';

/** What happened in a span of time, by kind. */
export interface Activity {
  reads: number;
  changes: number;
  other: number;
  denied: number;
  failed: number;
}

/** What one actor did in an hour. */
export interface ActorActivity {
  hour: number;
  actor_kind: string;
  actor_id: string;
  actor_name: string;
  reads: number;
  changes: number;
  denied: number;
}

export const NO_ACTIVITY: Activity = { reads: 0, changes: 0, other: 0, denied: 0, failed: 0 };

export type IsChange = (action: string) => boolean;

type Declared = Pick<EndpointDeclaration, 'audit' | 'effect' | 'permission'>;

/** Actions that change something and need a permission. Signing in stores a session and is no change that somebody looks for. */
export function buildChangeFilter(declarations: readonly Declared[]): IsChange {
  const changing = declarations.filter(({ effect, permission }) => effect === 'change' && permission !== NONE);
  const actions = new Set<string>(changing.map(({ audit }) => audit));
  return (action) => actions.has(action);
}

/** What an entry adds. A value that was read counts once, whether the log lists it or a summary counts it. */
export function activityOf(entry: AuditEntry, isChange: IsChange): Activity {
  const { decision, action } = entry;
  if (decision === 'deny') return { ...NO_ACTIVITY, denied: Math.max(1, suppressedIn(entry)) };
  if (decision === 'error') return { ...NO_ACTIVITY, failed: 1 };
  const reads = valuesRead(entry).reduce((sum, count) => sum + count.reads, 0);
  if (reads > 0) return { ...NO_ACTIVITY, reads };
  return isChange(action) ? { ...NO_ACTIVITY, changes: 1 } : { ...NO_ACTIVITY, other: 1 };
}

/** The same by actor. The service itself is none, nor is anyone whose credential was not recognized. */
export function actorsOf(entry: AuditEntry, isChange: IsChange): ActorActivity[] {
  const hour = hourOf(entry);
  const { reads, changes, denied } = activityOf(entry, isChange);
  if (reads > 0) {
    return valuesRead(entry).flatMap((count) => {
      const isOwn = count.actor_id === entry.actor_id && count.actor_kind === entry.actor_kind;
      const { actor_kind, actor_id } = count;
      const actor_name = isOwn ? entry.actor_name : '';
      return actor_id === ''
        ? []
        : [{ hour, actor_kind, actor_id, actor_name, reads: count.reads, changes: 0, denied: 0 }];
    });
  }
  const { actor_kind, actor_id, actor_name } = entry;
  if (changes + denied === 0 || actor_id === '' || actor_kind === 'system') return [];
  return [{ hour, actor_kind, actor_id, actor_name, reads, changes, denied }];
}

export function hourOf({ at }: Pick<AuditEntry, 'at'>): number {
  return Math.floor(at / HOUR_MS) * HOUR_MS;
}

export function addActivity(to: Activity, one: Activity): Activity {
  return {
    reads: to.reads + one.reads,
    changes: to.changes + one.changes,
    other: to.other + one.other,
    denied: to.denied + one.denied,
    failed: to.failed + one.failed,
  };
}

/** The uses of a connection are counted beside the reads that they consist of. */
function valuesRead(entry: AuditEntry) {
  return countsOf(entry).filter(({ resource, reads }) => reads > 0 && resource.startsWith('vault/'));
}

/** Adds up what entries did, by hour, and by hour and actor. */
export class ActivityCounts {
  readonly #isChange: IsChange;
  readonly byHour = new Map<number, Activity>();
  readonly actors = new Map<string, ActorActivity>();

  constructor(isChange: IsChange) {
    this.#isChange = isChange;
  }

  add(entry: AuditEntry): void {
    const hour = hourOf(entry);
    this.byHour.set(hour, addActivity(this.byHour.get(hour) ?? NO_ACTIVITY, activityOf(entry, this.#isChange)));
    for (const actor of actorsOf(entry, this.#isChange)) {
      const key = JSON.stringify([actor.hour, actor.actor_kind, actor.actor_id]);
      const same = this.actors.get(key);
      this.actors.set(key, same === undefined ? actor : together(same, actor));
    }
  }
}

/** Of two names of an actor the one that is not empty. */
export function together<T extends Omit<ActorActivity, 'hour'>>(a: T, b: T): T {
  return {
    ...a,
    actor_name: a.actor_name === '' ? b.actor_name : a.actor_name,
    reads: a.reads + b.reads,
    changes: a.changes + b.changes,
    denied: a.denied + b.denied,
  };
}
