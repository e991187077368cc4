import { lazyPart } from '../ui/lazy-part.tsx';

/** The reads of a secret as a plot, loaded when it is shown first. */
export const ReadsPlot = lazyPart<{ resource: string; isClose: boolean; maySeeLog: boolean }>(
  () => import('./reads.tsx'),
);
