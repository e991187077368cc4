import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Action } from '../app/loading.ts';
import { copyForAWhile } from '../ui/clipboard.ts';
import { useReveal } from '../ui/secret-value.tsx';
import { valueTexts as texts } from '../ui/value-texts.ts';

/** Buttons that show and copy the value of a row. `action` belongs to the list, which shows its error. */
export function RowValue({ name, load, action }: { name: string; load: () => Promise<string>; action: Action }) {
  const { value, button } = useReveal(load, action);
  const row = useRef<HTMLButtonElement>(null);
  return (
    <>
      <button ref={row} type="button" class="button quiet small" aria-label={texts.revealOf(name)} {...button}>
        {texts.reveal}
      </button>
      <button
        type="button"
        class="button quiet small"
        aria-label={texts.copyOf(name)}
        onClick={() => void action.run(async () => copyForAWhile(await load()))}
      >
        {texts.copy}
      </button>
      {value === null ? null : <ShownValue label={texts.valueOf(name)} value={value} below={row.current} />}
    </>
  );
}

const GAP_PX = 4;
const EDGE_PX = 8;

/** Lies over the page, next to the button that shows it, so that a long value moves no row. */
function ShownValue({ label, value, below }: { label: string; value: string; below: HTMLElement | null }) {
  const ref = useRef<HTMLOutputElement>(null);
  useLayoutEffect(() => {
    const box = ref.current;
    if (box === null || below === null) return;
    box.showPopover();
    const { top, bottom, right } = below.getBoundingClientRect();
    const { width, height } = box.getBoundingClientRect();
    const fits = bottom + GAP_PX + height <= innerHeight - EDGE_PX;
    box.style.top = `${fits ? bottom + GAP_PX : Math.max(EDGE_PX, top - GAP_PX - height)}px`;
    box.style.left = `${Math.max(EDGE_PX, right - width)}px`;
  }, []);
  return (
    <output ref={ref} class="value-text shown-value" popover="manual" aria-label={label}>
      {value}
    </output>
  );
}
