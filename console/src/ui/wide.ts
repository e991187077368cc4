import { type Signal, signal } from '@preact/signals';

/** Room for a list and what was chosen from it side by side. */
const isWide = whether('(min-width: 1600px)');
/** A phone: the buttons of a row stand below its name. */
const isNarrow = whether('(max-width: 700px)');

export function useIsWide(): boolean {
  return isWide.value;
}

export function useIsNarrow(): boolean {
  return isNarrow.value;
}

function whether(query: string): Signal<boolean> {
  const media = matchMedia(query);
  const matches = signal(media.matches);
  media.addEventListener('change', () => {
    matches.value = media.matches;
  });
  return matches;
}
