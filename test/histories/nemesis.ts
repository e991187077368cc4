import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../support/random.ts';

const SECOND_MS = 1000;
/** Between faults, so that what was interrupted goes on. */
const PAUSE_SECONDS = { min: 0.5, max: 2 };
const TWO_AT_ONCE = 0.25;

export interface FaultKind {
  name: string;
  targets: readonly string[];
  seconds: { min: number; max: number };
  /** No other fault is begun beside it. */
  isAlone?: boolean;
  /** Begins it, and returns what ends it. */
  begin(target: string, random: Random): Promise<() => Promise<void>>;
}

export interface Fault {
  kind: FaultKind;
  target: string;
  seconds: number;
  /** For choices of the fault itself. */
  seed: number;
}

/** Faults in the order in which a seed brings them: every kind once, then every kind again, and some of them two at once, on different targets. */
export function* faultsOf(kinds: readonly FaultKind[], seed: number): Generator<Fault[], never> {
  const random = new Random(seed);
  for (;;) {
    for (const kind of random.shuffled(kinds)) {
      const first = faultOf(random, kind, kind.targets);
      const isDouble = random.chance(TWO_AT_ONCE) && kind.isAlone !== true;
      const others = kinds.filter((one) => one !== kind && one.isAlone !== true);
      const other = isDouble && others.length > 0 ? random.pick(others) : null;
      const targets = other?.targets.filter((target) => target !== first.target) ?? [];
      yield other === null || targets.length === 0 ? [first] : [first, faultOf(random, other, targets)];
    }
  }
}

function faultOf(random: Random, kind: FaultKind, targets: readonly string[]): Fault {
  const { min, max } = kind.seconds;
  const seconds = min + random.next() * (max - min);
  return { kind, target: random.pick(targets), seconds, seed: random.integer(0, 2 ** 30) };
}

/** Brings the faults of a seed one after the other, and ends each. */
export class Nemesis {
  /** What was begun, and when, by `performance.now()`. */
  readonly begun: { at: number; text: string; kind: string }[] = [];
  readonly #faults: Iterator<Fault[], never>;
  readonly #pauses: Random;

  constructor(kinds: readonly FaultKind[], seed: number) {
    this.#faults = faultsOf(kinds, seed);
    this.#pauses = new Random(seed);
  }

  /** The last faults are ended too, which may take longer. */
  async run(seconds: number): Promise<void> {
    const until = performance.now() + seconds * SECOND_MS;
    while (performance.now() < until) {
      const faults = this.#faults.next().value;
      await Promise.all(faults.map((fault) => this.bring(fault)));
      const { min, max } = PAUSE_SECONDS;
      await sleep((min + this.#pauses.next() * (max - min)) * SECOND_MS);
    }
  }

  async bring({ kind, target, seconds, seed }: Fault): Promise<void> {
    const text = `${kind.name} of ${target} for ${seconds.toFixed(1)} s`;
    this.begun.push({ at: performance.now(), text, kind: kind.name });
    const end = await kind.begin(target, new Random(seed));
    await sleep(seconds * SECOND_MS);
    await end();
  }
}
