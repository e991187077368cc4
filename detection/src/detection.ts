import { detectSteps, type Reading } from './detect.ts';
import { BLOCK_LENGTH_MAX } from './key-blocks.ts';
import { type Match, withoutOverlaps } from './match.ts';

/** So much of a text is searched at once. */
const WINDOW_LENGTH = 1024 * 1024;
/** The end of a window is searched again with what follows: a secret may go on there. */
const OVERLAP_LENGTH = 2 * BLOCK_LENGTH_MAX;
/** What was searched still says what follows it means: the name of a password may stand before its value. */
const CONTEXT_LENGTH = 512;

/**
 * Searches a text that arrives in pieces, of any length, in linear time and with bounded memory. Positions count from the beginning of the text;
 * matches come in their order and do not overlap.
 */
export class Detection {
  readonly #reading: Reading;
  #held = '';
  /** Where what is held begins in the text. */
  #offset = 0;
  /** Up to where matches were reported. */
  #reported = 0;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  push(piece: string): Match[] {
    this.#held += piece;
    return this.#held.length < WINDOW_LENGTH ? [] : this.#search(this.#cut());
  }

  end(): Match[] {
    return this.#search(this.#held.length);
  }

  /** The end of a line, far enough from the end. */
  #cut(): number {
    const last = this.#held.length - OVERLAP_LENGTH;
    const newline = this.#held.lastIndexOf('\n', last);
    return newline > CONTEXT_LENGTH ? newline + 1 : last;
  }

  #search(cut: number): Match[] {
    const matches: Match[] = [];
    for (const match of withoutOverlaps(detectAtOnce(this.#held, this.#reading))) {
      const [start, end] = [match.start + this.#offset, match.end + this.#offset];
      if (match.start >= cut || start < this.#reported) continue;
      matches.push({ ...match, start, end });
      this.#reported = end;
    }
    this.#reported = Math.max(this.#reported, this.#offset + cut);
    const from = Math.max(0, cut - CONTEXT_LENGTH);
    this.#held = this.#held.slice(from);
    this.#offset += from;
    return matches;
  }
}

/** Everything in a whole text that looks like a secret, in its order and without overlaps. */
export function detect(text: string, reading: Reading): Match[] {
  const detection = new Detection(reading);
  const matches: Match[] = [];
  for (let at = 0; at < text.length; at += WINDOW_LENGTH)
    for (const match of detection.push(text.slice(at, at + WINDOW_LENGTH))) matches.push(match);
  for (const match of detection.end()) matches.push(match);
  return matches;
}

function detectAtOnce(text: string, reading: Reading): Match[] {
  const steps = detectSteps(text, reading);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
