import { type Clock, HOUR_MS } from '../../../kernel/base/clock.ts';
import type { ReceiverRequest } from './receiver-request.ts';
import {
  ALL_DELIVERED,
  type BatchLimits,
  type Encoded,
  type Receipt,
  refuseUnless,
  type Transport,
} from './transport.ts';

/** Datadog responds with 202 to older logs too, and drops them. */
const OLDEST_MS = 18 * HOUR_MS;

/** Datadog's log intake. */
export class Datadog implements Transport {
  readonly limits: BatchLimits = { entriesMax: 1000, bytesMax: 4 * 1024 * 1024, entryBytesMax: 512 * 1024 };
  readonly unconfirmedMax = 0;
  readonly #request: ReceiverRequest;
  readonly #apiKey: string;
  readonly #clock: Clock;

  constructor(request: ReceiverRequest, apiKey: string, clock: Clock) {
    this.#request = request;
    this.#apiKey = apiKey;
    this.#clock = clock;
  }

  async send(batch: readonly Encoded[]): Promise<Receipt> {
    const oldest = this.#clock.now() - OLDEST_MS;
    const isSkipped = ({ entry }: Encoded) => Date.parse(entry.timestamp) <= oldest;
    const sent = batch.filter((one) => !isSkipped(one));
    if (sent.length > 0) await this.#sendAll(sent);
    const reason = 'older than the 18 hours that Datadog accepts';
    const skipped = batch.flatMap((one, index) => (isSkipped(one) ? [{ index, reason }] : []));
    return { ...ALL_DELIVERED, skipped };
  }

  async #sendAll(batch: readonly Encoded[]): Promise<void> {
    const logs = batch.map(({ entry, text }) => ({
      ddsource: 'coffer',
      service: 'coffer',
      ddtags: `tenant:${entry.tenant_id}`,
      message: text,
    }));
    const answer = await this.#request.post({
      headers: { 'content-type': 'application/json', 'dd-api-key': this.#apiKey },
      body: JSON.stringify(logs),
      isCompressed: true,
    });
    refuseUnless([202], answer);
  }

  async finish(): Promise<void> {}
}
