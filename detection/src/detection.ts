import { detectSteps, type Reading } from './detect.ts';
import { BLOCK_LENGTH_MAX } from './key-blocks.ts';
import { type Match, withoutOverlaps } from './match.ts';

/** So much of a text is searched at once. */
const WINDOW_LENGTH = 1024 * 1024;
/** The end of a window is searched again with what follows: a secret, or a certificate with text that looks random, may go on there. */
const OVERLAP_LENGTH = 2 * BLOCK_LENGTH_MAX;

/**
 * Searches a text that arrives in pieces, of any length, in linear time and with bounded memory. Positions count from the beginning of the text;
 * matches come in their order and do not overlap. How the text is cut into pieces changes nothing, because the windows do not depend on it.
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
    const matches: Match[] = [];
    while (this.#held.length >= WINDOW_LENGTH) {
      const window = this.#held.slice(0, WINDOW_LENGTH);
      const cut = afterLine(window, WINDOW_LENGTH - OVERLAP_LENGTH);
      for (const match of this.#search(window, cut)) matches.push(match);
      this.#passTo(afterLine(window, cut - OVERLAP_LENGTH));
    }
    return matches;
  }

  end(): Match[] {
    const matches = this.#search(this.#held, this.#held.length);
    this.#passTo(this.#held.length);
    return matches;
  }

  /** The matches that begin before a position. */
  #search(window: string, cut: number): Match[] {
    const matches: Match[] = [];
    for (const match of withoutOverlaps(detectAtOnce(window, this.#reading))) {
      const [start, end] = [match.start + this.#offset, match.end + this.#offset];
      if (match.start >= cut || start < this.#reported) continue;
      matches.push({ ...match, start, end });
      this.#reported = end;
    }
    this.#reported = Math.max(this.#reported, this.#offset + cut);
    return matches;
  }

  #passTo(position: number): void {
    this.#held = this.#held.slice(position);
    this.#offset += position;
  }
}

/** The end of the last line before a position, or the position itself if there is none near it. */
function afterLine(text: string, position: number): number {
  const newline = text.lastIndexOf('\n', position);
  return newline > position - OVERLAP_LENGTH ? newline + 1 : position;
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
