import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import { processorSeconds } from './support/processor-time.ts';

/** What `test/run.ts` counts, as a line of JSON for each event of a process of tests. */
export type EventLine =
  | { type: 'announced' | 'ended'; name: string; file: string; line: number }
  | { type: 'passed' | 'skipped'; file: string; ms: number }
  | { type: 'failed'; name: string; file: string; error: string }
  /** What the process has used so far. */
  | { type: 'processor'; seconds: number };

export default async function* eventLines(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) for (const line of linesOf(event)) yield `${JSON.stringify(line)}\n`;
}

function linesOf({ type, data }: TestEvent): EventLine[] {
  if (type === 'test:enqueue' || type === 'test:complete') {
    const { name, file = '', line = 0, nesting } = data;
    const event: EventLine = { type: type === 'test:enqueue' ? 'announced' : 'ended', name, file, line };
    return nesting > 0 ? [event] : [event, { type: 'processor', seconds: processorSeconds() }];
  }
  if (type === 'test:pass') {
    if (data.details.type === 'suite') return [];
    const { file = '', skip, details } = data;
    return [{ type: skip === undefined ? 'passed' : 'skipped', file, ms: details.duration_ms }];
  }
  if (type === 'test:fail') {
    const { name, file = '', details } = data;
    // A suite whose own hooks failed has checked something after its tests, for example what the service logged.
    const isOfItsTests = (details.error as { failureType?: string }).failureType === 'subtestsFailed';
    return details.type === 'suite' && isOfItsTests
      ? []
      : [{ type: 'failed', name, file, error: inspect(details.error.cause ?? details.error) }];
  }
  return [];
}
