import { signal } from '@preact/signals';
import { whenSessionEnds } from '../app/api.ts';

/** How many passkeys the signed-in person has, once the list of them is shown; null before. */
export const passkeyCount = signal<number | null>(null);
whenSessionEnds(() => {
  passkeyCount.value = null;
});
