import { UnreadableInputError } from './log.ts';

const LF = 0x0a;
/** Longer lines are refused: a file without a line break must not fill the memory. */
const LINE_BYTES_MAX = 256 * 1024 * 1024;

/**
 * The lines of a log. Only LF ends a line: `node:readline` also ends one at CR, U+2028 and U+2029, which JSON texts contain unescaped, so that a name
 * in the log could break its own entry in two. A read error rejects the iteration, so that it is not mistaken for the end of the log.
 */
export async function* linesOf(
  input: AsyncIterable<Buffer | string>,
  bytesMax: number = LINE_BYTES_MAX,
): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf(input)) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      parts.push(chunk.subarray(start, end));
      yield Buffer.concat(parts).toString('utf8');
      parts = [];
      size = 0;
      start = end + 1;
    }
    size += chunk.length - start;
    if (size > bytesMax) throw new UnreadableInputError(`the log has a line of more than ${bytesMax} bytes`);
    parts.push(chunk.subarray(start));
  }
  if (size > 0) yield Buffer.concat(parts).toString('utf8');
}

async function* chunksOf(input: AsyncIterable<Buffer | string>): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of input) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  } catch (error) {
    throw new UnreadableInputError(`the log cannot be read: ${(error as Error).message}`);
  }
}
