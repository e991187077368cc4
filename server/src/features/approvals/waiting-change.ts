import { invalidField } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import { type WaitingChange, type WaitingValues, waitingValues } from '../secrets/review/index.ts';
import { reviewedPlaces } from './approvers.ts';
import type { ApprovalFacts } from './store.ts';
import type { StoredRequest } from './stored-request.ts';

/** What the requests that change secrets have in common. */
interface SentChange {
  op?: string;
  path?: string;
  value?: string;
  metadata?: { tags?: readonly string[] | null };
  protection?: string;
  to_version?: number;
}

/** The values of one change in a request that waits. */
export async function revealed(
  ctx: Context,
  row: ApprovalFacts,
  stored: StoredRequest,
  path: string | undefined,
): Promise<WaitingValues & { path: string }> {
  const change = changeAt(row, stored, path);
  return { path: change.path, ...(await waitingValues(ctx, change)) };
}

function changeAt(row: ApprovalFacts, { params, body }: StoredRequest, path: string | undefined): WaitingChange {
  const sent = (body ?? {}) as SentChange & { changes?: readonly SentChange[] };
  const changes = sent.changes ?? [{ ...sent, path: params['path'] ?? sent.path }];
  const wanted = path ?? (changes.length === 1 ? changes[0]?.path : undefined);
  if (wanted === undefined)
    throw invalidField('/query/path', 'is required, because the request changes several secrets');
  const change = changes.find((one) => one.path === wanted);
  if (change === undefined) throw invalidField('/query/path', 'is the path of no change in this request');
  const { value, metadata, protection, to_version } = change;
  const vault = params['vault'] ?? '';
  const [, environment = ''] = reviewedPlaces(row).find(([place]) => place === `vault/${vault}/${wanted}`) ?? [];
  return { vault, path: wanted, environment, value, tags: metadata?.tags, protection, to_version };
}
