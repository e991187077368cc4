/** What a sealed text is for. It opens only with the same context: a copy that was moved to another place does not open. */
export interface SealContext {
  /** The id of the installation. */
  readonly installation: string;
  /** Such as `root-key`, or what a key of a tenant is for. */
  readonly purpose: string;
}

/** Keys are sealed, and nothing longer. */
export const SEALED_PLAINTEXT_BYTES_MAX = 64;
/** Of what a provider returns, so that a broken one cannot fill the database. */
export const SEALED_BYTES_MAX = 4096;

/**
 * A key that a system outside of ours keeps, and that encrypts a small key of ours: a KMS, an HSM, or the transit engine of another service. One
 * file each; `open-provider.ts` lists them.
 */
export interface SealProvider {
  /** How the operator names it, such as `aws-kms:arn:aws:kms:…`. It has no credential. */
  readonly reference: string;
  /** Encrypts at most `SEALED_PLAINTEXT_BYTES_MAX` bytes. */
  seal(plaintext: Uint8Array, context: SealContext): Promise<Buffer>;
  /** Decrypts what `seal` returned under the same context, also with a former version of the provider's key. */
  open(sealed: Uint8Array, context: SealContext): Promise<Buffer>;
  /** Ends what the provider holds, such as a child process. */
  close(): Promise<void>;
}

/** Why a provider did not seal or open. */
export type SealProblem =
  /** It cannot be reached, is overloaded or has a fault of its own: another attempt may succeed. */
  | 'unreachable'
  /** It refuses our credential, or has none. */
  | 'denied'
  /** Its key is disabled; enabling it helps. */
  | 'disabled'
  /** Its key is deleted, or about to be. */
  | 'deleted'
  /** What was given was not sealed by this key in this context, or is damaged. */
  | 'wrong'
  /** It, or what it needs on this machine, is not set up as the reference says. */
  | 'misconfigured';

/** The message says what to do, and has no credential, plaintext or text of a response. */
export class SealError extends Error {
  override readonly name = 'SealError';
  readonly problem: SealProblem;

  constructor(problem: SealProblem, message: string) {
    super(message);
    this.problem = problem;
  }

  /** Whether the same call may succeed later without a change here. */
  get isPassing(): boolean {
    return this.problem === 'unreachable';
  }
}
