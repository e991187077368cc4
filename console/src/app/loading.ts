import { CofferError } from '@coffer/client';
import { type Inputs, useCallback, useEffect, useState } from 'preact/hooks';
import { isUnreachable, reconnections } from './reachable.ts';
import { cancelled } from './step-up-prompt.ts';
import { sealingTexts } from './texts.ts';

export interface Loaded<T> {
  /** What was loaded last; null before that. It stays while it is loaded again. */
  readonly data: T | null;
  readonly error: CofferError | null;
  readonly isLoading: boolean;
  reload(): void;
  /** Shows a change before the service has confirmed it. */
  set(change: (data: T) => T): void;
}

/** Loads when the page opens and whenever an input changes. A load that was overtaken by a later one is aborted. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, inputs: Inputs): Loaded<T> {
  const [state, setState] = useState<Pick<Loaded<T>, 'data' | 'error' | 'isLoading'>>({
    data: null,
    error: null,
    isLoading: true,
  });
  const [count, setCount] = useState(0);
  const reconnected = reconnections.value;
  useEffect(() => {
    if (isUnreachable(state.error)) setCount((previous) => previous + 1);
  }, [reconnected]);
  useEffect(() => {
    const controller = new AbortController();
    setState((previous) => ({ ...previous, isLoading: true }));
    load(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ data, error: null, isLoading: false });
      },
      (error) => {
        if (!controller.signal.aborted)
          setState((previous) => ({ data: previous.data, error: asCofferError(error), isLoading: false }));
      },
    );
    return () => controller.abort();
  }, [...inputs, count]);
  const reload = useCallback(() => setCount((previous) => previous + 1), []);
  const set = useCallback(
    (change: (data: T) => T) =>
      setState((previous) => (previous.data === null ? previous : { ...previous, data: change(previous.data) })),
    [],
  );
  return { ...state, reload, set };
}

/** An action that a button starts: one at a time, with its error. */
export interface Action {
  readonly isRunning: boolean;
  readonly error: CofferError | null;
  /** Resolves to whether it succeeded. */
  run(work: () => Promise<unknown>): Promise<boolean>;
  clear(): void;
}

export function useAction(): Action {
  const [state, setState] = useState<Pick<Action, 'isRunning' | 'error'>>({ isRunning: false, error: null });
  return {
    ...state,
    clear: () => setState({ isRunning: false, error: null }),
    async run(work) {
      if (state.isRunning) return false;
      setState({ isRunning: true, error: null });
      try {
        await work();
        setState({ isRunning: false, error: null });
        return true;
      } catch (error) {
        const isCancelled = error instanceof CofferError && cancelled.has(error);
        setState({ isRunning: false, error: isCancelled ? null : asCofferError(error) });
        return false;
      }
    },
  };
}

export function asCofferError(error: unknown): CofferError {
  if (error instanceof CofferError) return error;
  const sealing = error instanceof Error ? sealingTexts[error.name] : undefined;
  if (sealing !== undefined) return new CofferError(sealing, { code: 'INVALID_ARGUMENT', cause: error });
  // A mistake of the console itself: shown to developers in the browser, and to people as what it is.
  console.error(error);
  return new CofferError('The console made a mistake. Load the page again.', { code: 'UNEXPECTED_ANSWER' });
}
