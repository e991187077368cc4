const LINE_END = Buffer.from('\r\n');
const HEADER_END = Buffer.from('\r\n\r\n');
const LENGTH = Buffer.from('ength: ');
const LENGTH_NAME = /\r\ncontent-l$/i;
const CHUNKED = Buffer.from('hunked\r\n');
/** How a body in chunks ends. Nothing follows it, since a connection waits for an answer before it asks again. */
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');
const [CR, ZERO, NINE] = [13, 48, 57];

/** Tells when an answer is whole, looking at no more of it than that takes: a client that reads more measures itself. */
export class AnswerReader {
  status = 0;
  /** Of the last answer, as it came: chunks with what is around them. */
  bodyBytes = 0;
  /** The beginning of a header whose end has not come yet. */
  #head: Buffer | null = null;
  /** Bytes of the body that are still to come; infinite if it comes in chunks; null before the header. */
  #left: number | null = null;
  #tail = LINE_END;

  /** Whether the answer ends with this. The bytes may be used for something else afterwards. */
  push(chunk: Buffer): boolean {
    let body = chunk;
    if (this.#left === null) {
      const data = this.#head === null ? chunk : Buffer.concat([this.#head, chunk]);
      const end = data.indexOf(HEADER_END);
      if (end === -1) {
        this.#head = Buffer.from(data);
        return false;
      }
      this.#head = null;
      this.status = (data.readUInt8(9) - ZERO) * 100 + (data.readUInt8(10) - ZERO) * 10 + (data.readUInt8(11) - ZERO);
      this.#left = this.status === 204 ? 0 : bodyLength(data, end);
      body = data.subarray(end + HEADER_END.length);
      this.bodyBytes = 0;
    }
    this.bodyBytes += body.length;
    const isWhole = this.#left === Infinity ? this.#endsHere(body) : this.#isAllHere(body.length);
    if (isWhole) this.#left = null;
    return isWhole;
  }

  #isAllHere(length: number): boolean {
    this.#left = Number(this.#left) - length;
    return this.#left <= 0;
  }

  #endsHere(body: Buffer): boolean {
    const last = Buffer.concat([this.#tail, body.subarray(-LAST_CHUNK.length)]).subarray(-LAST_CHUNK.length);
    const isWhole = last.equals(LAST_CHUNK);
    this.#tail = isWhole ? LINE_END : last;
    return isWhole;
  }
}

function bodyLength(data: Buffer, headerEnd: number): number {
  for (let at = data.indexOf(LENGTH); at !== -1 && at < headerEnd; at = data.indexOf(LENGTH, at + 1)) {
    if (!LENGTH_NAME.test(data.toString('latin1', at - 11, at))) continue;
    let length = 0;
    for (let i = at + LENGTH.length; data[i] !== CR; i++) {
      const digit = Number(data[i]);
      if (digit < ZERO || digit > NINE) throw new Error('the length of an answer is not a number');
      length = length * 10 + digit - ZERO;
    }
    return length;
  }
  const chunked = data.indexOf(CHUNKED);
  if (chunked !== -1 && chunked < headerEnd) return Infinity;
  throw new Error('an answer says neither how long it is nor that it comes in chunks');
}
