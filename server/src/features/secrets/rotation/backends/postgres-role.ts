import { parseAddress } from '../../../../kernel/base/cidr.ts';
import { isHostName } from '../../../../kernel/base/host-name.ts';
import { type AddressGuard, BlockedAddress, type Destination } from '../../../../kernel/outbound/address-guard.ts';
import { type DatabaseValue, readDatabaseValue, withPassword } from '../../value/database-value.ts';
import { newToken } from '../../value/generators.ts';
import { BackendFailure, type RotationBackend } from './backend.ts';
import { LoginFailure, PostgresSession, StatementFailure } from './postgres-session.ts';
import { PREPARED_PASSWORD, scramVerifier } from './scram-verifier.ts';

const USERNAME = /^[A-Za-z_][A-Za-z0-9_$.-]{0,62}$/;

const MESSAGES = {
  blocked: 'The database host has an address that is not public, and CV_OUTBOUND_ALLOW does not allow it.',
  needsTls:
    'Connections without TLS are allowed only to private networks listed in CV_OUTBOUND_ALLOW: set "tls": true in the value.',
  noTls:
    'The database server does not support TLS: enable it there, or set "tls": false in the value if CV_OUTBOUND_ALLOW allows its network.',
  untrusted: 'The certificate of the database server is not trusted, or is for another host.',
  unreachable: 'The database server could not be reached, failed authentication, or did not respond in time.',
  refused:
    'The database server rejected the login with the current value: if the value is outdated, correct it with PUT.',
  unsafe:
    'The database server does not authenticate this role with SCRAM-SHA-256, or did not prove that it knows the password: no password was sent. Set the password of the role again with password_encryption = scram-sha-256, and use scram-sha-256 in pg_hba.conf.',
  no_password:
    'The database server does not require a password for this role, so a new password could not be verified.',
  notPermitted: 'The database server did not allow the role to change its own password.',
  interrupted: 'The connection to the database server was lost while the password was changed.',
  restored: 'The new password could not log in; the old one was restored.',
  notRestored: 'The new password could not log in, and the old one could not be restored.',
} as const;

/**
 * A PostgreSQL login role that changes its own password. The secret is of type `database`. No administrative account is needed, so a tenant gives
 * Coffer no more than the secret it already stores here.
 */
export class PostgresRole implements RotationBackend {
  readonly kind = 'postgres_role';
  readonly #guard: AddressGuard;

  constructor(guard: AddressGuard) {
    this.#guard = guard;
  }

  problem(currentValue: string): string | null {
    const problem = this.#formProblem(currentValue);
    if (problem !== null || this.#guard.refusalOf(this.#read(currentValue).host, true) === null) return problem;
    return 'must be a database value whose host is at a public address, or in CV_OUTBOUND_ALLOW';
  }

  #formProblem(currentValue: string): string | null {
    const reading = readDatabaseValue(currentValue);
    if ('problem' in reading) return reading.problem;
    const { host, username, password } = reading.value;
    if (parseAddress(host) === null && !isHostName(host)) {
      return 'must be a database value whose host is a name or an IP address';
    }
    if (!USERNAME.test(username)) {
      return 'must be a database value whose username has only letters, digits, _, $, . and -, at most 63';
    }
    // If the new password does not log in, this one is restored as a verifier computed here.
    return PREPARED_PASSWORD.test(password) ? null : 'must be a database value whose password is printable ASCII';
  }

  propose(currentValue: string): string {
    return withPassword(currentValue, newToken());
  }

  async apply(current: string, next: string, signal: AbortSignal): Promise<void> {
    const [before, after] = [this.#read(current), this.#read(next)];
    if (withPassword(current, after.password) !== withPassword(next, after.password)) {
      throw new TypeError('the values differ in more than the password');
    }
    const destination = await this.#destination(before);
    const [oldVerifier, newVerifier] = [await scramVerifier(before.password), await scramVerifier(after.password)];
    const session = await this.#login(before, destination, signal);
    try {
      await this.#change(session, after.username, newVerifier);
      if (await this.#logsIn(after, destination, signal)) return;
      // An abort must end this at once; a later probe finds out which password is set.
      if (signal.aborted) throw new BackendFailure('unreachable', MESSAGES.interrupted, true);
      await this.#putBack(session, before.username, oldVerifier);
    } finally {
      await session.close();
    }
    throw new BackendFailure('verification_failed', MESSAGES.restored);
  }

  async probe(
    current: string,
    next: string,
    signal: AbortSignal,
  ): Promise<'current' | 'next' | 'neither' | 'unreachable'> {
    const values = { next: this.#read(next), current: this.#read(current) };
    try {
      const destination = await this.#destination(values.current);
      for (const which of ['next', 'current'] as const) {
        try {
          await (await PostgresSession.open(values[which], destination, signal)).close();
          return which;
        } catch (error) {
          // Only `wrong_password` proves that the password is wrong. After any other failure neither value may be discarded.
          if (!(error instanceof LoginFailure) || error.problem !== 'wrong_password') throw error;
        }
      }
      return 'neither';
    } catch (error) {
      if (error instanceof LoginFailure || error instanceof BackendFailure) return 'unreachable';
      throw error;
    }
  }

  /** The roles of the server with such a name. The login is that of the value; nothing is changed. */
  async rolesStartingWith(value: string, prefix: string, limit: number, signal: AbortSignal): Promise<string[]> {
    const login = this.#read(value);
    const session = await this.#login(login, await this.#destination(login), signal);
    try {
      return await session.rolesStartingWith(prefix, limit);
    } catch (error) {
      if (!(error instanceof StatementFailure)) throw error;
      throw new BackendFailure('unreachable', MESSAGES.unreachable);
    } finally {
      await session.close();
    }
  }

  #read(value: string): DatabaseValue {
    const reading = readDatabaseValue(value);
    if ('problem' in reading || this.#formProblem(value) !== null) throw new TypeError('the value cannot be rotated');
    return reading.value;
  }

  async #destination({ host, tls }: DatabaseValue): Promise<Destination> {
    const destination = await this.#guard.resolve(host).catch((error: unknown) => {
      if (error instanceof BlockedAddress) throw new BackendFailure('blocked_address', MESSAGES.blocked);
      throw new BackendFailure('unreachable', MESSAGES.unreachable);
    });
    if (!tls && !destination.isPrivateAllowed) throw new BackendFailure('tls_required', MESSAGES.needsTls);
    return destination;
  }

  async #login(value: DatabaseValue, destination: Destination, signal: AbortSignal): Promise<PostgresSession> {
    try {
      return await PostgresSession.open(value, destination, signal);
    } catch (error) {
      if (!(error instanceof LoginFailure)) throw error;
      if (error.problem === 'no_tls') throw new BackendFailure('tls_required', MESSAGES.noTls);
      if (error.problem === 'untrusted') throw new BackendFailure('tls_untrusted', MESSAGES.untrusted);
      if (error.problem === 'unreachable') throw new BackendFailure('unreachable', MESSAGES.unreachable);
      if (error.problem === 'unsafe') throw new BackendFailure('login_refused', MESSAGES.unsafe);
      if (error.problem === 'no_password') throw new BackendFailure('verification_failed', MESSAGES.no_password);
      throw new BackendFailure('login_refused', MESSAGES.refused);
    }
  }

  async #change(session: PostgresSession, role: string, verifier: string): Promise<void> {
    try {
      await session.setPassword(role, verifier);
    } catch (error) {
      if (!(error instanceof StatementFailure)) throw error;
      if (error.isRolledBack) throw new BackendFailure('not_permitted', MESSAGES.notPermitted);
      throw new BackendFailure('unreachable', MESSAGES.interrupted, true);
    }
  }

  /** Returns false after any failure: the password is already changed, and only a successful login may leave it so. */
  async #logsIn(value: DatabaseValue, destination: Destination, signal: AbortSignal): Promise<boolean> {
    try {
      await (await PostgresSession.open(value, destination, signal)).close();
      return true;
    } catch {
      return false;
    }
  }

  async #putBack(session: PostgresSession, role: string, verifier: string): Promise<void> {
    try {
      await session.setPassword(role, verifier);
    } catch (error) {
      if (!(error instanceof StatementFailure)) throw error;
      throw new BackendFailure('verification_failed', MESSAGES.notRestored, true);
    }
  }
}
