import { type Classes, PatternAutomaton, SEARCH } from './pattern-automaton.ts';

/**
 * Whether a regular expression of JavaScript may take more than linear time, because its matcher backtracks. A pattern is refused if some text can be
 * read in ways whose number grows with its length: by two repetitions that share it, by one repetition in two ways, or by attempts that begin at
 * each position of it. What is refused may still be fast, because the rest of the pattern always fits; what is accepted is linear.
 *
 * The pattern becomes an automaton, and walks over two or three copies of it find the text
 * (Weber and Seidl, "On the degree of ambiguity of finite automata").
 */
export function superLinear(source: string, flags: string): string | null {
  let found: string | null = null;
  for (const unrolledMax of UNROLLED_MAX) {
    const automaton = new PatternAutomaton(source, flags, unrolledMax);
    if (automaton.isTooLarge) return found ?? 'is too large to be checked';
    found = new Walks(automaton, !flags.includes('y')).problem();
    if (found === null || automaton.isWhole) return found;
  }
  return found;
}

/** Bounded repetitions count as unbounded, which reads more, unless that is refused; then those up to so many are written out. */
const UNROLLED_MAX = [1, 40, 210];
const PLACES_MAX = 4_000;

/** The ways in which several copies of an automaton read one text. */
class Walks {
  readonly #automaton: PatternAutomaton;
  readonly #isSearched: boolean;
  readonly #component = new Map<number, number>();
  readonly #before = new Map<number, number[]>();
  readonly #reachable = new Map<number, Set<number>>();
  readonly #following = new Map<number, readonly number[]>();
  readonly #numbered = new Map<Classes, readonly number[]>();
  readonly #readable = new Map<number, readonly number[]>();

  constructor(automaton: PatternAutomaton, isSearched: boolean) {
    this.#automaton = automaton;
    this.#isSearched = isSearched;
    this.#findComponents();
  }

  problem(): string | null {
    const repeated = [...this.#component.keys()].filter((no) => !this.#isSettled(no));
    for (const state of repeated) {
      if (this.#hasTwoCycles(state)) return `${this.#part(state)} reads the same text in more than one way`;
    }
    if (this.#isSearched) {
      for (const state of repeated) {
        if (this.#shares(SEARCH, state)) return `${this.#part(state)} is searched for again from each position`;
      }
    }
    for (const first of this.#component.keys()) {
      for (const second of repeated) {
        if (first !== second && this.#shares(first, second)) {
          return `${this.#part(first)} and then ${this.#part(second)} read the same text`;
        }
      }
    }
    return null;
  }

  #part(state: number): string {
    return `“${this.#automaton.readIn(state)?.part ?? ''}”`;
  }

  /** Numbers the states from which one gets back to where one was: those that are reached in both directions share a number. */
  #findComponents(): void {
    for (const [from, steps] of this.#automaton.steps) {
      for (const { to } of steps) this.#before.set(to, [...(this.#before.get(to) ?? []), from]);
    }
    const finished: number[] = [];
    const seen = new Set<number>();
    for (const root of this.#automaton.steps.keys()) {
      const open = [{ state: root, isLeft: false }];
      for (let at = open.pop(); at !== undefined; at = open.pop()) {
        if (at.isLeft) finished.push(at.state);
        if (at.isLeft || seen.has(at.state)) continue;
        seen.add(at.state);
        open.push({ state: at.state, isLeft: true });
        for (const { to } of this.#automaton.steps.get(at.state) ?? []) open.push({ state: to, isLeft: false });
      }
    }
    const numbered = new Set<number>();
    for (const root of finished.reverse()) {
      const members: number[] = [];
      const open = [root];
      for (let state = open.pop(); state !== undefined; state = open.pop()) {
        if (numbered.has(state)) continue;
        numbered.add(state);
        members.push(state);
        open.push(...(this.#before.get(state) ?? []));
      }
      const isRepeated = members.length > 1 || (this.#automaton.steps.get(root) ?? []).some(({ to }) => to === root);
      if (isRepeated) for (const state of members) this.#component.set(state, root);
    }
  }

  #reaching(state: number): Set<number> {
    let found = this.#reachable.get(state);
    if (found !== undefined) return found;
    found = new Set<number>();
    const open = [state];
    for (let to = open.pop(); to !== undefined; to = open.pop()) {
      for (const from of this.#before.get(to) ?? []) {
        if (found.has(from)) continue;
        found.add(from);
        open.push(from);
      }
    }
    this.#reachable.set(state, found);
    return found;
  }

  /** Whether the pattern fits once this was read for as long as possible, so that the matcher never comes back. */
  #isSettled(state: number): boolean {
    const reads = this.#automaton.readIn(state);
    if (reads === null) return false;
    const always = this.#automaton.all | this.#automaton.edge;
    const repeats = (this.#automaton.steps.get(state) ?? []).filter(
      (step) => step.to === state && step.behind === always,
    );
    const own = reads.isBounded ? 0n : repeats.reduce((sum, { classes }) => sum | classes, 0n);
    const after = always & ~own;
    return (this.#automaton.finals.get(state) ?? []).some(
      ({ behind, ahead }) => (behind & reads.classes) === reads.classes && (ahead & after) === after,
    );
  }

  /** The states in which a character of one class may be read after one of another. */
  #next(state: number, behind: number, read: number): readonly number[] {
    const name = ((state + 1) * this.#automaton.classCount + behind) * this.#automaton.classCount + read;
    let next = this.#following.get(name);
    if (next === undefined) {
      const [before, now] = [1n << BigInt(behind), 1n << BigInt(read)];
      const steps = this.#automaton.steps.get(state) ?? [];
      next = steps.filter((one) => (one.behind & before) !== 0n && (one.classes & now) !== 0n).map(({ to }) => to);
      this.#following.set(name, next);
    }
    return next;
  }

  /** Whether the pattern fits here, if this character comes next. */
  #fits(state: number, behind: number, read: number): boolean {
    const finals = this.#automaton.finals.get(state) ?? [];
    if (finals.length === 0) return false;
    const [before, now] = [1n << BigInt(behind), 1n << BigInt(read)];
    return finals.some((one) => (one.behind & before) !== 0n && (one.ahead & now) !== 0n);
  }

  #classesOf(state: number): readonly number[] {
    return this.#numbers(this.#automaton.classesIn(state));
  }

  #numbers(classes: Classes): readonly number[] {
    let numbers = this.#numbered.get(classes);
    if (numbers === undefined) {
      numbers = Array.from({ length: this.#automaton.classCount }, (_, no) => no).filter(
        (no) => (classes >> BigInt(no)) % 2n === 1n,
      );
      this.#numbered.set(classes, numbers);
    }
    return numbers;
  }

  /** The classes that may be read after this state, so that others need not be tried. */
  #readAfter(state: number): readonly number[] {
    let numbers = this.#readable.get(state);
    if (numbers === undefined) {
      numbers = this.#numbers((this.#automaton.steps.get(state) ?? []).reduce((sum, { classes }) => sum | classes, 0n));
      this.#readable.set(state, numbers);
    }
    return numbers;
  }

  /** Whether a text leads from `first` to itself, from there to `second`, and from this to itself. */
  #shares(first: number, second: number): boolean {
    if (!this.#leads(first, second)) return false;
    const shared = this.#classesOf(second).filter((no) => this.#classesOf(first).includes(no));
    return shared.some((no) => this.#walks([no, first, first, second], [no, first, second, second]));
  }

  #leads(from: number, to: number): boolean {
    return this.#reaching(to).has(from);
  }

  #walks(from: Place, target: Place): boolean {
    return this.#walksPast(from, target, false) && this.#walksPast(from, target, true);
  }

  /**
   * With `isUnfit`, over texts after which the pattern does not fit, however it goes on: after others, the matcher never comes back to where `second`
   * begins. That takes longer.
   */
  #walksPast(from: Place, target: Place, isUnfit: boolean): boolean {
    const [, first, , second] = from;
    const seen = new Set<string>();
    const open: { place: Place; reached: readonly number[] }[] = [{ place: from, reached: isUnfit ? [second] : [] }];
    const within = (state: number, whole: number) => this.#component.get(state) === this.#component.get(whole);
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const [behind, one, two, three] = at.place;
      for (const read of this.#readAfter(three)) {
        const thirds = this.#next(three, behind, read).filter((state) => within(state, second));
        if (thirds.length === 0) continue;
        const firsts =
          one === SEARCH ? [SEARCH] : this.#next(one, behind, read).filter((state) => within(state, first));
        if (firsts.length === 0 || at.reached.some((state) => this.#fits(state, behind, read))) continue;
        const reached = [...new Set(at.reached.flatMap((state) => this.#next(state, behind, read)))].sort();
        const next = this.#next(two, behind, read).filter((state) => this.#leads(state, second));
        const seconds = two === SEARCH ? [SEARCH, ...next] : next;
        for (const place of combined(read, firsts, seconds, thirds)) {
          if (place.every((part, no) => part === target[no])) return true;
          const name = `${place.join()}:${reached.join()}`;
          if (seen.has(name)) continue;
          if (seen.size > PLACES_MAX) return true;
          seen.add(name);
          open.push({ place, reached });
        }
      }
    }
    return false;
  }

  /** Whether a text leads from a state to itself in two ways. */
  #hasTwoCycles(state: number): boolean {
    return this.#classesOf(state).some((no) => {
      const seen = new Set<string>();
      const open: [behind: number, one: number, two: number, differ: boolean][] = [[no, state, state, false]];
      for (let place = open.pop(); place !== undefined; place = open.pop()) {
        const [behind, one, two, differ] = place;
        for (const read of this.#readAfter(one)) {
          const within = (next: number) => this.#component.get(next) === this.#component.get(state);
          const ones = this.#next(one, behind, read).filter(within);
          const twos = one === two && !differ ? ones : this.#next(two, behind, read).filter(within);
          for (const [i, a] of ones.entries()) {
            for (const [j, b] of twos.entries()) {
              const nowDiffer = differ || a !== b || (one === two && i !== j);
              if (nowDiffer && read === no && a === state && b === state) return true;
              const name = `${read},${a},${b},${nowDiffer}`;
              if (seen.has(name)) continue;
              seen.add(name);
              open.push([read, a, b, nowDiffer]);
            }
          }
        }
      }
      return false;
    });
  }
}

type Place = [behind: number, one: number, two: number, three: number];

function* combined(
  read: number,
  ones: readonly number[],
  twos: readonly number[],
  threes: readonly number[],
): Generator<Place> {
  for (const one of ones) for (const two of twos) for (const three of threes) yield [read, one, two, three];
}
