import assert from 'node:assert/strict';
import type { Service } from './service.ts';

/** The text of `/metrics`. */
export async function metricsText(service: Pick<Service, 'call'>): Promise<string> {
  const answer = await service.call('GET', '/metrics');
  assert.equal(answer.status, 200, answer.text);
  return answer.text;
}

/** The value of one series, named as in the text; undefined if there is none. */
export function seriesValue(text: string, series: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

/** The names of all metrics, without the suffixes of histograms. */
export function metricNames(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => String(name));
}
