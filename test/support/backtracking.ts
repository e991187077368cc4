import { type CharSet, JS, type NoParent } from 'refa';

/**
 * Whether a regular expression of JavaScript may take more than linear time, because its matcher backtracks. A pattern is refused if some text can be
 * read in ways whose number grows with its length: by two repetitions that share it, by one repetition in two ways, or by attempts that begin at
 * each position of it. What is refused may still be fast, because the rest of the pattern always fits; what is accepted is linear.
 *
 * The pattern becomes an automaton whose states are characters of the pattern that were just read, and walks over two or three copies of it find the
 * text (Weber and Seidl, "On the degree of ambiguity of finite automata").
 */
export function superLinear(source: string, flags: string): string | null {
  let found: string | null = null;
  for (const unrolledMax of UNROLLED_MAX) {
    const automaton = new Automaton(source, flags, unrolledMax);
    if (automaton.isTooLarge) return found ?? 'is too large to be checked';
    found = automaton.problem();
    if (found === null || automaton.isWhole) return found;
  }
  return found;
}

/** Bounded repetitions count as unbounded, which reads more, unless that is refused; then those up to so many are written out. */
const UNROLLED_MAX = [1, 40, 210];
/** How far a look-behind may reach. */
const BEHIND_MAX = 32;
const STATES_MAX = 4_000;
const PATHS_MAX = 20_000;
const PLACES_MAX = 4_000;

type Concatenation = NoParent<JS.ParseResult['expression']>['alternatives'][number];
type Element = Concatenation['elements'][number];

/** Sets of classes of characters, as bits. One more bit is the edge of the text. */
type Classes = bigint;

interface Condition {
  /** What may stand before. */
  readonly behind: Classes;
  readonly ahead: Classes;
}

interface Junction {
  readonly skips: { to: number; condition: Condition }[];
  /** At most one character is read here. */
  reads: { classes: Classes; to: number; part: string; isBounded: boolean } | null;
}

/** From a character to the next one. */
interface Step {
  readonly to: number;
  readonly behind: Classes;
  readonly classes: Classes;
}

class Automaton {
  isTooLarge = false;
  /** Whether no bounded repetition counts as unbounded. */
  isWhole = true;
  readonly #source: string;
  readonly #unrolledMax: number;
  readonly #isSearched: boolean;
  readonly #junctions: Junction[] = [];
  readonly #sets: CharSet[] = [];
  readonly #members: bigint[] = [];
  #classCount = 0;
  #all: Classes = 0n;
  #edge: Classes = 0n;
  readonly #end: number;
  readonly #steps = new Map<number, Step[]>();
  readonly #finals = new Map<number, Condition[]>();
  readonly #component = new Map<number, number>();
  readonly #before = new Map<number, number[]>();
  readonly #reachable = new Map<number, Set<number>>();
  readonly #following = new Map<number, readonly number[]>();
  readonly #numbered = new Map<Classes, readonly number[]>();
  readonly #readable = new Map<number, readonly number[]>();

  constructor(source: string, flags: string, unrolledMax: number) {
    this.#source = source;
    this.#unrolledMax = unrolledMax;
    this.#isSearched = !flags.includes('y');
    const { expression } = JS.Parser.fromLiteral({ source, flags: flags.replace('d', '') }).parse({
      backreferences: 'unknown',
    });
    this.#collectSets(expression.alternatives);
    this.#divide();
    const start = this.#junction();
    this.#end = this.#junction();
    this.#alternatives(expression.alternatives, start, this.#end, false);
    if (this.isTooLarge) return;
    this.#close(SEARCH, start);
    this.#junctions.forEach(({ reads }, no) => {
      if (reads !== null) this.#close(no, reads.to);
    });
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
    return `“${this.#junctions[state]?.reads?.part ?? ''}”`;
  }

  #junction(): number {
    if (this.#junctions.length > STATES_MAX && this.#unrolledMax > 1) this.isTooLarge = true;
    return this.#junctions.push({ skips: [], reads: null }) - 1;
  }

  #skip(from: number, to: number, condition: Partial<Condition> = {}): void {
    const always = this.#all | this.#edge;
    this.#junctions[from]?.skips.push({ to, condition: { behind: always, ahead: always, ...condition } });
  }

  #collectSets(alternatives: readonly Concatenation[]): void {
    for (const element of alternatives.flatMap(({ elements }) => elements)) {
      if (element.type === 'CharacterClass') this.#sets.push(element.characters);
      else if (element.type !== 'Unknown') this.#collectSets(element.alternatives);
    }
  }

  /** Characters that belong to the same sets are one class. */
  #divide(): void {
    const [first] = this.#sets;
    if (first === undefined) return;
    const starts = new Set([0]);
    for (const { min, max } of this.#sets.flatMap(({ ranges }) => ranges)) starts.add(min).add(max + 1);
    const classOf = new Map<string, number>();
    this.#members.push(...this.#sets.map(() => 0n));
    for (const start of starts) {
      if (start > first.maximum) continue;
      const holds = this.#sets.map((set) => set.has(start));
      const name = holds.map(Number).join('');
      const no = classOf.get(name) ?? classOf.size;
      classOf.set(name, no);
      holds.forEach((isIn, set) => {
        if (isIn) this.#members[set] = (this.#members[set] ?? 0n) | (1n << BigInt(no));
      });
    }
    this.#classCount = classOf.size;
    this.#all = (1n << BigInt(this.#classCount)) - 1n;
    this.#edge = 1n << BigInt(this.#classCount);
  }

  #classes(set: CharSet): Classes {
    return this.#members[this.#sets.indexOf(set)] ?? 0n;
  }

  #alternatives(alternatives: readonly Concatenation[], from: number, to: number, isBounded: boolean): void {
    for (const { elements } of alternatives) {
      let at = from;
      for (const element of elements) {
        if (this.isTooLarge) return;
        const next = this.#junction();
        this.#element(element, at, next, isBounded);
        at = next;
      }
      this.#skip(at, to);
    }
  }

  #element(element: Element, from: number, to: number, isBounded: boolean): void {
    if (element.type === 'CharacterClass') {
      const reads = this.#junction();
      this.#skip(from, reads);
      const { start = 0, end = 0 } = element.source ?? {};
      const part = this.#source.slice(start, end);
      const junction = this.#junctions[reads];
      if (junction) junction.reads = { classes: this.#classes(element.characters), to, part, isBounded };
    } else if (element.type === 'Alternation') {
      this.#alternatives(element.alternatives, from, to, isBounded);
    } else if (element.type === 'Quantifier') {
      this.#quantifier(element, from, to, isBounded);
    } else if (element.type === 'Assertion') {
      this.#assertion(element, from, to);
    } else {
      // A reference to what a group read: any text, of any length.
      throw new Error(`a reference to a group: ${this.#source}`);
    }
  }

  #quantifier(element: Element & { type: 'Quantifier' }, from: number, to: number, isBounded: boolean): void {
    const { alternatives, min, max } = element;
    if (max > this.#unrolledMax) {
      if (max !== Number.POSITIVE_INFINITY) this.isWhole = false;
      const [begin, end] = [this.#junction(), this.#junction()];
      this.#skip(from, begin);
      this.#alternatives(alternatives, begin, end, isBounded || max !== Number.POSITIVE_INFINITY);
      this.#skip(end, begin);
      this.#skip(end, to);
      if (min === 0) this.#skip(from, to);
      return;
    }
    let at = from;
    for (let count = 1; count <= max && !this.isTooLarge; count++) {
      const next = this.#junction();
      if (count > min) this.#skip(at, to);
      this.#alternatives(alternatives, at, next, isBounded);
      at = next;
    }
    this.#skip(at, to);
  }

  #assertion({ alternatives, kind, negate }: Element & { type: 'Assertion' }, from: number, to: number): void {
    const single = this.#singleCharacters(alternatives);
    if (single !== null) {
      const fits = negate ? (this.#all | this.#edge) & ~single : single;
      this.#skip(from, to, kind === 'ahead' ? { ahead: fits } : { behind: fits });
      return;
    }
    this.#skip(from, to);
    if (kind === 'behind') {
      if (hasLoop(alternatives)) throw new Error(`a repetition behind: ${this.#source}`);
      return;
    }
    // It is read beside the rest, and its end is not the end of the pattern.
    this.#alternatives(alternatives, from, this.#junction(), false);
  }

  #singleCharacters(alternatives: readonly Concatenation[]): Classes | null {
    let classes = 0n;
    for (const { elements } of alternatives) {
      const [only, ...rest] = elements;
      if (rest.length > 0 || only?.type !== 'CharacterClass') return null;
      classes |= this.#classes(only.characters);
    }
    return classes;
  }

  /** Finds every character that may be read next, once for each way to it. */
  #close(state: number, junction: number): void {
    const steps: Step[] = [];
    const finals: Condition[] = [];
    const path = new Set<number>();
    const own = state === SEARCH ? this.#all : (this.#junctions[state]?.reads?.classes ?? 0n);
    const visit = (no: number, behind: Classes, ahead: Classes): void => {
      if ((behind & own) === 0n || ahead === 0n || path.has(no) || this.isTooLarge) return;
      if (steps.length + finals.length > PATHS_MAX) this.isTooLarge = true;
      const { reads, skips } = this.#junctions[no] as Junction;
      if (no === this.#end) finals.push({ behind, ahead });
      if (reads !== null && (reads.classes & ahead) !== 0n) {
        steps.push({ to: no, behind, classes: reads.classes & ahead });
      }
      path.add(no);
      for (const { to, condition } of skips) visit(to, behind & condition.behind, ahead & condition.ahead);
      path.delete(no);
    };
    const always = this.#all | this.#edge;
    visit(junction, always, always);
    this.#steps.set(state, steps);
    this.#finals.set(state, finals);
  }

  /** Numbers the states from which one gets back to where one was: those that are reached in both directions share a number. */
  #findComponents(): void {
    for (const [from, steps] of this.#steps) {
      for (const { to } of steps) this.#before.set(to, [...(this.#before.get(to) ?? []), from]);
    }
    const finished: number[] = [];
    const seen = new Set<number>();
    for (const root of this.#steps.keys()) {
      const open = [{ state: root, isLeft: false }];
      for (let at = open.pop(); at !== undefined; at = open.pop()) {
        if (at.isLeft) finished.push(at.state);
        if (at.isLeft || seen.has(at.state)) continue;
        seen.add(at.state);
        open.push({ state: at.state, isLeft: true });
        for (const { to } of this.#steps.get(at.state) ?? []) open.push({ state: to, isLeft: false });
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
      const isRepeated = members.length > 1 || (this.#steps.get(root) ?? []).some(({ to }) => to === root);
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
    const reads = this.#junctions[state]?.reads;
    if (reads == null) return false;
    const always = this.#all | this.#edge;
    const repeats = (this.#steps.get(state) ?? []).filter((step) => step.to === state && step.behind === always);
    const own = reads.isBounded ? 0n : repeats.reduce((sum, { classes }) => sum | classes, 0n);
    const after = always & ~own;
    return (this.#finals.get(state) ?? []).some(
      ({ behind, ahead }) => (behind & reads.classes) === reads.classes && (ahead & after) === after,
    );
  }

  /** The states in which a character of one class may be read after one of another. */
  #next(state: number, behind: number, read: number): readonly number[] {
    const name = ((state + 1) * this.#classCount + behind) * this.#classCount + read;
    let next = this.#following.get(name);
    if (next === undefined) {
      const [before, now] = [1n << BigInt(behind), 1n << BigInt(read)];
      const steps = this.#steps.get(state) ?? [];
      next = steps.filter((one) => (one.behind & before) !== 0n && (one.classes & now) !== 0n).map(({ to }) => to);
      this.#following.set(name, next);
    }
    return next;
  }

  /** Whether the pattern fits here, if this character comes next. */
  #fits(state: number, behind: number, read: number): boolean {
    const finals = this.#finals.get(state) ?? [];
    if (finals.length === 0) return false;
    const [before, now] = [1n << BigInt(behind), 1n << BigInt(read)];
    return finals.some((one) => (one.behind & before) !== 0n && (one.ahead & now) !== 0n);
  }

  #classesOf(state: number): readonly number[] {
    return this.#numbers(state === SEARCH ? this.#all : (this.#junctions[state]?.reads?.classes ?? 0n));
  }

  #numbers(classes: Classes): readonly number[] {
    let numbers = this.#numbered.get(classes);
    if (numbers === undefined) {
      numbers = Array.from({ length: this.#classCount }, (_, no) => no).filter(
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
      numbers = this.#numbers((this.#steps.get(state) ?? []).reduce((sum, { classes }) => sum | classes, 0n));
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

/** The attempts that begin further on. */
const SEARCH = -1;

type Place = [behind: number, one: number, two: number, three: number];

function* combined(
  read: number,
  ones: readonly number[],
  twos: readonly number[],
  threes: readonly number[],
): Generator<Place> {
  for (const one of ones) for (const two of twos) for (const three of threes) yield [read, one, two, three];
}

function hasLoop(alternatives: readonly Concatenation[]): boolean {
  return alternatives.some(({ elements }) =>
    elements.some((element) => {
      if (element.type === 'CharacterClass' || element.type === 'Unknown') return false;
      return (element.type === 'Quantifier' && element.max > BEHIND_MAX) || hasLoop(element.alternatives);
    }),
  );
}
