import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import type { Action } from '../loading.ts';
import { shared } from '../texts/shared.ts';
import { Button } from './button.tsx';
import { Form } from './form.tsx';
import { ErrorNote } from './notice.tsx';

interface DialogProps {
  title: string;
  children: ComponentChildren;
  onClose: () => void;
  isWide?: boolean;
  /** Escape does not close it, because what it shows is shown once. */
  isKept?: boolean;
}

/** A modal dialog of the browser: it holds the focus, closes with Escape and gives the focus back. */
export function Dialog({ title, children, onClose, isWide, isKept }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (isKept !== true) onClose();
      }}
    >
      <div class="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** A dialog with a form that an action carries out. It stays open with the error if that fails. */
export function FormDialog({
  title,
  action,
  submitText,
  isDanger,
  isWide,
  isIncomplete,
  children,
  onSubmit,
  onClose,
}: DialogProps & {
  action: Action;
  submitText: string;
  isDanger?: boolean;
  isIncomplete?: boolean;
  onSubmit: () => void;
}) {
  return (
    <Dialog title={title} onClose={onClose} isWide={isWide === true}>
      <Form
        error={action.error}
        onSubmit={() => {
          if (isIncomplete !== true) onSubmit();
        }}
      >
        {children}
        <ErrorNote error={action.error} />
        <div class="dialog-foot">
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button
            type="submit"
            kind={isDanger ? 'danger' : 'primary'}
            isBusy={action.isRunning}
            isDisabled={isIncomplete === true}
          >
            {submitText}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
