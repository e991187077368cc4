import { signal } from '@preact/signals';
import { call, me, whenSessionEnds } from '../app/api.ts';
import { mayOne } from '../app/capabilities.ts';
import { loadWaiting, waitingForMe } from '../approvals/waiting.ts';
import { layoutTexts } from './texts.ts';

const openAnomalies = signal(0);
whenSessionEnds(() => {
  openAnomalies.value = 0;
});

interface Waiting {
  readonly count: number;
  readonly text: string;
  readonly isBad: boolean;
}

/** What waits behind a page of the navigation; null if nothing does. */
export function waitingAt(path: string): Waiting | null {
  if (path === 'approvals' && waitingForMe.value > 0) {
    return { count: waitingForMe.value, text: layoutTexts.waiting(waitingForMe.value), isBad: false };
  }
  if (path === 'anomalies' && openAnomalies.value > 0) {
    return { count: openAnomalies.value, text: layoutTexts.open(openAnomalies.value), isBad: true };
  }
  return null;
}

/** Only what the person may see is requested: a refusal would be recorded as one. */
async function loadOpenAnomalies(): Promise<void> {
  const person = me.value?.user.id;
  if (person === undefined || !(await mayOne(['anomalies:read', 'vault/example']))) return;
  const { total } = await call('GET /anomalies', { query: { limit: 1 } });
  if (me.value?.user.id === person) openAnomalies.value = total;
}

/** The counts are a reminder, so a failure is no news. */
export function loadCounts(): void {
  for (const load of [loadWaiting, loadOpenAnomalies]) load().catch(() => {});
}
