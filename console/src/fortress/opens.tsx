import { loadFactors } from '../app/api.ts';
import { type Loaded, useLoaded } from '../app/loading.ts';
import { Badge } from '../ui/badge.tsx';
import { Time } from '../ui/time.tsx';
import { fortressTexts as texts } from './texts.ts';

/** Whether a second factor does not open fortress secrets yet. */
export const isNewFactor = (from: string | null) => from !== null && Date.parse(from) > Date.now();

/** Whether the signed-in person has no second factor that opens fortress secrets. */
export function useAreAllNew(): Loaded<boolean> {
  return useLoaded(async (signal) => (await loadFactors(signal)).every(({ opensFrom }) => isNewFactor(opensFrom)), []);
}

/** Says of one second factor whether it opens fortress secrets, or from when on. */
export function OpensFortress({ from }: { from: string | null }) {
  if (!isNewFactor(from)) return <Badge tone="good">{texts.opens}</Badge>;
  return (
    <>
      {texts.opensLater} <Time at={from} />
    </>
  );
}
