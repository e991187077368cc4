import { BoundedCache } from '../../kernel/base/bounded-cache.ts';
import { MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import { headerPart } from '../../kernel/base/headers.ts';
import { newId } from '../../kernel/base/ids.ts';
import { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import { NotModified } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { attributesOf, secretResource } from '../secrets/index.ts';
import { bulkDecrypt } from '../secrets/reading/index.ts';
import { fillTemplate, type PartReader, recordParts } from '../secrets/references/index.ts';
import { authorNow } from './authors.ts';
import { checksumOf, contentText, stateChecksum } from './content.ts';
import { type Authors, basisOf, type Plan, type Planned, planOf, RightsMoved, refuseMoved } from './plan.ts';
import type { DesiredSecret, DesiredState, WithheldSecret } from './schemas.ts';
import { type Entry, type LoadedPolicy, markNow } from './sources.ts';
import * as states from './state-store.ts';
import { type ClusterKey, policiesOf } from './store.ts';

const MAC_PURPOSE = 'cluster-states';
/** How often an answer is begun again because rights or secrets changed meanwhile. */
const TRIES = 5;
const RETRY_AFTER_SECONDS = 1;
/** Anyone who can write to the database could keep the epoch from rising, so cached policies are loaded again at this interval anyway. */
const TRUSTED_MS = 30 * SECOND_MS;
/** For the same reason a plan is not taken for the present one for longer than this. */
const PLAN_TRUSTED_MS = 10 * MINUTE_MS;
const CACHE_BYTES_MAX = 32 * 1024 * 1024;
const POLICY_BYTES = 1024;
const MAPPING_BYTES = 256;

/** The policies of a cluster and the rights of their authors, valid for one epoch of the tenant. */
interface Loaded {
  epoch: number;
  loadedAt: number;
  policies: readonly LoadedPolicy[];
  authors: Authors;
  /** The last plan that was made of them, in short. */
  last: LastPlan | null;
}

/** While the epoch, the address of the caller and the mark stay the same, a new plan would have the same basis. */
interface LastPlan {
  address: string;
  /** The version of the database at which the mark was the current one; null where other processes change it too. */
  version: number | null;
  mark: string;
  basis: string;
}

export class DesiredStates {
  readonly #kernel: Pick<Kernel, 'keyring'>;
  readonly #loaded = new BoundedCache<string, Loaded>({
    bytesMax: CACHE_BYTES_MAX,
    bytesOf: ({ policies }) =>
      policies.reduce((sum, { mappings }) => sum + POLICY_BYTES + mappings.length * MAPPING_BYTES, POLICY_BYTES),
    sharedParts: ({ authors }) => [...authors.values()].flatMap((author) => [...(author?.policies ?? [])]),
  });

  constructor(kernel: Pick<Kernel, 'keyring'>) {
    this.#kernel = kernel;
  }

  /** What the policies of a cluster deliver at this moment. */
  async plan(ctx: Context, clusterId: string): Promise<readonly Planned[]> {
    for (let tries = 0; tries < TRIES; tries++) {
      const plan = await planIfUnmoved(ctx, await this.#load(ctx, clusterId));
      if (plan !== null) return plan.planned;
    }
    throw keepChanging();
  }

  async read(ctx: Context, clusterId: string): Promise<DesiredState | NotModified> {
    const key = { tenant_id: ctx.tenantId, cluster_id: clusterId };
    const isCluster = ctx.principal.kind === 'cluster';
    const isKnown = isCluster && ctx.ifNoneMatch !== undefined;
    const unchanged = isKnown ? await this.#unchangedBasis(ctx, clusterId) : null;
    if (unchanged !== null) {
      const state = await states.findState(ctx.database.read, key);
      if (state !== undefined && isUnchanged(ctx, state, unchanged)) return notModified(ctx, state);
    }
    for (let tries = 0; tries < TRIES; tries++) {
      const loaded = await this.#load(ctx, clusterId);
      const { version } = ctx.database;
      const plan = await planIfUnmoved(ctx, loaded);
      if (plan === null) continue;
      const { planned, mark } = plan;
      // A workload belongs to a connection with limits of its own, which a cluster must not widen.
      if (!isCluster) await refuseUnlessAllReadable(ctx, planned);
      const basis = basisOf(planned);
      loaded.last = mark === null ? null : { address: ctx.call.address, version, mark, basis };
      const state = await states.findState(ctx.database.read, key);
      if (state === undefined) throw notFound('cluster');
      if (isUnchanged(ctx, state, basis)) return notModified(ctx, state);
      const answer = await this.#answer(ctx, state, planned, basis);
      if (answer !== null) return answer;
    }
    throw keepChanging();
  }

  /** The basis that a new plan would have, if that is certain without making one. */
  async #unchangedBasis(ctx: Context, clusterId: string): Promise<string | null> {
    const known = this.#loaded.get(cacheKey(ctx, clusterId));
    if (known?.epoch !== ctx.caller.epoch || performance.now() - known.loadedAt > PLAN_TRUSTED_MS) return null;
    const { last } = known;
    if (last?.address !== ctx.call.address) return null;
    const { version } = ctx.database;
    if (version !== null && version === last.version) return last.basis;
    if ((await markNow(ctx, known.policies)) !== last.mark) return null;
    last.version = version;
    return last.basis;
  }

  /** Null if rights, secrets or the state changed meanwhile. */
  async #answer(
    ctx: Context,
    state: states.StateRow,
    planned: readonly Planned[],
    basis: string,
  ): Promise<DesiredState | null> {
    const secrets = await decrypted(ctx, planned);
    if (secrets === null) return null;
    const withheld = withheldOf(planned);
    const stored = await this.#store(ctx, state, basis, { secrets, withheld });
    if (stored === null) return null;
    const { cluster_id, generation } = stored;
    ctx.setHeader('ETag', etagOf(stored));
    record(ctx, stored, planned);
    return {
      cluster_id,
      generation,
      secrets,
      withheld,
      checksum: stateChecksum(cluster_id, generation, secrets, withheld),
    };
  }

  /** Raises the generation if the content differs from that of the last answer, and notes what is delivered. Null if another answer was faster. */
  async #store(
    ctx: Context,
    known: states.StateRow,
    basis: string,
    { secrets, withheld }: { secrets: readonly DesiredSecret[]; withheld: readonly WithheldSecret[] },
  ): Promise<states.StateRow | null> {
    const { keyring } = this.#kernel;
    const content = Buffer.from(contentText(secrets, withheld));
    const isSame =
      known.generation > 0 &&
      (await keyring.verifyMac(
        ctx.tenantId,
        { purpose: MAC_PURPOSE, version: known.mac_version },
        content,
        known.content_mac,
      ));
    // Contents are compared with each other, so the key never rotates by age.
    const key = await keyring.macKey(ctx.tenantId, MAC_PURPOSE, Number.POSITIVE_INFINITY);
    const changed: states.StateRow = isSame
      ? { ...known, basis }
      : { ...known, basis, generation: known.generation + 1, content_mac: key.mac(content), mac_version: key.version };
    return ctx.database.transaction(async (tx) => {
      const locked = await states.lockState(tx, known);
      if (locked?.generation !== known.generation || locked.basis !== known.basis) return null;
      const { generation, content_mac, mac_version } = changed;
      if (basis !== known.basis) await states.updateState(tx, known, { basis, generation, content_mac, mac_version });
      await states.insertApply(tx, {
        tenant_id: known.tenant_id,
        cluster_id: known.cluster_id,
        apply_id: newId('apply', ctx.now),
        kind: 'delivered',
        generation,
        secrets: secrets.length,
        withheld: withheld.length,
        results: '[]',
        created_at: ctx.now,
      });
      return changed;
    });
  }

  async #load(ctx: Context, clusterId: string): Promise<Loaded> {
    const { tenantId } = ctx;
    const { epoch } = ctx.caller;
    const known = this.#loaded.get(cacheKey(ctx, clusterId));
    if (known?.epoch === epoch && performance.now() - known.loadedAt <= TRUSTED_MS) return known;
    const loadedAt = performance.now();
    const { read } = ctx.database;
    const key: ClusterKey = { tenant_id: tenantId, cluster_id: clusterId };
    const policies = (await policiesOf(read, key)).map((row) => ({
      row,
      mappings: row.mappings === null ? [] : (JSON.parse(row.mappings) as [string, string][]),
    }));
    const authors = new Map<string, Awaited<ReturnType<typeof authorNow>>>();
    for (const { row } of policies) {
      if (!authors.has(row.author_id)) authors.set(row.author_id, await authorNow(read, tenantId, row.author_id));
    }
    const loaded = { epoch, loadedAt, policies, authors, last: null };
    this.#loaded.set(cacheKey(ctx, clusterId), loaded);
    return loaded;
  }
}

function keepChanging(): CofferError {
  return new CofferError('UNAVAILABLE', 'The secrets of the cluster keep changing: repeat the request.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** Null if rights changed while templates were resolved for it. */
function planIfUnmoved(ctx: Context, { policies, authors }: Loaded): Promise<Plan | null> {
  return planOf(ctx, policies, authors).catch((error: unknown) => {
    if (error instanceof RightsMoved) return null;
    throw error;
  });
}

function cacheKey({ tenantId }: Context, clusterId: string): string {
  return `${tenantId} ${clusterId}`;
}

function isUnchanged(ctx: Context, state: states.StateRow, basis: string): boolean {
  return basis === state.basis && isNamed(ctx.ifNoneMatch, etagOf(state));
}

function notModified(ctx: Context, state: states.StateRow): NotModified {
  ctx.setHeader('ETag', etagOf(state));
  ctx.record.describe({ generation: state.generation, not_modified: true });
  return new NotModified();
}

/** A caller who gets what the cluster gets must be allowed to read all of it. */
export async function refuseUnlessAllReadable(ctx: Context, planned: readonly Planned[]): Promise<void> {
  const slice = TimeSlice.of(ctx.tenantId);
  for (const { entries } of planned) {
    for (const row of entries.flatMap(({ row: whole, template }) => [whole, ...(template?.parts ?? [])])) {
      const pause = slice.pause();
      if (pause !== undefined) await pause;
      if (ctx.access.may('secrets:read', secretResource(row.vault, row.path), attributesOf(row))) continue;
      throw new CofferError(
        'INSUFFICIENT_PRIVILEGE',
        'The cluster gets secrets that you may not read: this takes secrets:read on all of them.',
        { auditReason: 'the cluster gets more than the caller may read' },
      );
    }
  }
}

/** The values of every policy that delivers; null if one of them is no longer what was planned. */
async function decrypted(ctx: Context, planned: readonly Planned[]): Promise<DesiredSecret[] | null> {
  const delivered = planned.filter(({ withheld }) => withheld === null);
  const rows = [
    ...new Map(delivered.flatMap(({ entries }) => entries.map(({ row }) => [row.secret_id, row]))).values(),
  ];
  const values = new Map<string, string>();
  try {
    for await (const opened of bulkDecrypt.acrossVaults(ctx, rows, refuseMoved)) {
      for (const { row, value } of opened) values.set(row.secret_id, value);
    }
    if (values.size < rows.length) return null;
    const secrets: DesiredSecret[] = [];
    for (const { policy, entries } of delivered) {
      const { namespace, secret_name: name, secret_type: type } = policy;
      const data: Record<string, string> = {};
      for (const entry of entries) {
        const value = await deliveredValue(ctx, entry, values.get(entry.row.secret_id) ?? '');
        data[entry.key] = Buffer.from(value, 'utf8').toString('base64');
      }
      const secret = { namespace, name, type, data };
      secrets.push({ ...secret, checksum: checksumOf(secret) });
    }
    return secrets;
  } catch (error) {
    if (error instanceof RightsMoved) return null;
    throw error;
  }
}

const UNMOVED: PartReader = { action: 'secrets:read', mayRead: refuseMoved, mayStillRead: refuseMoved };

function deliveredValue(ctx: Context, { template }: Entry, text: string): Promise<string> | string {
  return template === undefined ? text : fillTemplate(ctx, { text }, template.parts, UNMOVED);
}

function withheldOf(planned: readonly Planned[]): WithheldSecret[] {
  return planned.flatMap(({ policy, withheld }) =>
    withheld === null
      ? []
      : [{ policy_id: policy.policy_id, namespace: policy.namespace, name: policy.secret_name, reason: withheld }],
  );
}

/** One entry for each path whose value is delivered, and one for each policy that delivers nothing. */
function record(ctx: Context, { cluster_id, generation }: states.StateRow, planned: readonly Planned[]): void {
  let paths = 0;
  for (const { policy, entries, withheld } of planned) {
    const { policy_id, namespace, secret_name } = policy;
    const about = { cluster: cluster_id, policy: policy_id, namespace, secret_name, generation };
    if (withheld !== null) {
      ctx.record.addEntry('cluster_policies:withhold', `cluster/${cluster_id}`, { ...about, reason: withheld });
      continue;
    }
    for (const { key, row, template } of entries) {
      paths++;
      recordParts(ctx, secretResource(row.vault, row.path), template?.parts ?? [], true);
      ctx.record.addEntry('secrets:read', secretResource(row.vault, row.path), {
        secret: row.secret_id,
        version: row.version,
        via: 'cluster',
        key,
        ...about,
      });
    }
  }
  const withheld = planned.filter((one) => one.withheld !== null).length;
  ctx.record.describe({ generation, secrets: planned.length - withheld, withheld, paths });
}

/** Of the generation and the keyed MAC: a plain digest would end up in the logs of proxies, where somebody could guess values by it. */
function etagOf({ generation, content_mac }: states.StateRow): string {
  return `"${generation}-${Buffer.from(content_mac).toString('hex').slice(0, 32)}"`;
}

function isNamed(header: string | undefined, etag: string): boolean {
  return header?.split(',').some((one) => headerPart(one).replace(/^W\//, '') === etag) ?? false;
}
