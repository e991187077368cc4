import { RE2JS } from 're2js';
import { BoundedCache } from './bounded-cache.ts';

export const PATTERN_LENGTH_MAX = 512;
export const PATTERNS_MAX = 64;
/** Steps per character over all patterns of a list, so that the work is bounded before there is any text to match. */
const PROGRAM_SIZE_MAX = 4000;
const COMPILED_BYTES_MAX = 16 * 1024 * 1024;
/** Memory for one step of a program, including what the matcher prepares for it. */
const STEP_BYTES = 512;
const PROGRAM_BYTES = 12 * 1024;

export type Matches = (text: string) => boolean;

/** The pattern cannot be used. The message says why without repeating the pattern. */
export class BadPattern extends Error {
  override readonly name = 'BadPattern';
  readonly index: number;

  constructor(index: number, reason: string) {
    super(reason);
    this.index = index;
  }
}

interface Compiled {
  readonly matches: Matches;
  readonly bytes: number;
}

const compiled = new BoundedCache<string, Compiled>({
  bytesMax: COMPILED_BYTES_MAX,
  bytesOf: ({ bytes }, name) => bytes + 4 * name.length,
});

/** Returns whether one of the patterns matches the whole text, in time linear in its length. An empty list matches no text. */
export function anyPattern(patterns: readonly string[]): Matches {
  const name = JSON.stringify(patterns);
  let known = compiled.get(name);
  if (known === undefined) {
    known = compile(patterns);
    compiled.set(name, known);
  }
  return known.matches;
}

function compile(patterns: readonly string[]): Compiled {
  if (patterns.length > PATTERNS_MAX) throw new BadPattern(PATTERNS_MAX, 'there are too many patterns');
  let steps = 0;
  const programs = patterns.map((pattern, index) => {
    if (pattern === '' || pattern.length > PATTERN_LENGTH_MAX) {
      throw new BadPattern(index, `must have 1 to ${PATTERN_LENGTH_MAX} characters`);
    }
    const program = programOf(pattern, index);
    steps += program.programSize();
    if (steps > PROGRAM_SIZE_MAX) throw new BadPattern(index, 'is too expensive to match: use fewer repetitions');
    return program;
  });
  const bytes = programs.length * PROGRAM_BYTES + steps * STEP_BYTES;
  return { matches: (text) => programs.some((program) => program.matches(text)), bytes };
}

/** RE2 guarantees linear time for every pattern and has no backreferences. */
function programOf(pattern: string, index: number): RE2JS {
  try {
    // The pattern is compiled alone first: `a)|(?:b` is invalid, but in the group below it would become two patterns with one anchor each.
    RE2JS.compile(pattern);
    return RE2JS.compile(`^(?:${pattern})$`);
  } catch {
    throw new BadPattern(index, 'is not a regular expression of the RE2 syntax');
  }
}
