import { type CharSet, JS, type NoParent } from 'refa';

/** How far a look-behind may reach. */
const BEHIND_MAX = 32;
const STATES_MAX = 4_000;
const PATHS_MAX = 20_000;

type Concatenation = NoParent<JS.ParseResult['expression']>['alternatives'][number];
type Element = Concatenation['elements'][number];

/** Sets of classes of characters, as bits. One more bit is the edge of the text. */
export type Classes = bigint;

export interface Condition {
  /** What may stand before. */
  readonly behind: Classes;
  readonly ahead: Classes;
}

/** One character of the pattern. */
export interface Read {
  readonly classes: Classes;
  readonly to: number;
  /** As it is written. */
  readonly part: string;
  /** Whether it stands in a repetition that is bounded, and counts as unbounded. */
  readonly isBounded: boolean;
}

interface Junction {
  readonly skips: { to: number; condition: Condition }[];
  /** At most one character is read here. */
  reads: Read | null;
}

/** From a character to the next one. */
export interface Step {
  readonly to: number;
  readonly behind: Classes;
  readonly classes: Classes;
}

/** The state before anything of the pattern was read: the attempts that begin further on. */
export const SEARCH = -1;

/** A pattern as an automaton, whose states are characters of the pattern that were just read. */
export class PatternAutomaton {
  isTooLarge = false;
  /** Whether no bounded repetition counts as unbounded. */
  isWhole = true;
  /** How many classes of characters the pattern tells apart. */
  classCount = 0;
  /** All of them. */
  all: Classes = 0n;
  edge: Classes = 0n;
  /** What may be read after each state. */
  readonly steps = new Map<number, readonly Step[]>();
  /** Where the pattern may end after each state. */
  readonly finals = new Map<number, readonly Condition[]>();
  readonly #source: string;
  readonly #unrolledMax: number;
  readonly #junctions: Junction[] = [];
  readonly #sets: CharSet[] = [];
  readonly #members: bigint[] = [];
  readonly #end: number;

  /** Repetitions of more than `unrolledMax` count as unbounded. */
  constructor(source: string, flags: string, unrolledMax: number) {
    this.#source = source;
    this.#unrolledMax = unrolledMax;
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
  }

  /** What was read last in a state; null before anything was. */
  readIn(state: number): Read | null {
    return this.#junctions[state]?.reads ?? null;
  }

  /** The characters of which one was read last in a state. */
  classesIn(state: number): Classes {
    return state === SEARCH ? this.all : (this.readIn(state)?.classes ?? 0n);
  }

  #junction(): number {
    if (this.#junctions.length > STATES_MAX && this.#unrolledMax > 1) this.isTooLarge = true;
    return this.#junctions.push({ skips: [], reads: null }) - 1;
  }

  #skip(from: number, to: number, condition: Partial<Condition> = {}): void {
    const always = this.all | this.edge;
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
    this.classCount = classOf.size;
    this.all = (1n << BigInt(this.classCount)) - 1n;
    this.edge = 1n << BigInt(this.classCount);
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
      const fits = negate ? (this.all | this.edge) & ~single : single;
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
    const own = this.classesIn(state);
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
    const always = this.all | this.edge;
    visit(junction, always, always);
    this.steps.set(state, steps);
    this.finals.set(state, finals);
  }
}

function hasLoop(alternatives: readonly Concatenation[]): boolean {
  return alternatives.some(({ elements }) =>
    elements.some((element) => {
      if (element.type === 'CharacterClass' || element.type === 'Unknown') return false;
      return (element.type === 'Quantifier' && element.max > BEHIND_MAX) || hasLoop(element.alternatives);
    }),
  );
}
