import type { Schemas } from './routes.ts';

const REDACTED = '[redacted]';

/**
 * A secret as it was read. Its value is in `value` only: printing, inspecting, serializing or copying the object never shows it.
 */
export class Secret {
  readonly id: string;
  readonly secretId: number;
  readonly vault: string;
  readonly path: string;
  readonly type: string;
  readonly version: number;
  readonly environment: string | null;
  readonly metadata: Schemas['SecretMetadata'];
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly rotatedAt: string | null;
  readonly nextRotation: string | null;
  /** The secrets whose values are in that of a template; null for other secrets, and for a template as it is written. */
  readonly parts: Schemas['TemplatePart'][] | null;
  readonly #value: string;

  constructor(served: Schemas['SecretWithValue']) {
    this.id = served.id;
    this.secretId = served.secret_id;
    this.vault = served.vault;
    this.path = served.path;
    this.type = served.type;
    this.version = served.version;
    this.environment = served.environment;
    this.metadata = served.metadata;
    this.createdAt = served.created_at;
    this.updatedAt = served.updated_at;
    this.rotatedAt = served.rotated_at;
    this.nextRotation = served.next_rotation;
    this.parts = served.parts ?? null;
    this.#value = served.value;
  }

  get value(): string {
    return this.#value;
  }

  toJSON(): object {
    return { ...this, value: REDACTED };
  }

  toString(): string {
    return REDACTED;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Secret ${this.vault}/${this.path} v${this.version} ${REDACTED}`;
  }
}
