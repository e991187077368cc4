import type { CofferError } from '@coffer/client';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type FieldProblem, fieldOf, fieldProblems, sentenceAt } from './field-problems.ts';

interface FormState {
  readonly error: CofferError | null;
  /** The fields that are shown, by where their values go in the request. */
  readonly fields: Set<{ readonly name: string }>;
}

const WRONG = '[aria-invalid="true"]';
const Current = createContext<FormState | null>(null);

/** A form whose fields show what the service found wrong with them. After a refusal the first of them gets the focus, and what is said is brought into
 * sight. */
export function Form({
  error,
  onSubmit,
  label,
  class: className = 'stack',
  children,
}: {
  error: CofferError | null;
  onSubmit: () => void;
  label?: string | undefined;
  class?: string;
  children: ComponentChildren;
}) {
  const ref = useRef<HTMLFormElement>(null);
  const { current: fields } = useRef<FormState['fields']>(new Set());
  useEffect(() => {
    if (error === null) return;
    const wrong = fieldProblems(error).length === 0 ? null : ref.current?.querySelector<HTMLElement>(WRONG);
    const folded = wrong?.closest('details');
    if (folded) folded.open = true;
    wrong?.focus();
    const shown = wrong?.closest('.field, .checkbox') ?? ref.current?.querySelector('[role="alert"]');
    shown?.scrollIntoView({ block: 'nearest' });
  }, [error]);
  return (
    <Current.Provider value={{ error, fields }}>
      <form
        ref={ref}
        class={className}
        aria-label={label}
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        {children}
      </form>
    </Current.Provider>
  );
}

/** Says to the form around it that problems of this part of the request are shown here. */
export function useShownHere(name: string | undefined): FormState | null {
  const form = useContext(Current);
  useLayoutEffect(() => {
    if (name === undefined || form === null) return;
    const own = { name };
    form.fields.add(own);
    return () => {
      form.fields.delete(own);
    };
  }, [name, form?.fields]);
  return form;
}

/** What the service found wrong with a field, until its value is changed. `changed` is called when it is. */
export function useFieldProblem(name: string | undefined): { problem: string | null; changed: () => void } {
  const form = useShownHere(name);
  const [corrected, setCorrected] = useState<CofferError | null>(null);
  const error = form?.error ?? null;
  const changed = () => setCorrected(error);
  if (name === undefined || form === null || error === null || error === corrected) return { problem: null, changed };
  const names = [...namesOf(form), name];
  const own = fieldProblems(error).filter((each) => fieldOf(each, names) === name);
  return { problem: own.map((each) => sentenceAt(name, each)).join(' ') || null, changed };
}

/** Problems that no field of the form around it shows. */
export function useProblemsWithoutField(error: CofferError | null): readonly FieldProblem[] {
  const form = useContext(Current);
  const problems = fieldProblems(error);
  if (form === null || form.error !== error) return problems;
  const names = namesOf(form);
  return problems.filter((each) => fieldOf(each, names) === null);
}

const namesOf = ({ fields }: FormState) => [...fields].map(({ name }) => name);
