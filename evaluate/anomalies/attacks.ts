import { ABROAD, type Company, type Person, type Program, resourcesOf } from './company.ts';
import { Draws } from './random.ts';
import { type Access, accessBy, DAY } from './traffic.ts';

export type AttackKind =
  | 'slow_exfiltration'
  | 'burst'
  | 'new_country'
  | 'night_reads'
  | 'credential_sharing'
  | 'creeping_membership'
  | 'dormant_revived';

/** An attack, with everything that it did: a report about one of its resources, or its actor, in time detects it. */
export interface Attack {
  id: string;
  kind: AttackKind;
  /** Milliseconds since the start of the simulation. */
  from: number;
  to: number;
  actor: string;
  resources: ReadonlySet<string>;
  accesses: readonly Access[];
  /** For creeping membership: the vault, and the people who are added to it, by day. */
  members: readonly { vault: string; person: string; day: number }[];
}

const OF_EACH_KIND = 2;
/** Models need some weeks of history. */
const FIRST_DAY = 33;

/** The attacks on a company. Their days and victims follow from the seed. */
export function attacksOn(company: Company): Attack[] {
  const kinds = Object.keys(MAKERS) as AttackKind[];
  return kinds.flatMap((kind) =>
    Array.from({ length: OF_EACH_KIND }, (_, i) => {
      const draws = Draws.for(company.seed, 'attack', kind, i);
      const day = draws.whole(FIRST_DAY, company.days - 12);
      const { accesses = [], members = [], actor } = MAKERS[kind](company, day, draws);
      const times = [...accesses.map(({ at }) => at), ...members.map(({ day: added }) => added * DAY)];
      return {
        id: `${kind}-${i}`,
        kind,
        from: times.reduce((a, b) => Math.min(a, b)),
        // A member stays in a vault until somebody looks.
        to: members.length > 0 ? company.days * DAY : times.reduce((a, b) => Math.max(a, b)),
        actor,
        resources: new Set([
          ...accesses.map(({ resource }) => resource),
          ...members.map(({ vault }) => `vault/${vault}`),
        ]),
        accesses: accesses.sort((a, b) => a.at - b.at),
        members,
      };
    }),
  );
}

interface Made {
  actor: string;
  accesses?: Access[];
  members?: Attack['members'];
}

const MAKERS: Record<AttackKind, (company: Company, day: number, draws: Draws) => Made> = {
  /** An insider takes some secrets of another team's vault each day, during work, a few times each. */
  slow_exfiltration(company, day, draws) {
    const thief = anyPerson(company, draws);
    const victim = draws.pick(company.vaults.filter(({ team }) => team !== thief.team));
    const loot = draws.some(resourcesOf(victim), 120);
    const accesses = loot.flatMap((resource, i) =>
      Array.from({ length: draws.whole(1, 3) }, () =>
        accessBy('user', thief, day + Math.floor(i / 15), draws.whole(9, 17), resource, draws),
      ),
    );
    return { actor: thief.name, accesses };
  },
  /** A stolen token reads one secret again and again. */
  burst(company, day, draws) {
    const thief = anyPerson(company, draws);
    const resource = draws.pick(thief.usual);
    const hour = draws.whole(8, 20);
    const accesses = Array.from({ length: draws.whole(60, 200) }, () =>
      accessBy('user', thief, day, hour, resource, draws),
    );
    return { actor: thief.name, accesses };
  },
  /** The credential of a program is used in another country, as the program uses it. */
  new_country(company, day, draws) {
    const program = anyService(company, draws);
    const thief = { ...program, ip: draws.pick(ABROAD) };
    const accesses = [0, 1, 2].flatMap((hour) =>
      program.secrets.map((resource) => accessBy('app_connection', thief, day, 10 + hour, resource, draws)),
    );
    return { actor: program.name, accesses };
  },
  /** Somebody who never works at night reads what they may, three nights long. */
  night_reads(company, day, draws) {
    const thief = anyPerson(company, draws);
    const ofTeam = company.vaults.filter(({ team }) => team === thief.team).flatMap(resourcesOf);
    const loot = draws.some(ofTeam, draws.whole(20, 40));
    const accesses = [0, 1, 2].flatMap((night) =>
      loot.flatMap((resource) => [2, 3].map((hour) => accessBy('user', thief, day + night, hour, resource, draws))),
    );
    return { actor: thief.name, accesses };
  },
  /** A program's credential is given to others, who use it beside the program, one of them abroad. */
  credential_sharing(company, day, draws) {
    const program = anyService(company, draws);
    const users = [program, { ...program, ip: draws.pick(ABROAD) }];
    const accesses = [0, 1].flatMap((later) =>
      users.flatMap((user) =>
        program.secrets.flatMap((resource) =>
          Array.from({ length: draws.whole(6, 12) }, () =>
            accessBy('app_connection', user, day + later, draws.whole(8, 18), resource, draws),
          ),
        ),
      ),
    );
    return { actor: program.name, accesses };
  },
  /** A vault gets more and more members, and nobody reviews the list. They were added long before the log begins. */
  creeping_membership(company, _, draws) {
    const vault = draws.pick(company.vaults);
    const outsiders = draws.some(
      company.people.filter(({ team, fromDay }) => team !== vault.team && fromDay === 0),
      14,
    );
    const members = outsiders.map(({ name }, i) => ({ vault: vault.name, person: name, day: -100 + i * 7 }));
    return { actor: '', members };
  },
  /** A connection that nobody used for long is used again. */
  dormant_revived(company, day, draws) {
    const program = draws.pick(company.programs.filter(({ kind }) => kind === 'dormant'));
    const accesses = program.secrets.flatMap((resource) =>
      Array.from({ length: draws.whole(3, 8) }, () =>
        accessBy('app_connection', program, day, draws.whole(1, 4), resource, draws),
      ),
    );
    return { actor: program.name, accesses };
  },
};

function anyPerson(company: Company, draws: Draws): Person {
  return draws.pick(company.people.filter(({ fromDay }) => fromDay === 0));
}

function anyService(company: Company, draws: Draws): Program {
  return draws.pick(company.programs.filter(({ kind }) => kind === 'service'));
}
