/**
 * Something outside whose credential Coffer changes: a rotation is more than a new value here. One file for each kind, free of HTTP and of the
 * store, so that what may go wrong half-way is in one place.
 */
export interface RotationBackend {
  readonly kind: string;
  /** Says why the secret's current value cannot be rotated by this backend (422), as words that follow a pointer; or null. */
  problem(currentValue: string): string | null;
  /** The value to try, made before anything outside changes; it is stored sealed first so that a crash can be repaired. */
  propose(currentValue: string): string;
  /**
   * Brings the outside to `next`; when it resolves, `next` logs in. Throws BackendFailure: then the old value still works, or the
   * failure says `isUncertain` and `probe` has to find out.
   */
  apply(current: string, next: string, signal: AbortSignal): Promise<void>;
  /** Which of the two works now: after a crash between steps. `unreachable` means ask again later and keep both. */
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

/** Its message is one of ours, never a driver's: those quote statements and values. For the same reason it has no cause. */
export class BackendFailure extends Error {
  override readonly name = 'BackendFailure';
  readonly code: BackendFailureCode;
  /** The outside may have changed already: neither value may be dropped. */
  readonly isUncertain: boolean;

  constructor(code: BackendFailureCode, message: string, isUncertain = false) {
    super(message);
    this.code = code;
    this.isUncertain = isUncertain;
  }
}
