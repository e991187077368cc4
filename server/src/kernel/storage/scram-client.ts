import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import pg from 'pg';

export const UNSAFE_LOGIN = 'UNSAFE_LOGIN';

/** The server requested the password in a form that reveals it, or did not prove that it knows the password. */
export class UnsafeLogin extends Error {
  override readonly name = 'UnsafeLogin';
  readonly code = UNSAFE_LOGIN;

  constructor() {
    super('the database server did not authenticate by SCRAM-SHA-256 with a server signature');
  }
}

/** Both reveal the password, or an equivalent of it, to whichever server asks for it. */
const REVEALING_REQUESTS = new Set<string | symbol>(['authenticationCleartextPassword', 'authenticationMD5Password']);

/**
 * The driver responds to any authentication request of the server and takes "ready" for a successful login. This client responds to SCRAM-SHA-256
 * only (RFC 5802), and such a login succeeds only after the server's signature was verified. A server that asks for no password is not refused
 * here.
 */
export class ScramClient extends pg.Client {
  /** How often the server stopped waiting for its synchronous standbys: see `NotReplicated`. */
  unreplicated = 0;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    guardLogin(this.connection);
    this.on('notice', ({ routine }) => {
      if (routine === REPLICATION_WAIT) this.unreplicated++;
    });
  }
}

export const NOT_REPLICATED = 'NOT_REPLICATED';
/** The part of PostgreSQL that waits for synchronous standbys. Unlike its message, this name is the same in every language. */
const REPLICATION_WAIT = 'SyncRepWaitForLSN';

/**
 * A commit is on the disk of the server, but no synchronous standby confirmed it before the time limit of the statement ended. PostgreSQL then
 * reports success with a warning. It must not be acknowledged, because it is lost if a standby takes over.
 */
export class NotReplicated extends Error {
  override readonly name = 'NotReplicated';
  readonly code = NOT_REPLICATED;

  constructor() {
    super('no synchronous standby of the database confirmed the commit in time');
  }
}

/** Intercepts the events of the connection until the login is over. */
function guardLogin(connection: pg.Connection): void {
  const emitOriginal = EventEmitter.prototype.emit;
  let isChallenged = false;
  let isProven = false;
  let isVerifying = false;
  let isOver = false;

  const fail = (error: unknown): boolean => {
    if (isOver) return false;
    isOver = true;
    emitOriginal.call(connection, 'error', isVerifying ? new UnsafeLogin() : error);
    // The driver leaves the connection open after a failed login.
    return (connection.stream as Duplex).destroy() !== undefined;
  };

  connection.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event === 'end') return emitOriginal.call(connection, event, ...args);
    if (event === 'error') return fail(args[0]);
    if (isOver) return false;
    const isUnproven = event === 'readyForQuery' && isChallenged && !isProven;
    if (REVEALING_REQUESTS.has(event) || isUnproven) return fail(new UnsafeLogin());
    if (event === 'authenticationSASL') isChallenged = true;
    if (event === 'readyForQuery') connection.emit = emitOriginal;
    isVerifying = event === 'authenticationSASLFinal';
    const wasHandled = emitOriginal.call(connection, event, ...args);
    isProven ||= isVerifying && !isOver;
    isVerifying = false;
    return wasHandled;
  };
}
