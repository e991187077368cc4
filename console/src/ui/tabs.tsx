import { useRef } from 'preact/hooks';

/** Arrow keys move between tabs, as in programs; the shown part follows. */
export function Tabs<T extends string>({
  label,
  tabs,
  current,
  onChange,
}: {
  label: string;
  tabs: readonly (readonly [name: T, title: string])[];
  current: T;
  onChange: (name: T) => void;
}) {
  const ref = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const index = tabs.findIndex(([name]) => name === current);
    const next = tabs[(index + by + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChange(next[0]);
    ref.current?.querySelector<HTMLElement>(`[data-tab="${next[0]}"]`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={ref}>
      {tabs.map(([name, title]) => (
        <button
          key={name}
          type="button"
          role="tab"
          data-tab={name}
          aria-selected={name === current}
          tabIndex={name === current ? 0 : -1}
          onClick={() => onChange(name)}
          onKeyDown={(event) => {
            if (event.key === 'ArrowRight') move(1);
            if (event.key === 'ArrowLeft') move(-1);
          }}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
