import { progressLine } from './drawing.ts';

/** Often enough for the eye, and rarely enough to cost nothing. */
const DRAWN_EVERY_MS = 100;
const CLEAR_LINE = '\r\u001b[K';
const WIDTH_DEFAULT = 80;

type Output = Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'>;

/** One part of what is done, with an end that may be unknown. */
export interface Part {
  title: string;
  /** What is counted, such as `rows`. */
  unit: string;
  total: number | null;
}

/** Shows on standard error how far a command is, in one line that is replaced. Where no terminal is, or a dumb one, nothing is written. */
export class ProgressBar {
  readonly #output: Output;
  readonly #now: () => number;
  readonly #isShown: boolean;
  #part: Part = { title: '', unit: '', total: null };
  #done = 0;
  #beganAt = 0;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #hasLine = false;

  constructor(output: Output = process.stderr, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#now = now;
    this.#isShown = output.isTTY === true && process.env['TERM'] !== 'dumb';
  }

  /** Whether it is worth while to find out how much there is to do. */
  get isShown(): boolean {
    return this.#isShown;
  }

  begin(part: Part): void {
    this.#part = part;
    this.#done = 0;
    this.#beganAt = this.#now();
    this.#drawnAt = Number.NEGATIVE_INFINITY;
    this.#draw();
  }

  /** How much of this part is done. */
  reach(done: number): void {
    this.#done = done;
    this.#draw();
  }

  /** Removes the line, so that what is written next stands where it was. */
  end(): void {
    if (this.#hasLine) this.#output.write(CLEAR_LINE);
    this.#hasLine = false;
  }

  #draw(): void {
    const now = this.#now();
    const isWhole = this.#done === this.#part.total;
    if (!this.#isShown || (now - this.#drawnAt < DRAWN_EVERY_MS && !isWhole)) return;
    this.#drawnAt = now;
    this.#hasLine = true;
    // The last column stays free: a terminal would go on to the next line.
    const width = (this.#output.columns || WIDTH_DEFAULT) - 1;
    const elapsedMs = now - this.#beganAt;
    this.#output.write(`${CLEAR_LINE}${progressLine({ ...this.#part, done: this.#done, elapsedMs }, width)}`);
  }
}

/** Shows how far `act` is, and removes the line also if it fails. */
export async function withProgress<T>(act: (progress: ProgressBar) => Promise<T>): Promise<T> {
  const progress = new ProgressBar();
  try {
    return await act(progress);
  } finally {
    progress.end();
  }
}
