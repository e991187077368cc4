export { connectionResource, UNNAMED } from './counted-entries.ts';
export { type CountCursor, type HourlyCount, hourlyCounts, rolledUpSince } from './counts.ts';
export { sharedCounting } from './links.ts';
