import type { Attack, AttackKind } from './attacks.ts';
import { DAY } from './traffic.ts';

/** An anomaly that a model raised. */
export interface Alarm {
  type: string;
  /** As the simulation names it: `vault/<vault>/<path>`, `vault/<vault>`, or the name of an actor. */
  resource: string;
  /** When it was detected, in milliseconds since the start of the simulation. */
  at: number;
  /** The anomaly was open already. It is seen again, and nobody is notified. */
  isRepeat: boolean;
}

export interface Score {
  attacks: number;
  detected: number;
  recall: number;
  alarms: number;
  /** Of all alarms, those about an attack. */
  precision: number;
  falseAlarmsPerWeek: number;
  /** From the first access of an attack to its first alarm, in hours; null if none was detected. */
  medianHoursToDetect: number | null;
  byKind: Record<AttackKind, { attacks: number; detected: number }>;
  falseAlarms: Alarm[];
  missed: string[];
}

/** An alarm may come with the scan after the attack's last access. */
const LATE = DAY + DAY / 2;

export function score(attacks: readonly Attack[], alarms: readonly Alarm[], weeks: number): Score {
  const firstAlarms = attacks.map((attack) => alarms.filter((alarm) => isAbout(alarm, attack)).map(({ at }) => at));
  const detected = attacks.filter((_, i) => firstAlarms[i]?.length !== 0);
  const told = alarms.filter(({ isRepeat }) => !isRepeat);
  const falseAlarms = told.filter((alarm) => !attacks.some((attack) => isAbout(alarm, attack)));
  const delays = attacks.flatMap(({ from }, i) => {
    const first = Math.min(...(firstAlarms[i] ?? []));
    return Number.isFinite(first) ? [(first - from) / (DAY / 24)] : [];
  });
  const byKind = Object.fromEntries(
    [...Map.groupBy(attacks, ({ kind }) => kind)].map(([kind, of]) => [
      kind,
      { attacks: of.length, detected: of.filter((attack) => detected.includes(attack)).length },
    ]),
  ) as Score['byKind'];
  return {
    attacks: attacks.length,
    detected: detected.length,
    recall: detected.length / attacks.length,
    alarms: told.length,
    precision: told.length === 0 ? 1 : (told.length - falseAlarms.length) / told.length,
    falseAlarmsPerWeek: falseAlarms.length / weeks,
    medianHoursToDetect: median(delays),
    byKind,
    falseAlarms,
    missed: attacks.filter((attack) => !detected.includes(attack)).map(({ id }) => id),
  };
}

/** A report about the actor, a resource or its vault during the attack leads to the right place. */
function isAbout({ resource, at }: Alarm, attack: Attack): boolean {
  if (at < attack.from || at > attack.to + LATE) return false;
  if (resource === attack.actor || attack.resources.has(resource)) return true;
  return [...attack.resources].some((one) => one.startsWith(`${resource}/`));
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}
