import type { Route, RouteInput, RouteOutput } from '@coffer/client';
import type { Inputs } from 'preact/hooks';
import { call } from './api.ts';
import { type Loaded, useLoaded } from './loading.ts';

/** The answer of an endpoint, loaded again whenever its input or one of `others` changes. */
export function useCall<R extends Route>(
  route: R,
  input: RouteInput<R> = {} as RouteInput<R>,
  others: Inputs = [],
): Loaded<RouteOutput<R>> {
  return useLoaded((signal) => call(route, input, { signal }), [JSON.stringify(input), ...others]);
}
