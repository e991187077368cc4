import type { CofferError } from '@coffer/client';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { asCofferError } from '../app/loading.ts';
import type { AccessPath } from './build-graph.ts';

const PAGE = 200;
/** So many are drawn before somebody asks for more. */
const WAYS_AT_ONCE = 2000;

export interface FoundWays {
  readonly paths: readonly AccessPath[];
  /** How many lead through something that the person may not see. */
  readonly hidden: number;
  readonly isLoading: boolean;
  readonly error: CofferError | null;
  /** Null if there are no more, or while they are loaded. */
  readonly loadMore: (() => void) | null;
}

interface State extends Pick<FoundWays, 'paths' | 'hidden' | 'isLoading' | 'error'> {
  readonly cursor: string | null;
}

const NOTHING: State = { paths: [], hidden: 0, isLoading: true, error: null, cursor: null };

/** Ways page by page, so that the first ones are drawn while the others come. */
export function useWays(query: Record<string, string>): FoundWays {
  const [state, setState] = useState(NOTHING);
  const [more, setMore] = useState<{ key: string; cursor: string } | null>(null);
  const key = JSON.stringify(query);
  const from = more?.key === key ? more.cursor : null;
  useEffect(() => {
    const controller = new AbortController();
    setState((previous) => (from === null ? NOTHING : { ...previous, isLoading: true }));
    loadPages(query, from, setState, controller.signal).catch((error) => {
      if (!controller.signal.aborted) {
        setState((previous) => ({ ...previous, isLoading: false, error: asCofferError(error) }));
      }
    });
    return () => controller.abort();
  }, [key, from]);
  const { cursor, ...shown } = state;
  const isEnd = cursor === null || state.isLoading || state.error !== null;
  return { ...shown, loadMore: isEnd ? null : () => setMore({ key, cursor }) };
}

async function loadPages(
  query: Record<string, string>,
  from: string | null,
  change: (next: (previous: State) => State) => void,
  signal: AbortSignal,
): Promise<void> {
  let count = 0;
  for (let cursor = from; ; ) {
    const input = { ...query, limit: PAGE, ...(cursor !== null && { cursor }) };
    const page = await call('GET /v1/access-paths', { query: input }, { signal });
    if (signal.aborted) return;
    cursor = page.next_cursor;
    count += page.access_paths.length;
    const isLoading = cursor !== null && count < WAYS_AT_ONCE;
    const next = cursor;
    change((previous) => ({
      paths: [...previous.paths, ...page.access_paths],
      hidden: previous.hidden + page.hidden,
      isLoading,
      error: null,
      cursor: next,
    }));
    if (!isLoading) return;
  }
}
