import { Draws } from './random.ts';

/** A company whose people and programs read secrets. Everything follows from the seed. */
export interface Company {
  seed: number;
  days: number;
  vaults: readonly Vault[];
  people: readonly Person[];
  programs: readonly Program[];
  /** Days on which nobody works, besides weekends. */
  holidays: ReadonlySet<number>;
  /** Days on which the keys of a vault are rotated, and which vault. */
  rotationDays: ReadonlyMap<number, Vault>;
}

export interface Vault {
  name: string;
  team: number;
  /** Paths of its secrets. */
  paths: readonly string[];
}

export interface Person {
  name: string;
  team: number;
  ip: string;
  /** The secrets they work with. */
  usual: readonly string[];
  readsPerDay: number;
  /** New hires begin later. */
  fromDay: number;
  /** Some change their work, and read other secrets of their team from a day on. */
  next: { day: number; usual: readonly string[] } | null;
}

export type Program = {
  name: string;
  team: number;
  ip: string;
  secrets: readonly string[];
  /** A deployment may bring new secrets. */
  next: { day: number; secrets: readonly string[] } | null;
} & (
  | { kind: 'service'; instances: number; refreshHours: number; deploysPerDay: number }
  | { kind: 'batch'; hour: number; days: 'daily' | 'workdays' | 'sundays' }
  | { kind: 'pipeline'; runsPerHour: number }
  /** Reads a whole vault on its rotation day. */
  | { kind: 'rotation' }
  /** Is configured, and not used any more. */
  | { kind: 'dormant' }
);

const TEAMS = 10;
const VAULTS_PER_TEAM = 2;
const PATHS_PER_VAULT = 250;
const NEW_HIRES = 6;
const PEOPLE = 120;
const MOVERS = 5;
const GROWING_SERVICES = 0.3;
const PROGRAMS = { service: 44, batch: 21, pipeline: 8, rotation: 1, dormant: 6 };
/** Addresses by country, in the data that the service uses. */
export const HOME = '193.0.6.139';
export const ABROAD = ['200.160.2.3', '202.12.29.175', '196.216.2.1', '1.1.1.2'] as const;

export function foundCompany(seed: number, days: number): Company {
  const draws = Draws.for(seed, 'company');
  const vaults = Array.from({ length: TEAMS * VAULTS_PER_TEAM }, (_, i): Vault => {
    const paths = Array.from({ length: PATHS_PER_VAULT }, (_, n) => `group-${n % 12}/secret-${n}`);
    return { name: `vault-${i}`, team: i % TEAMS, paths };
  });
  const secretsOf = (team: number) => vaults.filter((vault) => vault.team === team).flatMap(resourcesOf);
  const people = Array.from({ length: PEOPLE }, (_, i): Person => {
    const team = i % TEAMS;
    return {
      name: `person-${i}`,
      team,
      ip: HOME,
      usual: draws.some(secretsOf(team), draws.whole(6, 30)),
      readsPerDay: draws.whole(2, 9),
      fromDay: i < PEOPLE - NEW_HIRES ? 0 : draws.whole(10, days - 5),
      next:
        i < MOVERS ? { day: draws.whole(10, days - 5), usual: draws.some(secretsOf(team), draws.whole(6, 15)) } : null,
    };
  });
  const programs = (Object.keys(PROGRAMS) as Program['kind'][]).flatMap((kind) =>
    Array.from({ length: PROGRAMS[kind] }, (_, i) => newProgram(draws, kind, i, secretsOf, days)),
  );
  const rotated = draws.some(vaults, 2);
  const rotationDays = new Map(rotated.map((vault, i) => [Math.floor((days * (2 * i + 1)) / 4), vault]));
  return {
    seed,
    days,
    vaults,
    people,
    programs,
    holidays: new Set([draws.whole(12, 17), draws.whole(40, 46)]),
    rotationDays,
  };
}

function newProgram(
  draws: Draws,
  kind: Program['kind'],
  i: number,
  secretsOf: (team: number) => string[],
  days: number,
): Program {
  const team = draws.whole(0, TEAMS - 1);
  const base = { name: `${kind}-${i}`, team, ip: HOME, next: null };
  const secrets = (low: number, high: number) => draws.some(secretsOf(team), draws.whole(low, high));
  switch (kind) {
    case 'service':
      return {
        ...base,
        kind,
        secrets: secrets(3, 9),
        next: draws.chance(GROWING_SERVICES) ? { day: draws.whole(10, days - 5), secrets: secrets(1, 3) } : null,
        instances: draws.whole(1, 5),
        refreshHours: draws.pick([1, 4, 6, 12]),
        deploysPerDay: draws.pick([0.1, 0.3, 1]),
      };
    case 'batch':
      return {
        ...base,
        kind,
        secrets: secrets(4, 25),
        hour: draws.whole(0, 6),
        days: draws.pick(['daily', 'workdays', 'sundays']),
      };
    case 'pipeline':
      return { ...base, kind, secrets: secrets(8, 20), runsPerHour: draws.whole(1, 4) };
    default:
      return { ...base, kind, secrets: secrets(5, 15) };
  }
}

export function resourcesOf({ name, paths }: Vault): string[] {
  return paths.map((path) => `vault/${name}/${path}`);
}

/** Day 0 is a Monday. */
export function isWorkday({ holidays }: Pick<Company, 'holidays'>, day: number): boolean {
  return day % 7 < 5 && !holidays.has(day);
}
