import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { FormDialog } from './dialog.tsx';
import { TextField } from './field.tsx';
import { Icon } from './icon.tsx';
import { shared } from './texts.ts';

/** Asks before something is done that cannot be undone by one click. With `typed`, its name has to be typed first. */
export function Confirm({
  title,
  children,
  submitText,
  typed,
  production,
  isDanger = true,
  work,
  onClose,
}: {
  title: string;
  children: ComponentChildren;
  submitText: string;
  typed?: string;
  /** The name of what it is about in production, which is said above the question. */
  production?: string;
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
      {production === undefined ? null : <ProductionHead name={production} />}
      <p>{children}</p>
      {typed === undefined ? null : (
        <TextField label={shared.typeToConfirm(typed)} value={text} onInput={setText} isRequired isFocused isMono />
      )}
    </FormDialog>
  );
}

function ProductionHead({ name }: { name: string }) {
  return (
    <div class="production-bar">
      <Icon name="shield" />
      <strong>{shared.stages['production']}</strong>
      <span>{name}</span>
    </div>
  );
}
