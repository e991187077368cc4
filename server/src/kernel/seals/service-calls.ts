import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeBase64 } from '../crypto/base64.ts';
import {
  type OutgoingAnswer,
  OutgoingFailure,
  type OutgoingProblem,
  type OutgoingRequest,
} from '../outbound/http-client.ts';
import { SealError, type SealProblem } from './provider.ts';
import type { OutgoingCalls, SealSurroundings } from './surroundings.ts';

const TIMEOUT_DEFAULT_MS = 5000;
const ANSWER_BYTES_MAX = 64 * 1024;
const ATTEMPTS_MAX = 3;
const BACKOFF_DEFAULT_MS = 200;

export type ServiceRequest = Pick<OutgoingRequest, 'url' | 'method' | 'headers' | 'body' | 'caPem'>;

/** Calls to one service, whose failures are told in its name. */
export class ServiceCalls {
  /** As messages name it, such as `AWS KMS`. */
  readonly service: string;
  readonly #http: OutgoingCalls;
  readonly #owner: string;
  readonly #timeoutMs: number;
  readonly #backoffMs: number;

  constructor(service: string, { http, owner, timeoutMs, backoffMs }: SealSurroundings) {
    this.service = service;
    this.#http = http;
    this.#owner = owner;
    this.#timeoutMs = timeoutMs ?? TIMEOUT_DEFAULT_MS;
    this.#backoffMs = backoffMs ?? BACKOFF_DEFAULT_MS;
  }

  async send(request: ServiceRequest): Promise<OutgoingAnswer> {
    try {
      return await this.#http.send({
        ...request,
        owner: this.#owner,
        bodyBytesMax: ANSWER_BYTES_MAX,
        timeoutMs: this.#timeoutMs,
      });
    } catch (error) {
      if (!(error instanceof OutgoingFailure)) throw error;
      throw new SealError(
        CAUSES[error.problem] ?? 'unreachable',
        `${this.service}: ${error.message}. ${adviceOf(error.problem)}`,
      );
    }
  }

  /** Repeats what failed for a reason that may pass, a few times, with longer pauses. */
  async retried<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof SealError) || !error.isPassing || attempt >= ATTEMPTS_MAX) throw error;
        const pause = this.#backoffMs * 2 ** (attempt - 1);
        await sleep(pause + randomInt(pause));
      }
    }
  }

  /** For a response that is not as the service documents it. */
  malformed(): SealError {
    return new SealError(
      'unreachable',
      `${this.service} did not respond as it is documented. Check that no proxy answers in its place.`,
    );
  }

  /** For an error that has no meaning of its own. */
  refusal(status: number): SealError {
    if (status >= 500 || status === 429)
      return new SealError(
        'unreachable',
        `${this.service} is overloaded or has a fault (status ${status}). The next attempt may succeed.`,
      );
    if (status === 401 || status === 403)
      return new SealError(
        'denied',
        `${this.service} refused the credentials of this service (status ${status}). Check them, and what they may do.`,
      );
    return new SealError(
      'misconfigured',
      `${this.service} refused the request (status ${status}). Compare the reference of the seal with the name of the key.`,
    );
  }

  json({ body }: Pick<OutgoingAnswer, 'body'>): Record<string, unknown> {
    let value: unknown;
    try {
      value = JSON.parse(body.toString('utf8'));
    } catch {
      throw this.malformed();
    }
    if (!isRecord(value)) throw this.malformed();
    return value;
  }

  text(members: Record<string, unknown>, name: string): string {
    const value = members[name];
    if (typeof value !== 'string' || value === '') throw this.malformed();
    return value;
  }

  base64(members: Record<string, unknown>, name: string): Buffer {
    const bytes = decodeBase64(this.text(members, name));
    if (bytes === null) throw this.malformed();
    return bytes;
  }
}

const CAUSES: Partial<Record<OutgoingProblem, SealProblem>> = {
  url: 'misconfigured',
  blocked: 'misconfigured',
  insecure: 'misconfigured',
  'not-opened': 'misconfigured',
  redirect: 'misconfigured',
};

function adviceOf(problem: OutgoingProblem): string {
  if (problem === 'blocked') return 'Add it to CV_OUTBOUND_ALLOW if its address is private on purpose.';
  if (problem === 'insecure') return 'Use https.';
  if (CAUSES[problem] !== undefined) return 'Check the address in the reference or the variables of the seal.';
  return 'Check the network, the name and the certificate; the next attempt may succeed.';
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member of an object in JSON, or an empty object. */
export function memberOf(members: Record<string, unknown>, name: string): Record<string, unknown> {
  const value = members[name];
  return isRecord(value) ? value : {};
}
