import { DAY_MS } from '../../../kernel/base/clock.ts';
import { FACTOR_DEFAULT, FOREST_SCORE, FOREST_SEED, type ModelMode, type Votes, Z_DEFAULT } from './access-models.ts';
import { IsolationForest } from './isolation-forest.ts';
import { HISTORY_DAYS_MIN, type Period, type ResourceHistory } from './resource-history.ts';
import { seededRandom } from './seeded-random.ts';
import { quantile, robustZ } from './statistics.ts';

/** Who read a secret that they had not read before. Somebody who collects secrets does not read any one of them often. */
export interface ReaderHistory {
  kind: string;
  id: string;
  /** Secrets read by day, and of them those that the actor had not read earlier in the period. */
  secrets: Float64Array;
  fresh: Float64Array;
  /** Names of those of the last day, as far as they are stored. */
  freshNames: string[];
}

/** Actors of one tenant that are followed. Further ones are left out, so that memory stays bounded. */
const READERS_MAX = 20_000;
/** Names stored for one actor. */
const NAMES_MAX = 200;
/** While the history of an actor begins, everything is new to them. */
const LEARNING_DAYS = 10;
/** v1: fewer new secrets in a day are never unusual. */
const FRESH_FLOOR = 20;
/** v2: people look around, while a program reads what it is configured to read. */
const SPREAD_FLOOR = { user: 3, program: 1.2 };
const P95 = 0.95;
const FOLLOWED = /^(user|app_connection) (.+)$/s;

/** Collects the readers of all secrets, which come one after the other. */
export class ReaderHistories {
  readonly #readers = new Map<string, ReaderHistory>();
  readonly #days: number;

  constructor({ from, to }: Period) {
    this.#days = (to - from) / DAY_MS;
  }

  add({ resource, readDays }: ResourceHistory): void {
    for (const [key, days] of readDays) {
      const reader = this.#readerOf(key);
      if (reader === null) continue;
      const first = 31 - Math.clz32(days & -days);
      reader.fresh[first] = (reader.fresh[first] ?? 0) + 1;
      for (let day = first; day < this.#days; day++) {
        if ((days & (1 << day)) !== 0) reader.secrets[day] = (reader.secrets[day] ?? 0) + 1;
      }
      if (first === this.#days - 1 && reader.freshNames.length < NAMES_MAX) reader.freshNames.push(resource);
    }
  }

  #readerOf(key: string): ReaderHistory | null {
    const known = this.#readers.get(key);
    if (known !== undefined) return known;
    const [, kind, id] = FOLLOWED.exec(key) ?? [];
    if (kind === undefined || id === undefined || this.#readers.size >= READERS_MAX) return null;
    const reader = {
      kind,
      id,
      secrets: new Float64Array(this.#days),
      fresh: new Float64Array(this.#days),
      freshNames: [],
    };
    this.#readers.set(key, reader);
    return reader;
  }

  [Symbol.iterator](): Iterator<ReaderHistory> {
    return this.#readers.values();
  }
}

export interface ReaderVerdict {
  isUnusual: boolean;
  ratio: number;
  votes: Votes;
  freshP95: number;
}

/** `sinceDay`: the first day on which the actor and the log were there. Null if there is too little history to say anything. */
export function judgeReader(
  mode: ModelMode,
  { kind, fresh, secrets }: ReaderHistory,
  { sinceDay, freshToday }: { sinceDay: number; freshToday: number },
  threshold: number | undefined,
): ReaderVerdict | null {
  const today = fresh.length - 1;
  const from = sinceDay + LEARNING_DAYS;
  const before = [...fresh.subarray(from, today)];
  if (from < 0 || before.length < HISTORY_DAYS_MIN) return null;
  const freshP95 = quantile(before, P95);
  const v1 = freshToday / Math.max(freshP95 * (threshold ?? FACTOR_DEFAULT), FRESH_FLOOR);
  const floor = kind === 'user' ? SPREAD_FLOOR.user : SPREAD_FLOOR.program;
  const v2 = mode === 'v1' ? 0 : robustZ(freshToday, before, floor) / (threshold ?? Z_DEFAULT);
  const votes: Votes = { v1: v1 > 1, v2: v2 > 1, forest: null };
  if (mode === 'ensemble' && votes.v1 !== votes.v2) {
    const pointOf = (day: number, newOnes = fresh[day] ?? 0) => [
      Math.log2(1 + newOnes),
      Math.log2(1 + (secrets[day] ?? 0)),
    ];
    const days = before.map((_, i) => pointOf(from + i));
    const forest = new IsolationForest(days, seededRandom(FOREST_SEED));
    votes.forest = forest.score(pointOf(today, freshToday)) > FOREST_SCORE;
  }
  const isUnusual = { v1: votes.v1, shadow: votes.v1, v2: votes.v2, ensemble: votes.forest ?? votes.v1 }[mode];
  const ratio = { v1, shadow: v1, v2, ensemble: Math.max(v1, v2) }[mode];
  return { isUnusual, ratio, votes, freshP95 };
}
