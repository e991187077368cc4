import { type Company, isWorkday, type Person, type Program, resourcesOf } from './company.ts';
import { Draws } from './random.ts';

/** One read of a secret, or one that was refused. */
export interface Access {
  /** Milliseconds since the start of the simulation. */
  at: number;
  actor: Pick<Person | Program, 'name'> & { kind: 'user' | 'app_connection' };
  resource: string;
  ip: string;
  isDenied: boolean;
}

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
/** Shares of a working day's reads by hour, with a break at noon. */
const WORK_HOURS = [8, 9, 9, 10, 10, 10, 11, 11, 12, 13, 14, 14, 14, 15, 15, 15, 16, 16, 17, 18];
const CURIOSITY = 0.03;
const TYPO = 0.01;
const ON_CALL_NIGHT = 0.25;
const TEAM_ON_CALL_WEEKS = 12;

/** What everybody does on one day, in the order of time. */
export function usualAccesses(company: Company, day: number): Access[] {
  const draws = Draws.for(company.seed, 'day', day);
  const accesses = [
    ...company.people.flatMap((person, i) => ofPerson(company, person, i, day, draws)),
    ...company.programs.flatMap((program) => ofProgram(company, program, day, draws)),
  ];
  return accesses.sort((a, b) => a.at - b.at);
}

function ofPerson(company: Company, person: Person, number: number, day: number, draws: Draws): Access[] {
  if (day < person.fromDay) return [];
  const read = (hour: number, resource: string) => accessBy('user', person, day, hour, resource, draws);
  const ofTeam = () => resourcesOf(draws.pick(company.vaults.filter(({ team }) => team === person.team)));
  const accesses: Access[] = [];
  const usual = person.next !== null && day >= person.next.day ? person.next.usual : person.usual;
  if (isWorkday(company, day)) {
    for (let i = draws.poisson(person.readsPerDay); i > 0; i--) {
      const resource = draws.chance(CURIOSITY) ? draws.pick(ofTeam()) : draws.pick(usual);
      const access = read(draws.pick(WORK_HOURS), resource);
      accesses.push(draws.chance(TYPO) ? { ...access, isDenied: true } : access);
    }
    // Who is new looks around.
    if (person.fromDay > 0 && day - person.fromDay < 2) {
      for (const resource of draws.some(ofTeam(), draws.whole(15, 30)))
        accesses.push(read(draws.pick(WORK_HOURS), resource));
    }
  }
  const isOnCall = Math.floor(day / 7) % TEAM_ON_CALL_WEEKS === Math.floor(number / 10) % TEAM_ON_CALL_WEEKS;
  if (isOnCall && draws.chance(ON_CALL_NIGHT)) {
    const hour = draws.whole(0, 5);
    for (const resource of draws.some(usual, draws.whole(2, 5))) accesses.push(read(hour, resource));
  }
  return accesses;
}

function ofProgram(company: Company, program: Program, day: number, draws: Draws): Access[] {
  const accesses: Access[] = [];
  const readAll = (hour: number, secrets: readonly string[], times = 1) => {
    for (const resource of secrets) {
      for (let n = 0; n < times; n++) accesses.push(accessBy('app_connection', program, day, hour, resource, draws));
    }
  };
  const works = isWorkday(company, day);
  const grown = program.next !== null && day >= program.next.day ? program.next.secrets : [];
  const secrets = [...program.secrets, ...grown];
  switch (program.kind) {
    case 'service':
      for (let hour = 0; hour < 24; hour++) {
        // Instances start at different times, so that some refresh an hour earlier or later.
        const due = Array.from({ length: program.instances }, (_, n) => (hour + n) % program.refreshHours === 0);
        readAll(hour, secrets, due.filter(Boolean).length);
      }
      if (works) {
        for (let n = draws.poisson(program.deploysPerDay); n > 0; n--) {
          readAll(draws.whole(9, 17), secrets, program.instances * draws.whole(1, 2));
        }
      }
      break;
    case 'batch':
      if (
        program.days === 'daily' ||
        (program.days === 'workdays' && day % 7 < 5) ||
        (program.days === 'sundays' && day % 7 === 6)
      ) {
        readAll(program.hour, secrets, draws.chance(0.05) ? 2 : 1);
      }
      break;
    case 'pipeline':
      for (let hour = 8; works && hour < 19; hour++) {
        for (let n = draws.poisson(program.runsPerHour); n > 0; n--) readAll(hour, draws.some(secrets, 6));
      }
      break;
    case 'rotation': {
      const vault = company.rotationDays.get(day);
      if (vault !== undefined) readAll(10, resourcesOf(vault));
      break;
    }
    case 'dormant':
      break;
  }
  return accesses;
}

/** At some moment of an hour. */
export function accessBy(
  kind: Access['actor']['kind'],
  { name, ip }: Pick<Person, 'name' | 'ip'>,
  day: number,
  hour: number,
  resource: string,
  draws: Draws,
): Access {
  const at = day * DAY + hour * HOUR + draws.whole(0, HOUR - 1);
  return { at, actor: { kind, name }, resource, ip, isDenied: false };
}
