import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type Action, useAction } from '../app/loading.ts';
import { Button } from './button.tsx';
import { FieldChanges } from './field-changes.ts';
import { Form } from './form.tsx';
import { ErrorNote } from './notice.tsx';
import { shared } from './texts.ts';

interface DialogProps {
  title: string;
  children: ComponentChildren;
  onClose: () => void;
  isWide?: boolean;
  /** Escape does not close it, because what it shows is shown once. */
  isShownOnce?: boolean;
}

/** A modal dialog of the browser: it holds the focus, closes with Escape and gives the focus back. Escape asks first if that would discard something. */
export function Dialog({ title, children, onClose, isWide, isShownOnce }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const changes = useRef(new FieldChanges()).current;
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const leave = () => {
    if (isShownOnce === true) return;
    if (changes.isSome) setAsking(true);
    else onClose();
  };
  return (
    <dialog
      ref={ref}
      class={isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onFocusIn={({ target }) => changes.seen(target)}
      onInput={({ target }) => changes.changed(target)}
      onChange={({ target }) => changes.changed(target)}
      onDrop={({ target }) => changes.given(target)}
      onCancel={(event) => {
        // A file chooser that is closed sends the same event.
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        leave();
      }}
      onClose={(event) => {
        // Browsers close it at the second Escape, whatever the page wants.
        event.currentTarget.showModal();
        leave();
      }}
    >
      <div class="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
      {isAsking ? <AskToDiscard onKeep={() => setAsking(false)} onDiscard={onClose} /> : null}
    </dialog>
  );
}

/** It has no fields, so Escape closes it at once and leads back to the typed values. */
function AskToDiscard({ onKeep, onDiscard }: { onKeep: () => void; onDiscard: () => void }) {
  return (
    <Dialog title={shared.discardTitle} onClose={onKeep}>
      <p>{shared.discardText}</p>
      <div class="dialog-foot">
        <Button onClick={onKeep}>{shared.keepTyped}</Button>
        <Button kind="danger" onClick={onDiscard}>
          {shared.discard}
        </Button>
      </div>
    </Dialog>
  );
}

/** A dialog with a form. It stays open with the error if what it does fails; `action` is given where something else shares it. */
export function FormDialog({
  title,
  action,
  submitText,
  isDanger,
  isWide,
  isIncomplete,
  children,
  submit,
  onClose,
}: DialogProps & {
  action?: Action;
  submitText: string;
  isDanger?: boolean;
  isIncomplete?: boolean;
  submit: () => Promise<unknown>;
}) {
  const own = useAction();
  const { error, isRunning, run } = action ?? own;
  return (
    <Dialog title={title} onClose={onClose} isWide={isWide === true}>
      <Form
        error={error}
        onSubmit={() => {
          if (isIncomplete !== true) void run(submit);
        }}
      >
        {children}
        <ErrorNote error={error} />
        <div class="dialog-foot">
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button
            type="submit"
            kind={isDanger ? 'danger' : 'primary'}
            isBusy={isRunning}
            isDisabled={isIncomplete === true}
          >
            {submitText}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
