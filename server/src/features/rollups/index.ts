export { connectionResource, UNNAMED } from './counted-entries.ts';
export type { Counting } from './counting.ts';
export { type CountCursor, type CountOptions, type HourlyCount, hourlyCounts, rolledUpSince } from './counts.ts';
export { sharedCounting } from './links.ts';
