const REDACTED = '[redacted]';

/** The facts of something that has a secret value, with `value` as a property that only explicit access shows. */
export type WithValue<Facts extends object, Value> = Readonly<Facts> & { readonly value: Value };

class Redacted<Value> {
  readonly #value: Value;

  constructor(facts: object, value: Value) {
    Object.assign(this, facts);
    this.#value = value;
  }

  get value(): Value {
    return this.#value;
  }

  toJSON(): object {
    return this.#value === undefined ? { ...this } : { ...this, value: REDACTED };
  }

  toString(): string {
    return REDACTED;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): object {
    return this.toJSON();
  }
}

/** Printing, inspecting, serializing or copying the result never shows the value. */
export function redacted<Facts extends object, Value>(facts: Facts, value: Value): WithValue<Facts, Value> {
  return new Redacted(facts, value) as unknown as WithValue<Facts, Value>;
}
