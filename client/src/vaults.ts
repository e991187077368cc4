import type { CallOptions, Connection } from './connection.ts';
import { pages } from './pages.ts';
import type { Schemas } from './routes.ts';

export class Vaults {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async *list(options: CallOptions = {}): AsyncGenerator<Schemas['VaultSummary']> {
    for await (const page of pages(this.#connection, 'GET /v1/vaults', {}, options)) yield* page.vaults;
  }

  async get(vault: string, options: CallOptions = {}): Promise<Schemas['VaultDetail']> {
    return this.#connection.call('GET /v1/vaults/{vault}', { path: { vault } }, options);
  }

  async create(input: Schemas['CreateVaultInput'], options: CallOptions = {}) {
    return this.#connection.call('POST /v1/vaults', { body: input }, changing(options));
  }

  async update(vault: string, input: Schemas['UpdateVaultInput'], options: CallOptions = {}) {
    return this.#connection.call('PATCH /v1/vaults/{vault}', { path: { vault }, body: input }, changing(options));
  }

  /** Answers with `PendingApproval` where somebody must approve it first. */
  async delete(vault: string, options: CallOptions = {}) {
    return this.#connection.call('DELETE /v1/vaults/{vault}', { path: { vault } }, changing(options));
  }
}

function changing(options: CallOptions): CallOptions {
  return { ...options, idempotencyKey: options.idempotencyKey ?? crypto.randomUUID() };
}
