import type { ReceiverRequest } from './receiver-request.ts';
import { type BatchLimits, type Encoded, jsonOf, type Receipt, refuseUnless, type Transport } from './transport.ts';

/** OpenTelemetry's numbers of INFO, WARN and ERROR. */
const SEVERITIES = { allow: [9, 'INFO'], deny: [13, 'WARN'], error: [17, 'ERROR'] } as const;

/** OpenTelemetry's protocol for logs, over HTTP with JSON. */
export class Otlp implements Transport {
  readonly limits: BatchLimits = { entriesMax: 500, bytesMax: 2 * 1024 * 1024, entryBytesMax: 256 * 1024 };
  readonly unconfirmedMax = 0;
  readonly #request: ReceiverRequest;
  readonly #token: string | null;
  readonly #version: string;

  constructor(request: ReceiverRequest, token: string | null, version: string) {
    this.#request = request;
    this.#token = token;
    this.#version = version;
  }

  async send(batch: readonly Encoded[]): Promise<Receipt> {
    const resource = { attributes: [attribute('service.name', 'coffer'), attribute('service.version', this.#version)] };
    const scopeLogs = [{ scope: { name: 'coffer.audit' }, logRecords: batch.map(logRecord) }];
    const answer = await this.#request.post({
      headers: {
        'content-type': 'application/json',
        ...(this.#token !== null && { authorization: `Bearer ${this.#token}` }),
      },
      body: JSON.stringify({ resourceLogs: [{ resource, scopeLogs }] }),
      isCompressed: true,
    });
    refuseUnless([200], answer);
    return { rejected: rejectedOf(jsonOf(answer), batch.length), skipped: [] };
  }

  async finish(): Promise<void> {}
}

/** The protocol counts refused records without naming them, and forbids sending them again. The last ones of the batch stand for them. */
function rejectedOf(answer: unknown, count: number): Receipt['rejected'] {
  const { partialSuccess } = (answer ?? {}) as { partialSuccess?: { rejectedLogRecords?: unknown } };
  const rejected = Math.min(Number(partialSuccess?.rejectedLogRecords ?? 0) || 0, count);
  const reason = `the receiver refused ${rejected} of the ${count} records of this batch without naming them`;
  return Array.from({ length: rejected }, (_, i) => ({ index: count - rejected + i, reason }));
}

function logRecord({ entry, text }: Encoded): object {
  const [severityNumber, severityText] = SEVERITIES[entry.decision];
  return {
    // Nanoseconds do not fit into a JSON number.
    timeUnixNano: `${Date.parse(entry.timestamp)}000000`,
    severityNumber,
    severityText,
    body: { stringValue: text },
    attributes: [
      attribute('event.name', entry.action),
      attribute('coffer.audit.id', entry.id),
      attribute('coffer.tenant.id', entry.tenant_id),
      attribute('coffer.resource', entry.resource),
      attribute('user.id', entry.actor.id),
      ...(entry.ip === '' ? [] : [attribute('client.address', entry.ip)]),
    ],
  };
}

function attribute(key: string, value: string): object {
  return { key, value: { stringValue: value } };
}
