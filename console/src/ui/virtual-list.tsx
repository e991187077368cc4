import type { ComponentChildren, VNode } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

const OVERSCAN = 12;
/** The rows in the document change by this many at a time, so that a slow movement does not draw them anew with each pixel. */
const STEP = 4;
const ASSUMED_HEIGHT_PX = 800;

/** A long list of rows of one height, of which only those in sight are in the document. */
export function VirtualList<T extends object>({
  label,
  items,
  rowHeight,
  keyOf,
  shownFirst = null,
  row,
}: {
  label: string;
  items: readonly T[];
  rowHeight: number;
  keyOf: (item: T) => string;
  /** The key of the row that is in sight at first. */
  shownFirst?: string | null;
  row: (item: T) => ComponentChildren;
}) {
  const ref = useRef<HTMLElement>(null);
  const [range, setRange] = useState(() => rangeOf(0, ASSUMED_HEIGHT_PX, rowHeight));
  useLayoutEffect(() => {
    const box = ref.current;
    if (box === null) return;
    const measure = () => {
      const next = rangeOf(box.scrollTop, box.clientHeight, rowHeight);
      setRange((known) => (known.first === next.first && known.last === next.last ? known : next));
    };
    const first = shownFirst === null ? -1 : items.findIndex((item) => keyOf(item) === shownFirst);
    if (first !== -1) box.scrollTop = first * rowHeight - box.clientHeight / 2;
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    box.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      box.removeEventListener('scroll', measure);
    };
  }, []);
  // A row that stays in sight is the same element as before, so that it is not compared again while the list moves.
  const drawn = useMemo(() => new WeakMap<T, VNode>(), [row]);
  const drawnRow = (item: T) => {
    const known = drawn.get(item);
    if (known !== undefined) return known;
    const made = <div key={keyOf(item)}>{row(item)}</div>;
    drawn.set(item, made);
    return made;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <section class="virtual" ref={ref} tabIndex={0} aria-label={label}>
      <div class="virtual-space" style={{ height: `${items.length * rowHeight}px` }}>
        <div class="virtual-rows" style={{ transform: `translateY(${range.first * rowHeight}px)` }}>
          {items.slice(range.first, range.last).map(drawnRow)}
        </div>
      </div>
    </section>
  );
}

function rangeOf(top: number, height: number, rowHeight: number): { first: number; last: number } {
  const first = Math.floor(top / rowHeight) - OVERSCAN;
  const last = Math.ceil((top + height) / rowHeight) + OVERSCAN;
  return { first: Math.max(0, first - (first % STEP)), last: last + STEP - (last % STEP) };
}
