import type { ReceiverRequest } from './receiver-request.ts';
import {
  type BatchLimits,
  type Encoded,
  jsonOf,
  NotDelivered,
  type Receipt,
  refuseUnless,
  type Transport,
} from './transport.ts';

/** The entry is there already, from a batch that was sent before and whose response got lost. */
const EXISTS = 409;
/** The entry itself is refused: it does not fit the mapping, or is too large. Sending it again as it is would change nothing. */
const REFUSED: readonly number[] = [400, 413];
const REASON_CHARS_MAX = 300;
/** Names of errors in Elasticsearch and OpenSearch, such as `security_exception`. */
const ERROR_TYPE = /^[a-z][a-z_]{1,63}$/;

interface BulkAnswer {
  errors?: boolean;
  items?: { create?: { status?: number; error?: { type?: unknown; reason?: unknown } } }[];
}

export type ElasticCredentials = { api_key: string } | { username: string; password: string };

/** The bulk interface of Elasticsearch and OpenSearch. Each entry is created under its own id, so that it is stored once however often it is sent. */
export class Elastic implements Transport {
  readonly limits: BatchLimits = { entriesMax: 1000, bytesMax: 4 * 1024 * 1024, entryBytesMax: 256 * 1024 };
  /** A data stream refuses documents without it. */
  readonly timeField = '@timestamp';
  readonly unconfirmedMax = 0;
  readonly #request: ReceiverRequest;
  readonly #authorization: string;

  constructor(request: ReceiverRequest, credentials: ElasticCredentials) {
    this.#request = request;
    this.#authorization =
      'api_key' in credentials
        ? `ApiKey ${credentials.api_key}`
        : `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`, 'utf8').toString('base64')}`;
  }

  /** An entry that does not fit the mapping of its index is sent once more as one text, which fits any, so that it is there to be found. */
  async send(batch: readonly Encoded[]): Promise<Receipt> {
    const rejected = await this.#create(batch);
    const refused = rejected.flatMap(({ index }) => batch[index] ?? []);
    if (refused.length === 0) return { rejected, skipped: [] };
    const again = await this.#create(refused.map(asText));
    return { rejected: again.flatMap(({ index }) => rejected[index] ?? []), skipped: [] };
  }

  async #create(batch: readonly Encoded[]): Promise<Receipt['rejected']> {
    const lines = batch.map(({ entry, text }) => `${JSON.stringify({ create: { _id: entry.id } })}\n${text}\n`);
    const answer = await this.#request.post({
      headers: { 'content-type': 'application/x-ndjson', authorization: this.#authorization },
      body: lines.join(''),
    });
    refuseUnless([200], answer);
    return rejectedBy(jsonOf(answer) as BulkAnswer | null, batch.length);
  }

  async finish(): Promise<void> {}
}

/** A 200 only says that the batch was read: each item has a status of its own. */
function rejectedBy(answer: BulkAnswer | null, count: number): Receipt['rejected'] {
  const items = answer?.items;
  if (!Array.isArray(items) || items.length !== count) {
    throw new NotDelivered('the receiver responded with something else than the result of a bulk request');
  }
  const rejected: Receipt['rejected'] = [];
  for (const [index, { create }] of items.entries()) {
    const status = create?.status ?? 0;
    if ((status >= 200 && status < 300) || status === EXISTS) continue;
    const { type, reason } = create?.error ?? {};
    // A busy or blocked index, or a missing right, passes. Items that were taken are found as existing when the batch is repeated.
    if (!REFUSED.includes(status)) throw new NotDelivered(`an entry was not taken (${shownError(status, type)})`);
    const why = `${status} ${String(type ?? '')}: ${String(reason ?? '')}`.slice(0, REASON_CHARS_MAX);
    rejected.push({ index, reason: why });
  }
  return rejected;
}

function asText({ entry, text }: Encoded): Encoded {
  return { entry, text: JSON.stringify({ '@timestamp': entry.timestamp, message: text }) };
}

/** Without the receiver's own explanation: the last error of an exporter also goes to webhooks and chats. */
function shownError(status: number, type: unknown): string {
  return typeof type === 'string' && ERROR_TYPE.test(type) ? `${status} ${type}` : `${status}`;
}
