import { useRef, useState } from 'preact/hooks';
import { listOf } from './comma-list.ts';
import { useField } from './field.tsx';
import { shared } from './texts.ts';

/** Several short texts. Each is added with Enter or a comma; suggestions may be ignored. */
export function ValueList({
  label,
  hint,
  problem: own,
  field,
  values,
  choices,
  onChange,
}: {
  label: string;
  hint: string;
  problem?: string | null;
  field?: string;
  values: readonly string[];
  choices: readonly string[];
  onChange: (values: readonly string[]) => void;
}) {
  const { id, problem, changed, attributes } = useField({ hint, problem: own ?? null, ...(field && { field }) });
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  // What is typed counts already, as the last value, so that nothing is lost by pressing a button before Enter.
  const added = text.trim() === '' ? values : values.slice(0, -1);
  const type = (typed: string) => {
    setText(typed);
    onChange(typed.trim() === '' ? added : [...added, typed.trim()]);
  };
  const add = (typed: string) => {
    setText('');
    onChange([...new Set([...added, ...listOf(typed)])]);
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {added.length === 0 ? null : (
        <ul class="values" aria-label={label}>
          {added.map((value) => (
            <li key={value}>
              <code>{value}</code>
              <button
                type="button"
                aria-label={shared.removeValue(value)}
                onClick={() => {
                  onChange([...added.filter((each) => each !== value), ...values.slice(added.length)]);
                  input.current?.focus();
                }}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <input
        {...attributes}
        ref={input}
        class="input mono"
        value={text}
        list={`${id}-choices`}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        onInput={(event) => {
          const { value } = event.currentTarget;
          changed();
          if (value.endsWith(',')) add(value);
          else type(value);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || text.trim() === '') return;
          event.preventDefault();
          add(text);
        }}
      />
      <datalist id={`${id}-choices`}>
        {choices.map((choice) => (
          <option key={choice} value={choice} />
        ))}
      </datalist>
      <span class="hint" id={`${id}-hint`}>
        {hint}
      </span>
      {problem === null ? null : (
        <span class="problem" id={`${id}-problem`}>
          {problem}
        </span>
      )}
    </div>
  );
}
