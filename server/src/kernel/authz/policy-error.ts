/** A policy or ceiling is well-formed JSON but cannot be compiled. The error has a JSON pointer and says how to fix it. */
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
