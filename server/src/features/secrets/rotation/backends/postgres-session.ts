import { isIP, Socket } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import pg from 'pg';
import type { Destination } from '../../../../kernel/outbound/address-guard.ts';
import { ScramClient, UnsafeLogin } from '../../../../kernel/storage/scram-client.ts';
import type { DatabaseValue } from '../../value/database-value.ts';

const CONNECT_TIMEOUT_MS = 5000;
const STATEMENT_TIMEOUT_MS = 5000;
/** Longer than the server's own limit, so that it fires only when the server does not respond at all. */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 1000;
const GOODBYE_TIMEOUT_MS = 1000;

const INVALID_PASSWORD = '28P01';
/** Sent by a server that is reachable and refused: failed authorization, no such database, or no right to connect to it. */
const LOGIN_REFUSALS = /^(?:28|3D000|42501)/;
/** Connection lost, server shutting down or failing: the client cannot know whether the preceding statement took effect. */
const UNCLEAR_STATES = /^(?:08|57P|58|XX)/;

/**
 * `no_password`: the server required no password, so the login proves nothing about it. `unsafe`: the server requested the password in clear text or as
 * MD5, or did not prove that it knows it. `no_tls`: TLS was requested, and the server has none. `untrusted`: the certificate is for another host, or
 * from an unknown authority.
 */
export type LoginProblem =
  | 'wrong_password'
  | 'refused'
  | 'no_password'
  | 'unsafe'
  | 'no_tls'
  | 'untrusted'
  | 'unreachable';

export class LoginFailure extends Error {
  override readonly name = 'LoginFailure';
  readonly problem: LoginProblem;

  constructor(problem: LoginProblem) {
    super(`the login failed: ${problem}`);
    this.problem = problem;
  }
}

/** `isRolledBack` is true only if the server itself reported that the statement failed. */
export class StatementFailure extends Error {
  override readonly name = 'StatementFailure';
  readonly isRolledBack: boolean;

  constructor(isRolledBack: boolean) {
    super('the statement failed');
    this.isRolledBack = isRolledBack;
  }
}

/** One connection to a tenant's PostgreSQL. Its errors contain no text of the driver or the server. */
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

  /**
   * Connects to the address that the address guard checked, even if the name resolves to another one by now. An abort drops the connection at once.
   */
  static async open(login: DatabaseValue, { address }: Destination, signal: AbortSignal): Promise<PostgresSession> {
    if (signal.aborted) throw new LoginFailure('unreachable');
    const socket = new Socket();
    let isPasswordRequired = false;
    const client = new ScramClient({
      host: address,
      port: login.port,
      database: login.database,
      user: login.username,
      // The driver calls a function only when the server requests the password.
      password: () => {
        isPasswordRequired = true;
        return login.password;
      },
      ssl: login.tls && verifiedAs(login.host),
      stream: () => socket,
      application_name: 'coffer',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      query_timeout: ANSWER_TIMEOUT_MS,
    });
    // Without a listener, an error on the connection would end the process. Queries in progress on it reject by themselves.
    client.on('error', () => {});
    const session = new PostgresSession(client, socket, signal);
    try {
      await client.connect();
    } catch (error) {
      session.#release();
      throw new LoginFailure(loginProblem(error, isPasswordRequired));
    }
    if (isPasswordRequired) return session;
    await session.close();
    throw new LoginFailure('no_password');
  }

  /**
   * ALTER ROLE takes no parameters. The role name comes from a strict alphabet (see postgres-role.ts) and is quoted nevertheless, against SQL
   * injection.
   */
  async setPassword(role: string, verifier: string): Promise<void> {
    try {
      await this.#client.query(`ALTER ROLE ${pg.escapeIdentifier(role)} PASSWORD ${pg.escapeLiteral(verifier)}`);
    } catch (error) {
      throw new StatementFailure(error instanceof pg.DatabaseError && !UNCLEAR_STATES.test(error.code ?? 'XX'));
    }
  }

  /** Every role may list the roles of its server. */
  async rolesStartingWith(prefix: string, limit: number): Promise<string[]> {
    try {
      const { rows } = await this.#client.query<{ name: string }>(
        'SELECT rolname::text AS name FROM pg_roles WHERE starts_with(rolname::text, $1) ORDER BY rolname LIMIT $2',
        [prefix, limit],
      );
      return rows.map(({ name }) => name);
    } catch {
      // The text of the server may repeat what was sent to it.
      throw new StatementFailure(true);
    }
  }

  /** Sends Terminate, so that the server frees the connection at once, and waits at most a second for it to close. */
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
/** Certificate error codes of OpenSSL and Node. */
const CERTIFICATE_PROBLEMS =
  /^(?:ERR_TLS_CERT|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|INVALID_PURPOSE|HOSTNAME_MISMATCH)/;

function loginProblem(error: unknown, isPasswordRequired: boolean): LoginProblem {
  if (error instanceof UnsafeLogin) return 'unsafe';
  // The driver has no error code for this.
  if (error instanceof Error && NO_TLS.test(error.message)) return 'no_tls';
  if (error instanceof Error && CERTIFICATE_PROBLEMS.test((error as NodeJS.ErrnoException).code ?? ''))
    return 'untrusted';
  const state = error instanceof pg.DatabaseError ? (error.code ?? '') : '';
  if (state === INVALID_PASSWORD && isPasswordRequired) return 'wrong_password';
  return LOGIN_REFUSALS.test(state) ? 'refused' : 'unreachable';
}

/** The connection goes to an IP address, but the certificate must be for the host name in the secret. */
function verifiedAs(host: string): pg.ClientConfig['ssl'] {
  return {
    minVersion: 'TLSv1.2',
    checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate),
    // RFC 6066, 3 does not permit IP addresses as server names.
    ...(isIP(host) === 0 && { servername: host }),
  };
}
