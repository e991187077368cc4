/** A policy or ceiling that is well-formed JSON but cannot be compiled: where (JSON pointer) and what to do about it. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError';
  readonly pointer: string;
  readonly reason: string;

  constructor(pointer: string, reason: string) {
    super(`${pointer === '' ? 'document' : pointer}: ${reason}`);
    this.pointer = pointer;
    this.reason = reason;
  }
}
