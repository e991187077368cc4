import { readFileSync } from 'node:fs';
import { type Answer, HttpClient } from './http-client.ts';
import type { AgentCredential, Settings } from './settings.ts';

/** The service answered, and it was no success. */
export class RefusedError extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterSeconds: number | null;

  constructor(status: number, code: string, retryAfterSeconds: number | null) {
    super(`the service answered ${status} ${code}`);
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The token file cannot be used; the message never has what it holds. */
export class TokenFileError extends Error {}

/** Tokens of Kubernetes are the longest. */
const TOKEN = /^[A-Za-z0-9_.~+/=-]{1,8192}$/;
const SESSION_MS_MAX = 30 * 60_000;
const CODE = /^[A-Za-z_]{1,64}$/;
const RETRY_AFTER_SECONDS_MAX = 3600;

export interface Sending {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal: AbortSignal;
  bytesMax?: number;
  /** Statuses besides 200 that are no failure. */
  accepts?: readonly number[];
}

/** Calls the service with the token of the cluster, or with one that it got for a workload identity. */
export class CofferClient {
  readonly #http: HttpClient;
  readonly #credential: AgentCredential;
  #session: { token: string; renewAtMs: number } | null = null;

  constructor({ url, caFile, credential }: Pick<Settings, 'url' | 'caFile' | 'credential'>, timeoutMs?: number) {
    this.#http = new HttpClient(url, caFile, timeoutMs);
    this.#credential = credential;
  }

  async send(sending: Sending): Promise<Answer> {
    const hadSession = this.#session !== null;
    const answer = await this.#sendOnce(sending);
    if (answer.status !== 401 || !hadSession) return accepted(answer, sending);
    // The session was revoked, or the service has another key by now: one new login decides.
    this.#session = null;
    return accepted(await this.#sendOnce(sending), sending);
  }

  async #sendOnce({ body, accepts: _, headers = {}, ...call }: Sending): Promise<Answer> {
    return this.#http.call({
      ...call,
      headers: {
        accept: 'application/json',
        ...(await this.#authentication(call.signal)),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** Files are read for each call, so that a rotated token counts from the next one on. */
  async #authentication(signal: AbortSignal): Promise<Record<string, string>> {
    if (this.#credential.kind === 'cluster') {
      return { 'x-cluster-token': readToken(this.#credential.tokenFile, 'CV_CLUSTER_TOKEN_FILE') };
    }
    if (this.#session === null || performance.now() >= this.#session.renewAtMs) {
      this.#session = await this.#logIn(this.#credential, signal);
    }
    return { authorization: `Bearer ${this.#session.token}` };
  }

  async #logIn({ methodId, tokenFile }: WorkloadCredential, signal: AbortSignal) {
    const k8s_token = readToken(tokenFile, 'CV_WORKLOAD_TOKEN_FILE');
    const answer = await this.#http.call({
      method: 'POST',
      path: '/workload-identity/login',
      signal,
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify({ method_id: methodId, k8s_token }),
    });
    const { cv_jwt, expires_at } = parsedLogin(accepted(answer, {}));
    const remainingMs = (Date.parse(expires_at) || 0) - Date.now();
    // Half of the time is left for a late renewal; a clock that is wrong makes it log in more often, and never less.
    return { token: cv_jwt, renewAtMs: performance.now() + Math.min(remainingMs / 2, SESSION_MS_MAX) };
  }
}

type WorkloadCredential = Extract<AgentCredential, { kind: 'workload' }>;

function accepted(answer: Answer, { accepts = [] }: Pick<Sending, 'accepts'>): Answer {
  if (answer.status === 200 || accepts.includes(answer.status)) return answer;
  throw new RefusedError(answer.status, codeOf(answer), retryAfterOf(answer));
}

function parsedLogin({ body }: Answer): { cv_jwt: string; expires_at: string } {
  const login = JSON.parse(body.toString('utf8')) as { cv_jwt?: unknown; expires_at?: unknown };
  const { cv_jwt, expires_at } = login;
  if (typeof cv_jwt !== 'string' || !TOKEN.test(cv_jwt) || typeof expires_at !== 'string') {
    throw new RefusedError(200, 'NoLogin', null);
  }
  return { cv_jwt, expires_at };
}

function readToken(file: string, setting: string): string {
  let token: string;
  try {
    token = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const code = (error as { code?: string }).code ?? 'unknown error';
    throw new TokenFileError(`${setting} names a file that cannot be read (${code}).`);
  }
  if (!TOKEN.test(token)) throw new TokenFileError(`${setting} names a file that holds no token.`);
  return token;
}

/** Only the code of a refusal is used: its text may quote what was sent. */
function codeOf({ body }: Answer): string {
  try {
    const code = (JSON.parse(body.toString('utf8')) as { error?: { code?: unknown } }).error?.code;
    return typeof code === 'string' && CODE.test(code) ? code : '';
  } catch {
    return '';
  }
}

function retryAfterOf({ headers }: Answer): number | null {
  const text = headers['retry-after'] ?? '';
  return /^\d{1,6}$/.test(text) ? Math.min(Number(text), RETRY_AFTER_SECONDS_MAX) : null;
}
