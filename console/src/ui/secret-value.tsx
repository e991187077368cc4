import type { TargetedKeyboardEvent, TargetedPointerEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Action, useAction } from '../app/loading.ts';
import { Button } from './button.tsx';
import { copyForAWhile } from './clipboard.ts';
import { ErrorNote } from './notice.tsx';
import { toast } from './toasts.tsx';
import { valueTexts } from './value-texts.ts';

/** A shorter press is a click by somebody who did not read the button; the value is not read for it. */
const HOLD_MS = 250;

/**
 * A value that is loaded only when somebody wants to see it. It is shown while the button is held, or until the window loses the focus, and then it is
 * removed from the document. `button` has the handlers of that button.
 */
export function useReveal(load: () => Promise<string>, action: Action) {
  const [value, setValue] = useState<string | null>(null);
  // Whether it is still wanted when it has arrived.
  const isWanted = useRef(false);
  const holding = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // A dialog that asks for a second factor ends the hold too, and nobody let go too early then.
  const isHeldLongEnough = useRef(false);
  const hide = () => {
    isWanted.current = false;
    setValue(null);
  };
  const release = () => {
    clearTimeout(holding.current);
    hide();
  };
  const reveal = () => {
    isWanted.current = true;
    void action.run(async () => {
      const loaded = await load();
      if (isWanted.current) setValue(loaded);
    });
  };
  useEffect(() => {
    const unwatch = hideWhenLeft(hide);
    return () => {
      unwatch();
      clearTimeout(holding.current);
      isWanted.current = false;
    };
  }, []);
  const button = {
    'aria-pressed': value !== null,
    title: valueTexts.holdToReveal,
    // With a mouse or a finger it shows the value for as long as it is held.
    onPointerDown: (event: TargetedPointerEvent<HTMLButtonElement>) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      isHeldLongEnough.current = false;
      holding.current = setTimeout(() => {
        isHeldLongEnough.current = true;
        reveal();
      }, HOLD_MS);
    },
    onPointerUp: () => {
      if (!isHeldLongEnough.current) toast(valueTexts.keepHolding);
      release();
    },
    onPointerCancel: release,
    // A finger that is held would open the menu of the browser.
    onContextMenu: (event: Event) => event.preventDefault(),
    // By keyboard it switches.
    onKeyDown: (event: TargetedKeyboardEvent<HTMLButtonElement>) => {
      if (event.key === 'Escape' && value !== null) hide();
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      if (value === null) reveal();
      else hide();
    },
    onBlur: hide,
  };
  return { value, button };
}

export function SecretValue({ load, label }: { load: () => Promise<string>; label: string }) {
  const action = useAction();
  const { value, button } = useReveal(load, action);
  return (
    <div class="stack">
      <div class="value">
        <output class="value-text" aria-label={label}>
          {value ?? '••••••••••••'}
        </output>
        <button type="button" class="button" aria-busy={action.isRunning} {...button}>
          {valueTexts.reveal}
        </button>
        <Button onClick={() => action.run(async () => copyForAWhile(await load()))} isBusy={action.isRunning}>
          {valueTexts.copy}
        </Button>
      </div>
      <ErrorNote error={action.error} />
    </div>
  );
}

export function hideWhenLeft(hide: () => void): () => void {
  const whenHidden = () => {
    if (document.visibilityState === 'hidden') hide();
  };
  addEventListener('blur', hide);
  document.addEventListener('visibilitychange', whenHidden);
  return () => {
    removeEventListener('blur', hide);
    document.removeEventListener('visibilitychange', whenHidden);
  };
}
