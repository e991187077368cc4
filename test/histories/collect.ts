import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAll } from '../support/load.ts';
import { call } from '../support/service.ts';
import { until } from '../support/until.ts';
import type { AuditEntry, History, Operation, Values, Verification } from './history.ts';
import { noAnswer, type Place, VAULT } from './workload.ts';

const READ_AT_ONCE = 8;
const VERIFIED_EVERY_MS = 4000;
const VERIFIED_WITHIN_MS = 60_000;
const SETTLES_WITHIN_MS = 120_000;

/** Verifies the audit log again and again while everything else goes on. A place that cannot verify it now says nothing. */
export class Verifier {
  readonly verifications: Verification[] = [];
  readonly #places: readonly Place[];
  readonly #token: string;
  readonly #stopping = new AbortController();
  #work: Promise<void> = Promise.resolve();

  constructor(places: readonly Place[], token: string) {
    this.#places = places;
    this.#token = token;
  }

  start(): void {
    this.#work = this.#verifyOften();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#work;
  }

  async #verifyOften(): Promise<void> {
    for (let i = 0; !this.#stopping.signal.aborted; i++) {
      await this.verify(this.#places[i % this.#places.length] as Place);
      await sleep(VERIFIED_EVERY_MS, null, { signal: this.#stopping.signal }).catch(() => {});
    }
  }

  async verify(place: Place): Promise<boolean> {
    const options = { token: this.#token, timeoutMs: VERIFIED_WITHIN_MS };
    const answer = await call(place.url(), 'GET', '/v1/audit/verify', options).catch(noAnswer);
    if (answer?.status !== 200) return false;
    this.verifications.push({ place: place.name, valid: answer.body.valid, text: answer.text });
    return true;
  }
}

/** What is there in the end, as the given places show it: a history that can be checked. */
export async function collect(
  places: readonly Place[],
  token: string,
  operations: readonly Operation[],
  verifier: Verifier,
): Promise<History> {
  const finals = new Map<string, Map<string, Values>>();
  for (const register of new Set(operations.map((operation) => operation.register))) {
    const byPlace = new Map<string, Values>();
    for (const place of places) byPlace.set(place.name, await valuesOf(place, token, register));
    finals.set(register, byPlace);
  }
  const [place] = places;
  assert.ok(place !== undefined);
  const audit = await linkedAudit(place, token, operations);
  for (const one of places) {
    await until(`${one.name} verifies the audit log`, () => verifier.verify(one), SETTLES_WITHIN_MS);
  }
  return { operations, finals, audit, verifications: verifier.verifications };
}

async function valuesOf(place: Place, token: string, register: string): Promise<Values> {
  const path = `/v1/vaults/${VAULT}/secrets/${register}`;
  const newest = await call(place.url(), 'GET', path, { token });
  assert.equal(newest.status, 200, newest.text);
  const values: (string | null)[] = Array.from({ length: newest.body.version }, () => null);
  const versions = values.keys();
  const read = async () => {
    for (const i of versions) {
      const { status, body } = await call(place.url(), 'GET', `${path}?version=${i + 1}`, { token });
      values[i] = status === 200 ? body.value : null;
    }
  };
  await Promise.all(Array.from({ length: READ_AT_ONCE }, read));
  return values;
}

/** The audit log, once every acknowledged request that is in it has been linked; as it is if that takes too long. */
async function linkedAudit(place: Place, token: string, operations: readonly Operation[]): Promise<AuditEntry[]> {
  const acknowledged = new Set(
    operations.flatMap(({ exchanges }) => exchanges.filter(({ version }) => version !== null)).map((e) => e.requestId),
  );
  for (const deadline = performance.now() + SETTLES_WITHIN_MS; ; await sleep(VERIFIED_EVERY_MS)) {
    const entries = (await readAll(place.url(), token, '/v1/audit', 'entries')).map(entryOf);
    const waiting = entries.filter(({ seq, requestId }) => seq === null && acknowledged.has(requestId));
    if (waiting.length === 0 || performance.now() > deadline) return entries;
  }
}

function entryOf(row: Record<string, unknown>): AuditEntry {
  const resource = String(row['resource']);
  const prefix = `vault/${VAULT}/`;
  const { idempotent_replay } = row['details'] as { idempotent_replay?: boolean };
  return {
    seq: row['seq'] as number | null,
    requestId: String(row['request_id']),
    action: String(row['action']),
    decision: String(row['decision']),
    register: resource.startsWith(prefix) ? resource.slice(prefix.length) : null,
    isReplay: idempotent_replay === true,
  };
}
