import type { ReceiverRequest } from './receiver-request.ts';
import {
  ALL_DELIVERED,
  type BatchLimits,
  type Encoded,
  type Receipt,
  refuseUnless,
  type Transport,
} from './transport.ts';

const SUCCESS = [200, 201, 202, 204];

/** Lines of JSON, or of CEF, to any receiver over HTTP. The `Idempotency-Key` is the same whenever a batch is sent again. */
export class HttpsJson implements Transport {
  readonly limits: BatchLimits = { entriesMax: 500, bytesMax: 1024 * 1024, entryBytesMax: 256 * 1024 };
  readonly unconfirmedMax = 0;
  readonly #request: ReceiverRequest;
  readonly #token: string | null;

  constructor(request: ReceiverRequest, token: string | null) {
    this.#request = request;
    this.#token = token;
  }

  async send(batch: readonly Encoded[]): Promise<Receipt> {
    const answer = await this.#request.post({
      headers: {
        'content-type': 'application/x-ndjson',
        'idempotency-key': `${batch[0]?.entry.id}-${batch.length}`,
        ...(this.#token !== null && { authorization: `Bearer ${this.#token}` }),
      },
      body: `${batch.map(({ text }) => text).join('\n')}\n`,
    });
    refuseUnless(SUCCESS, answer);
    return ALL_DELIVERED;
  }

  async finish(): Promise<void> {}
}
