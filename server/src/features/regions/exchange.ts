import type { Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { SECOND_MS } from '../../kernel/base/clock.ts';
import { AddressGuard } from '../../kernel/outbound/address-guard.ts';
import { HttpClient } from '../../kernel/outbound/http-client.ts';
import { SYSTEM_TENANT } from '../../kernel/storage/tables.ts';
import { RefusedBatch } from './acceptance.ts';
import { pushDirectory } from './contract.ts';
import type { Operation } from './crdt/operation.ts';
import type { Vector } from './crdt/vector.ts';
import type { RegionIdentity } from './identity.ts';
import { OPERATIONS_MAX, PUSHED_AHEAD_MAX, PUSHED_MAX } from './schemas.ts';
import type { RegionConfig, RegionPeer } from './settings.ts';
import { readPage, type SyncPage, vectorText } from './sync-page.ts';

const TIMEOUT_MS = 10 * SECOND_MS;
/** The largest page: each operation has a bounded value and signature. */
const PAGE_BYTES_MAX = (OPERATIONS_MAX + PUSHED_AHEAD_MAX) * 4096 + 16 * 1024;

type Noted = Static<typeof pushDirectory.output>;
const NOTED = Compile(pushDirectory.output);

/** Another region refused a request, or did not answer as it should. The message contains nothing of what it sent. */
export class ExchangeFailure extends Error {
  override readonly name = 'ExchangeFailure';
}

/** Requests to other regions. Their addresses come from the operator's configuration, so private ones are allowed; nothing else is. */
export class Exchange {
  readonly #http: HttpClient;
  readonly #identity: RegionIdentity;

  constructor({ peers }: RegionConfig, identity: RegionIdentity) {
    const hosts = peers.map(({ syncUrl }) => new URL(syncUrl).hostname.replace(/^\[|\]$/g, ''));
    this.#http = new HttpClient(new AddressGuard(hosts));
    this.#identity = identity;
  }

  async pull(peer: RegionPeer, known: Vector, digestAt: number | null): Promise<SyncPage> {
    const query = new URLSearchParams({ vector: vectorText(known) });
    if (digestAt !== null) query.set('digest_at', String(digestAt));
    const page = readPage(await this.#send(peer, 'GET', `?${query}`, undefined));
    if (page.region !== peer.name) throw new RefusedBatch('malformed', 'another region answered');
    return page;
  }

  /** Tells a region operations that it should not have to wait for. */
  async push(peer: RegionPeer, operations: readonly Operation[]): Promise<Noted> {
    if (operations.length > PUSHED_MAX) throw new Error('too many operations are pushed at once');
    const answer = await this.#send(peer, 'POST', '', JSON.stringify({ operations }));
    if (!NOTED.Check(answer) || answer.results.length !== operations.length)
      throw new ExchangeFailure('the answer is malformed');
    return answer;
  }

  async #send(peer: RegionPeer, method: 'GET' | 'POST', query: string, body: string | undefined): Promise<unknown> {
    const { status, body: bytes } = await this.#http.send({
      owner: SYSTEM_TENANT,
      url: `${peer.syncUrl}/crdt/sync${query}`,
      method,
      ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
      caPem: this.#identity.pemOf(peer.name),
      identity: this.#identity,
      bodyBytesMax: PAGE_BYTES_MAX,
      timeoutMs: TIMEOUT_MS,
    });
    if (status !== 200) throw new ExchangeFailure(`the region answered with status ${status}`);
    try {
      return JSON.parse(bytes.toString('utf8'));
    } catch {
      throw new ExchangeFailure('the answer is not JSON');
    }
  }
}
