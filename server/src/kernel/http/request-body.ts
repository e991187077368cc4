import type { IncomingMessage, ServerResponse } from 'node:http';
import { workerShares } from '../../settings/worker-shares.ts';
import { CofferError, unavailable } from '../base/errors.ts';
import { headerPart } from '../base/headers.ts';
import type { EndpointDeclaration } from '../endpoint/declaration.ts';
import type { Kernel } from '../request/kernel.ts';
import type { BodyHolder, UnreadBody } from '../request/pipeline.ts';
import { JsonError } from '../wire/json.ts';
import { BodyBudget, type BodyRefusal } from './body-budget.ts';
import { JsonThread } from './json-thread.ts';
import { announcedLength, awaitsContinue } from './unread-body.ts';

const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset="?utf-8"?)?$/i;
/** The initial allocation, or less if the announced length is smaller. An announced length alone must not allocate memory. */
const FIRST_BYTES = 64 * 1024;
/** Of a body for which no memory is allocated on its own. */
const SHORT_BYTES_MAX = 1024;
/** Each piece costs some microseconds, whatever its size, so there may be only few of them unless they are large on average. */
const PIECES_MAX = 4096;
const PIECE_BYTES = 64;

/** The state that all requests share for reading their bodies. */
export interface BodyReading {
  /** Unauthenticated callers have a budget by address, the others by tenant, so that strangers cannot use up the tenants' memory. */
  readonly budgets: { readonly strangers: BodyBudget; readonly tenants: BodyBudget };
  readonly json: JsonThread;
  /** Bytes that are held from now on; negative if they are released. */
  onHeld(bytes: number): void;
  onRefused(reason: BodyRefusal): void;
}

const MIB = 1024 * 1024;
/** Shares of `CV_BODY_MEMORY_MIB`: of one tenant, of all unauthenticated callers, and of those at one address. */
export const TENANT_PART = 1 / 4;
const STRANGERS_PART = 1 / 8;
const ADDRESS_PART = 1 / 64;

export function bodyReading({ config, metrics }: Pick<Kernel, 'config' | 'metrics'>): BodyReading {
  const bytes = workerShares(config).bodyMemoryMib * MIB;
  const budgets = {
    strangers: new BodyBudget({ totalBytes: bytes * STRANGERS_PART, shareBytes: bytes * ADDRESS_PART }),
    tenants: new BodyBudget({ totalBytes: bytes, shareBytes: bytes * TENANT_PART }),
  };
  return {
    budgets,
    json: new JsonThread(),
    onHeld: (bytes) => {
      metrics.bodyBytes += bytes;
    },
    onRefused: (reason) => metrics.bodiesRefused.labels(reason).inc(),
  };
}

/** The content types that a body may have besides JSON. */
type AcceptedBody = Pick<EndpointDeclaration, 'form' | 'format'>;

/** The body of one request. Nothing of it is read before the pipeline requests it. */
export class RequestBody implements UnreadBody {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #reading: BodyReading;
  #release: () => void = () => {};
  /** How long the client took to send it. */
  waitedMs = 0;
  readonly #accepted: AcceptedBody;

  constructor(request: IncomingMessage, response: ServerResponse, reading: BodyReading, accepted: AcceptedBody = {}) {
    this.#request = request;
    this.#accepted = accepted;
    this.#response = response;
    this.#reading = reading;
  }

  async read(holder: BodyHolder, bytesMax: number, membersMax?: number): Promise<unknown> {
    const bytes = await this.readBytes(holder, bytesMax);
    if (bytes.length === 0) return undefined;
    if (this.#accepted.form !== undefined && isForm(this.#request)) return formOf(bytes);
    try {
      return await this.#reading.json.parse(bytes, membersMax);
    } catch (error) {
      if (error instanceof JsonError) throw new CofferError('INVALID_REQUEST', error.message);
      throw error;
    }
  }

  async readBytes(holder: BodyHolder, bytesMax: number): Promise<Buffer<ArrayBuffer>> {
    if ((announcedLength(this.#request) ?? 0) > bytesMax) throw tooLarge(bytesMax);
    if (awaitsContinue(this.#request)) this.#response.writeContinue();
    const started = performance.now();
    try {
      return await this.#collect(holder, bytesMax);
    } finally {
      this.waitedMs = performance.now() - started;
    }
  }

  /**
   * The bytes count as held until the request is finished, because their parsed value is in memory until then. A body that was not read is
   * discarded: otherwise the next request on the connection would wait behind it.
   */
  release(): void {
    if (!this.#request.readableEnded) this.#request.resume();
    this.#release();
    this.#release = () => {};
  }

  #collect(holder: BodyHolder, bytesMax: number): Promise<Buffer<ArrayBuffer>> {
    const request = this.#request;
    const lengthMax = Math.min(announcedLength(request) ?? bytesMax, bytesMax);
    const collected = new Collected(lengthMax, (bytes) => this.#take(holder, bytes));
    return new Promise((resolve, reject) => {
      // Not `once`, which makes an object and two functions for each event. Whatever comes first removes all of them.
      const stop = () => request.off('data', add).off('end', finish).off('close', fail).off('error', fail).pause();
      const finish = () => {
        stop();
        resolve(collected.bytes);
      };
      const fail = () => {
        stop();
        reject(new CofferError('INVALID_REQUEST', 'The body ended before it was complete.'));
      };
      const add = (piece: Buffer) => {
        try {
          if (collected.isEmpty) checkType(request, this.#accepted);
          collected.add(piece);
        } catch (error) {
          stop();
          reject(error);
        }
      };
      // If the client has already disconnected, no further event would be emitted.
      if (request.destroyed) fail();
      else request.on('data', add).on('end', finish).on('close', fail).on('error', fail);
    });
  }

  #take(holder: BodyHolder, bytes: number): void {
    const { budgets, onHeld, onRefused } = this.#reading;
    const [budget, name] =
      'tenantId' in holder ? [budgets.tenants, holder.tenantId] : [budgets.strangers, holder.address];
    const refusal = budget.take(name, bytes);
    if (refusal !== null) {
      onRefused(refusal);
      throw unavailable('Too many bytes of request bodies are in flight: try again shortly, or send less at a time.');
    }
    onHeld(bytes);
    const before = this.#release;
    this.#release = () => {
      before();
      budget.release(name, bytes);
      onHeld(-bytes);
    };
  }
}

const NO_BYTES = Buffer.alloc(0);

/** One growing buffer: a list of pieces would take a hundred times their size if each is one byte long. */
class Collected {
  readonly #bytesMax: number;
  readonly #take: (bytes: number) => void;
  #buffer: Buffer<ArrayBuffer> = NO_BYTES;
  #length = 0;
  #pieces = 0;

  constructor(bytesMax: number, take: (bytes: number) => void) {
    this.#bytesMax = bytesMax;
    this.#take = take;
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  get bytes(): Buffer<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length);
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#bytesMax) throw tooLarge(this.#bytesMax);
    if (++this.#pieces > PIECES_MAX + length / PIECE_BYTES) {
      throw new CofferError('INVALID_REQUEST', 'The body arrives in too many small pieces: send larger ones.');
    }
    if (length > this.#buffer.length) this.#grow(length);
    piece.copy(this.#buffer, this.#length);
    this.#length = length;
  }

  #grow(needed: number): void {
    const capacity = Math.min(this.#bytesMax, Math.max(needed, FIRST_BYTES, 2 * this.#buffer.length));
    this.#take(capacity - this.#buffer.length);
    // A short body shares its memory with others, because an allocation of its own takes longer than reading it.
    const grown = capacity <= SHORT_BYTES_MAX ? Buffer.allocUnsafe(capacity) : Buffer.allocUnsafeSlow(capacity);
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

const FORM_TYPE = /^application\/x-www-form-urlencoded(?:[ \t]*;[ \t]*charset="?utf-8"?)?$/i;
/** More than any form of ours has. */
const FORM_FIELDS_MAX = 16;

export function isJson({ headers }: IncomingMessage): boolean {
  const type = headers['content-type'] ?? '';
  return type === 'application/json' || JSON_TYPE.test(type);
}

export function isForm({ headers }: IncomingMessage): boolean {
  return FORM_TYPE.test(headers['content-type'] ?? '');
}

/** The fields of an HTML form, each a string. An empty field counts as absent, as in a query. */
function formOf(bytes: Buffer): Record<string, string> {
  const fields = [...new URLSearchParams(bytes.toString('utf8'))];
  const names = new Set(fields.map(([name]) => name));
  if (fields.length > FORM_FIELDS_MAX || names.size < fields.length || names.has('__proto__')) {
    throw new CofferError('INVALID_REQUEST', 'Send each field of the form once.');
  }
  return Object.fromEntries(fields.filter(([, value]) => value !== ''));
}

function checkType(request: IncomingMessage, { form, format }: AcceptedBody): void {
  const { headers } = request;
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new CofferError('INVALID_REQUEST', 'Send the body uncompressed, without Content-Encoding.');
  }
  if (form !== undefined && isForm(request)) return;
  if (isJson(request)) return;
  const type = headers['content-type'] ?? '';
  if (format !== undefined && headerPart(type.split(';', 1)[0] ?? '').toLowerCase() === format.mediaType) return;
  throw new CofferError('INVALID_REQUEST', 'Send the body as JSON, with "Content-Type: application/json".');
}

function tooLarge(bytesMax: number): CofferError {
  return new CofferError(
    'PAYLOAD_TOO_LARGE',
    `The body is larger than this endpoint accepts: send at most ${bytesMax} bytes.`,
  );
}
