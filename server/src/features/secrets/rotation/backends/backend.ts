/**
 * An external system whose credential Coffer changes when the secret is rotated. Each kind is one file without HTTP or storage code, so that all its
 * partial failures are handled in one place.
 */
export interface RotationBackend {
  readonly kind: string;
  /** Returns why the current value cannot be rotated by this backend (422), as text that follows a JSON pointer, or null. */
  problem(currentValue: string): string | null;
  /** Returns the value to try. It is sealed and stored before the external system changes, so that a crash can be repaired. */
  propose(currentValue: string): string;
  /**
   * Sets `next` in the external system and resolves once a login with `next` succeeds. If it throws BackendFailure, the old value still works, unless
   * `isUncertain` is set: then `probe` has to find out.
   */
  apply(current: string, next: string, signal: AbortSignal): Promise<void>;
  /** Tells which of the two values works now, after a crash between steps. After `unreachable` both values must stay stored and be probed again later. */
  probe(current: string, next: string, signal: AbortSignal): Promise<'current' | 'next' | 'neither' | 'unreachable'>;
}

export type BackendFailureCode =
  | 'unreachable'
  | 'login_refused'
  | 'not_permitted'
  | 'verification_failed'
  | 'blocked_address'
  | 'tls_required'
  | 'tls_untrusted';

/** The message is written by Coffer and there is no cause, because driver messages quote statements and values. */
export class BackendFailure extends Error {
  override readonly name = 'BackendFailure';
  readonly code: BackendFailureCode;
  /** The external system may have changed already, so neither value may be dropped. */
  readonly isUncertain: boolean;

  constructor(code: BackendFailureCode, message: string, isUncertain = false) {
    super(message);
    this.code = code;
    this.isUncertain = isUncertain;
  }
}
