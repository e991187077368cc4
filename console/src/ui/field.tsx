import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { useFieldProblem } from './form.tsx';

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  /** What is wrong with what was typed. What the service finds wrong is shown by `field`. */
  problem?: string | null;
  /** Where its value goes in the request, such as `name` or `metadata/tags`. */
  field?: string | undefined;
}

/** The attributes of an input that has a hint and perhaps a problem. */
export function useField({ hint, problem, field }: Pick<FieldProps, 'hint' | 'problem' | 'field'>) {
  const id = useId();
  const { problem: found, changed } = useFieldProblem(field);
  const shown = problem ?? found;
  const attributes = {
    id,
    'aria-invalid': shown ? true : undefined,
    'aria-describedby': [hint ? `${id}-hint` : '', shown ? `${id}-problem` : ''].filter(Boolean).join(' ') || undefined,
  };
  return { id, problem: shown, changed, attributes };
}

interface TextFieldProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  type?: 'text' | 'password' | 'email' | 'number' | 'date' | 'search' | 'datetime-local';
  isRequired?: boolean;
  isFocused?: boolean;
  autocomplete?: string;
  placeholder?: string;
  maxLength?: number;
  /** Suggestions that the person may ignore. */
  choices?: readonly string[];
  isMono?: boolean;
}

function Around({ id, label, hint, problem, children }: FieldProps & { id: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint ? (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      ) : null}
      {problem ? (
        <span class="problem" id={`${id}-problem`}>
          {problem}
        </span>
      ) : null}
    </div>
  );
}

export function TextField(props: TextFieldProps) {
  const { label, hint, value, onInput, type = 'text', choices } = props;
  const { id, problem, changed, attributes } = useField(props);
  const input = useRef<HTMLInputElement>(null);
  // The attribute works only while a page or dialog opens, and a field may appear later.
  useEffect(() => {
    if (props.isFocused) input.current?.focus();
  }, []);
  return (
    <Around id={id} label={label} hint={hint} problem={problem}>
      <input
        {...attributes}
        ref={input}
        class={props.isMono ? 'input mono' : 'input'}
        // Browsers refuse letters beyond ASCII before the @ of an e-mail address, which the service takes.
        type={type === 'email' ? 'text' : (type as 'text')}
        inputMode={type === 'email' ? 'email' : undefined}
        value={value}
        required={props.isRequired}
        autofocus={props.isFocused}
        autocomplete={props.autocomplete ?? 'off'}
        autocapitalize="none"
        spellcheck={false}
        placeholder={props.placeholder}
        maxLength={props.maxLength}
        list={choices === undefined ? undefined : `${id}-choices`}
        onInput={(event) => {
          changed();
          onInput(event.currentTarget.value);
        }}
      />
      {choices === undefined ? null : (
        <datalist id={`${id}-choices`}>
          {choices.map((choice) => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </Around>
  );
}

export function TextArea({
  label,
  hint,
  problem: own,
  field,
  value,
  onInput,
  isRequired,
  rows = 5,
  isSecret,
}: FieldProps & {
  value: string;
  onInput: (value: string) => void;
  isRequired?: boolean;
  rows?: number;
  /** The browser neither checks its spelling, which may be done elsewhere, nor remembers it. */
  isSecret?: boolean;
}) {
  const { id, problem, changed, attributes } = useField({ hint, problem: own ?? null, field });
  return (
    <Around id={id} label={label} hint={hint} problem={problem}>
      <textarea
        {...attributes}
        class="input"
        rows={rows}
        value={value}
        required={isRequired}
        spellcheck={false}
        autocomplete="off"
        data-secret={isSecret ? '' : undefined}
        onInput={(event) => {
          changed();
          onInput(event.currentTarget.value);
        }}
      />
    </Around>
  );
}

export function Select<T extends string>({
  label,
  hint,
  problem: own,
  field,
  value,
  onChange,
  choices,
}: FieldProps & {
  value: T;
  onChange: (value: T) => void;
  choices: readonly (readonly [value: T, label: string])[];
}) {
  const { id, problem, changed, attributes } = useField({ hint, problem: own ?? null, field });
  return (
    <Around id={id} label={label} hint={hint} problem={problem}>
      <select
        {...attributes}
        class="input"
        value={value}
        onChange={(event) => {
          changed();
          onChange(event.currentTarget.value as T);
        }}
      >
        {choices.map(([choice, text]) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
      </select>
    </Around>
  );
}

export function Checkbox({
  label,
  hint,
  field,
  isChecked,
  onChange,
}: Pick<FieldProps, 'label' | 'hint' | 'field'> & { isChecked: boolean; onChange: (isChecked: boolean) => void }) {
  const { id, problem, changed, attributes } = useField({ hint, field });
  return (
    <div class="checkbox">
      <input
        {...attributes}
        type="checkbox"
        checked={isChecked}
        onChange={(event) => {
          changed();
          onChange(event.currentTarget.checked);
        }}
      />
      <div>
        <label for={id}>{label}</label>
        {hint ? (
          <div class="soft" id={`${id}-hint`}>
            {hint}
          </div>
        ) : null}
        {problem ? (
          <div class="problem" id={`${id}-problem`}>
            {problem}
          </div>
        ) : null}
      </div>
    </div>
  );
}
