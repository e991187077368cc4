import { inSlices, type NextTurn, nextIteration } from '../../../kernel/fairness/time-slice.ts';
import { type Candidate, candidateSteps } from './candidates.ts';
import { type Finding, KINDS, type Kind, merged } from './finding.ts';
import { scanSteps } from './scan.ts';

/** Says which of these texts are stored values. Nobody else learns which. */
export type FindStored = (values: readonly string[]) => Promise<ReadonlySet<string>>;

export type Counts = Partial<Record<Kind, number>>;

const PLACEHOLDER = new RegExp(`\\[(${KINDS.map((kind) => kind.toUpperCase()).join('|')})_(\\d{1,6})\\]`, 'g');

const STORED = 'stored-value';
/** Shorter text may be part of other words. */
const KNOWN_LENGTH_MIN = 8;

/**
 * Masks the texts of one conversation. The same value gets the same placeholder in all of them, in the order in which values first appear: a
 * conversation that is sent again with one more message is masked alike.
 */
export class Redaction {
  readonly #findStored: FindStored;
  readonly #nextTurn: NextTurn;
  readonly #numbers = new Map<string, number>();
  readonly #last: Record<Kind, number>;
  readonly #counts: Counts = {};
  /** What was found in this conversation, with its kind. */
  readonly #known = new Map<string, Kind>();
  #stored = 0;

  constructor(findStored: FindStored, nextTurn: NextTurn = nextIteration) {
    this.#findStored = findStored;
    this.#nextTurn = nextTurn;
    this.#last = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<Kind, number>;
  }

  /** How often something of each kind was masked. */
  get counts(): Counts {
    return { ...this.#counts };
  }

  /** How many of the masked values are stored in a vault. For the audit log only: callers could learn from it that they guessed one. */
  get stored(): number {
    return this.#stored;
  }

  async mask(text: string): Promise<string> {
    this.#skipUsedNumbers(text);
    return this.replace(text, await this.find(text));
  }

  /** Everything that must not leave. What was recognized once is masked wherever it stands, also where nothing says what it is. */
  async find(text: string): Promise<Finding[]> {
    const stored = await this.#storedIn(text);
    const findings = merged([...stored, ...(await inSlices(scanSteps(text), this.#nextTurn))]);
    for (const { start, end, kind } of findings) {
      if (end - start >= KNOWN_LENGTH_MIN) this.#known.set(text.slice(start, end), kind);
    }
    return merged([...findings, ...this.#repeated(text)]);
  }

  #repeated(text: string): Finding[] {
    const findings: Finding[] = [];
    for (const [value, kind] of this.#known) {
      for (let start = text.indexOf(value); start !== -1; start = text.indexOf(value, start + value.length))
        findings.push({ start, end: start + value.length, kind, rule: 'repeated-value' });
    }
    return findings;
  }

  replace(text: string, findings: readonly Finding[]): string {
    let masked = '';
    let after = 0;
    for (const { start, end, kind, rule } of findings) {
      if (rule === STORED) this.#stored++;
      masked += text.slice(after, start) + this.#placeholder(kind, text.slice(start, end));
      after = end;
    }
    return masked + text.slice(after);
  }

  async #storedIn(text: string): Promise<Finding[]> {
    const candidates = await inSlices(candidateSteps(text), this.#nextTurn);
    const stored = await this.#findStored([...new Set(candidates.map(({ value }) => value))]);
    if (stored.size === 0) return [];
    const found = candidates.filter(({ value }) => stored.has(value));
    return merged(found.map(({ start, end }: Candidate) => ({ start, end, kind: 'secret', rule: STORED })));
  }

  /** Placeholders of an earlier answer are part of the conversation: a new value must not get one of them. */
  #skipUsedNumbers(text: string): void {
    for (const [, name = '', number] of text.matchAll(PLACEHOLDER)) {
      const kind = name.toLowerCase() as Kind;
      this.#last[kind] = Math.max(this.#last[kind], Number(number));
    }
  }

  #placeholder(kind: Kind, value: string): string {
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
    const key = `${kind} ${value}`;
    const number = this.#numbers.get(key) ?? ++this.#last[kind];
    this.#numbers.set(key, number);
    return `[${kind.toUpperCase()}_${number}]`;
  }
}
