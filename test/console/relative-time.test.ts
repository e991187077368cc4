import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relativeTime } from '../../console/src/ui/relative-time.ts';

const NOW = Date.parse('2026-11-14T10:00:00Z');
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

test('a time is rounded as people do, before and after now', () => {
  for (const [ms, text] of [
    [0, 'now'],
    [59 * SECOND, 'in 59 seconds'],
    [59.6 * SECOND, 'in 1 minute'],
    [HOUR - 8 * SECOND, 'in 1 hour'],
    [DAY - 8 * SECOND, 'tomorrow'],
    [30 * DAY, 'in 30 days'],
    [30 * DAY - MINUTE, 'in 30 days'],
    [90 * DAY - MINUTE, 'in 3 months'],
    [-(2 * HOUR - MINUTE), '2 hours ago'],
    [-(1.5 * DAY), '2 days ago'],
    [-8 * SECOND, '8 seconds ago'],
  ] as const)
    assert.equal(relativeTime(new Date(NOW + ms).toISOString(), NOW), text, String(ms));
});
