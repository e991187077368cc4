import type { ComponentChildren } from 'preact';
import { navigate } from '../app/router.ts';
import { plotTexts as texts } from './texts.ts';

/** Makes a plot of columns a slider: the pointer or the arrow keys choose one, and Enter or a click opens what is behind it. */
export function Chooser({
  label,
  count,
  chosen,
  textOf,
  addressOf,
  onChoose,
  children,
}: {
  label: string;
  count: number;
  chosen: number;
  textOf: (index: number) => string;
  addressOf: (index: number) => string | null;
  onChoose: (index: number) => void;
  children: ComponentChildren;
}) {
  const last = count - 1;
  const at = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return Math.max(0, Math.min(last, Math.floor(((event.clientX - left) / width) * count)));
  };
  const open = (index: number) => {
    const address = addressOf(index);
    if (address !== null) navigate(address);
  };
  const targets: Readonly<Record<string, number>> = {
    ArrowLeft: chosen - 1,
    ArrowDown: chosen - 1,
    ArrowRight: chosen + 1,
    ArrowUp: chosen + 1,
    Home: 0,
    End: last,
  };
  return (
    <div
      class="plot-area"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={chosen}
      aria-valuetext={textOf(chosen)}
      title={texts.keys}
      onPointerMove={(event) => onChoose(at(event))}
      onClick={(event) => event.detail > 0 && open(chosen)}
      onKeyDown={(event) => {
        const target = targets[event.key];
        if (event.key === 'Enter') open(chosen);
        else if (target === undefined) return;
        else onChoose(Math.max(0, Math.min(last, target)));
        event.preventDefault();
      }}
    >
      {children}
    </div>
  );
}
