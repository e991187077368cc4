import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS, SECOND_MS } from '../../../kernel/base/clock.ts';
import type { ReceiverRequest } from './receiver-request.ts';
import {
  ALL_DELIVERED,
  type BatchLimits,
  type Encoded,
  jsonOf,
  NotDelivered,
  type Receipt,
  refuseUnless,
  type Transport,
} from './transport.ts';

const EVENT_PATH = '/services/collector/event';
const ACK_PATH = '/services/collector/ack';
const POLL_MS = SECOND_MS;
/** Splunk may have lost a batch that it has not indexed by then. */
const ACK_MAX_MS = 5 * MINUTE_MS;

/** Splunk's HTTP Event Collector. A 200 means received; with acknowledgement on, only a positive acknowledgement means indexed. */
export class SplunkHec implements Transport {
  readonly limits: BatchLimits = { entriesMax: 500, bytesMax: 900 * 1024, entryBytesMax: 256 * 1024 };
  readonly unconfirmedMax = 0;
  readonly #request: ReceiverRequest;
  readonly #headers: Record<string, string>;
  readonly #pollMs: number;
  readonly #ackMaxMs: number;

  constructor(request: ReceiverRequest, token: string, { pollMs = POLL_MS, ackMaxMs = ACK_MAX_MS } = {}) {
    this.#request = request;
    this.#pollMs = pollMs;
    this.#ackMaxMs = ackMaxMs;
    this.#headers = {
      'content-type': 'application/json',
      authorization: `Splunk ${token}`,
      // Acknowledgements are counted per channel. A new one for each connection never meets the numbers of an earlier process.
      'x-splunk-request-channel': randomUUID(),
    };
  }

  async send(batch: readonly Encoded[], signal: AbortSignal): Promise<Receipt> {
    const events = batch.map(({ entry, text }) => {
      const time = Date.parse(entry.timestamp) / SECOND_MS;
      return JSON.stringify({ time, source: 'coffer', sourcetype: 'coffer:audit', event: eventOf(text) });
    });
    const answer = await this.#request.post({ headers: this.#headers, path: EVENT_PATH, body: events.join('\n') });
    refuseUnless([200], answer);
    const ackId = ackIdOf(jsonOf(answer));
    if (ackId !== null) await this.#acknowledged(ackId, signal);
    return ALL_DELIVERED;
  }

  /** Splunk reports an acknowledgement once, so the first `true` must not be lost: it is not queried again. */
  async #acknowledged(ackId: number, signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + this.#ackMaxMs;
    while (performance.now() < deadline) {
      const answer = await this.#request.post({
        headers: this.#headers,
        path: ACK_PATH,
        body: JSON.stringify({ acks: [ackId] }),
      });
      refuseUnless([200], answer);
      const { acks } = (jsonOf(answer) ?? {}) as { acks?: Record<string, unknown> };
      if (acks?.[String(ackId)] === true) return;
      await sleep(this.#pollMs, undefined, { signal });
    }
    throw new NotDelivered('Splunk received a batch and did not acknowledge that it was indexed');
  }

  async finish(): Promise<void> {}
}

/** JSON formats stay objects, so that Splunk can search their fields. */
function eventOf(text: string): unknown {
  return text.startsWith('{') ? JSON.parse(text) : text;
}

function ackIdOf(answer: unknown): number | null {
  const { ackId, ackID } = (answer ?? {}) as { ackId?: unknown; ackID?: unknown };
  const id = ackId ?? ackID;
  return typeof id === 'number' ? id : null;
}
