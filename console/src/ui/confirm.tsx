import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { FormDialog } from './dialog.tsx';
import { TextField } from './field.tsx';
import { shared } from './texts.ts';

/** Asks before something is done that cannot be undone by one click. With `typed`, its name has to be typed first. */
export function Confirm({
  title,
  children,
  submitText,
  typed,
  isDanger = true,
  work,
  onClose,
}: {
  title: string;
  children: ComponentChildren;
  submitText: string;
  typed?: string;
  isDanger?: boolean;
  work: () => Promise<void>;
  onClose: () => void;
}) {
  const [text, setText] = useState('');
  return (
    <FormDialog
      title={title}
      submitText={submitText}
      isDanger={isDanger}
      isIncomplete={typed !== undefined && text !== typed}
      onClose={onClose}
      submit={work}
    >
      <p>{children}</p>
      {typed === undefined ? null : (
        <TextField label={shared.typeToConfirm(typed)} value={text} onInput={setText} isRequired isFocused isMono />
      )}
    </FormDialog>
  );
}
