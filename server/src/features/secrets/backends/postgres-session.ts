import { isIP, Socket } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import pg from 'pg';
import type { Destination } from '../../../kernel/outbound/address-guard.ts';
import { ScramClient, UnsafeLogin } from '../../../kernel/storage/scram-client.ts';
import type { DatabaseValue } from '../database-value.ts';

const CONNECT_TIMEOUT_MS = 5000;
const STATEMENT_TIMEOUT_MS = 5000;
/** Longer than the server's own limit, so that this one only speaks when the server does not answer at all. */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 1000;
const GOODBYE_TIMEOUT_MS = 1000;

const INVALID_PASSWORD = '28P01';
/** Told by a server that is there and said no: authorisation, no such database, no right to connect to it. */
const LOGIN_REFUSALS = /^(?:28|3D000|42501)/;
/** Connection lost, server shutting down or failing: whether a statement before it counts cannot be told. */
const UNCLEAR_STATES = /^(?:08|57P|58|XX)/;

/**
 * `unasked`: the server let us in without a password, so the login says nothing about it. `unsafe`: it wanted the password itself, or did not prove
 * that it knows it. `no_tls`: it has no TLS, and was asked for it. `untrusted`: its certificate is not for this host, or from no known authority.
 */
export type LoginProblem = 'wrong_password' | 'refused' | 'unasked' | 'unsafe' | 'no_tls' | 'untrusted' | 'unreachable';

export class LoginFailure extends Error {
  override readonly name = 'LoginFailure';
  readonly problem: LoginProblem;

  constructor(problem: LoginProblem) {
    super(`the login failed: ${problem}`);
    this.problem = problem;
  }
}

/** `isRolledBack` only if the server itself said that the statement failed. */
export class StatementFailure extends Error {
  override readonly name = 'StatementFailure';
  readonly isRolledBack: boolean;

  constructor(isRolledBack: boolean) {
    super('the statement failed');
    this.isRolledBack = isRolledBack;
  }
}

/** One connection to a tenant's PostgreSQL. Its errors hold nothing of what the driver or the server said. */
export class PostgresSession {
  readonly #client: pg.Client;
  readonly #signal: AbortSignal;
  readonly #drop: () => void;

  private constructor(client: pg.Client, socket: Socket, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
    this.#drop = () => socket.destroy();
    signal.addEventListener('abort', this.#drop, { once: true });
  }

  /** Logs in at the address that was judged, whatever its name means by now. An abort drops the connection at once. */
  static async open(login: DatabaseValue, { address }: Destination, signal: AbortSignal): Promise<PostgresSession> {
    if (signal.aborted) throw new LoginFailure('unreachable');
    const socket = new Socket();
    let isAsked = false;
    const client = new ScramClient({
      host: address,
      port: login.port,
      database: login.database,
      user: login.username,
      // A function is called only when the server asks.
      password: () => {
        isAsked = true;
        return login.password;
      },
      ssl: login.tls && verifiedAs(login.host),
      stream: () => socket,
      application_name: 'coffer',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      query_timeout: ANSWER_TIMEOUT_MS,
    });
    // Without a listener a connection that breaks would end the process. What was under way on it fails by itself.
    client.on('error', () => {});
    const session = new PostgresSession(client, socket, signal);
    try {
      await client.connect();
    } catch (error) {
      session.#release();
      throw new LoginFailure(loginProblem(error, isAsked));
    }
    if (isAsked) return session;
    await session.close();
    throw new LoginFailure('unasked');
  }

  /** Lesson 16: the name comes from a strict alphabet (see postgres-role.ts), and is quoted all the same. */
  async setPassword(role: string, verifier: string): Promise<void> {
    try {
      await this.#client.query(`ALTER ROLE ${pg.escapeIdentifier(role)} PASSWORD ${pg.escapeLiteral(verifier)}`);
    } catch (error) {
      throw new StatementFailure(error instanceof pg.DatabaseError && !UNCLEAR_STATES.test(error.code ?? 'XX'));
    }
  }

  /** Says goodbye, so that the server frees the place at once, but waits for no answer that does not come. */
  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, GOODBYE_TIMEOUT_MS);
    });
    await Promise.race([this.#client.end().catch(() => {}), late]);
    clearTimeout(timer);
    this.#release();
  }

  #release(): void {
    this.#signal.removeEventListener('abort', this.#drop);
    this.#drop();
  }
}

const NO_TLS = /^The server does not support SSL connections$/;
/** As OpenSSL and Node name them. */
const CERTIFICATE_PROBLEMS =
  /^(?:ERR_TLS_CERT|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|INVALID_PURPOSE|HOSTNAME_MISMATCH)/;

function loginProblem(error: unknown, isAsked: boolean): LoginProblem {
  if (error instanceof UnsafeLogin) return 'unsafe';
  // The driver has no code for it.
  if (error instanceof Error && NO_TLS.test(error.message)) return 'no_tls';
  if (error instanceof Error && CERTIFICATE_PROBLEMS.test((error as NodeJS.ErrnoException).code ?? ''))
    return 'untrusted';
  const state = error instanceof pg.DatabaseError ? (error.code ?? '') : '';
  if (state === INVALID_PASSWORD && isAsked) return 'wrong_password';
  return LOGIN_REFUSALS.test(state) ? 'refused' : 'unreachable';
}

/** We connect to an address; the certificate must be for the name the owner of the secret wrote. */
function verifiedAs(host: string): pg.ClientConfig['ssl'] {
  return {
    minVersion: 'TLSv1.2',
    checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate),
    // RFC 6066, 3: no addresses there.
    ...(isIP(host) === 0 && { servername: host }),
  };
}
