import { useState } from 'preact/hooks';

/** Where a value goes in the request, such as `metadata/tags`; null if no problem of the request is about it. */
type RequestField = string | null;

/** What is typed and chosen in a form. `text`, `choice` and `check` connect a value with its field; its name is also that in the request, unless another is given. */
export function useForm<V extends object>(initial: V) {
  const [values, setValues] = useState(initial);
  const set = (changes: Partial<V>) => setValues((previous) => ({ ...previous, ...changes }));
  const setOne = <K extends keyof V>(name: K, value: V[K]) => set({ [name]: value } as unknown as Partial<V>);
  type Name = keyof V & string;
  return {
    values,
    set,
    text: <K extends Name>(name: K, field: RequestField = name) => ({
      field: field ?? undefined,
      value: values[name],
      onInput: (value: V[K]) => setOne(name, value),
    }),
    choice: <K extends Name>(name: K, field: RequestField = name) => ({
      field: field ?? undefined,
      value: values[name],
      onChange: (value: V[K]) => setOne(name, value),
    }),
    check: <K extends Name>(name: K, field: RequestField = name) => ({
      field: field ?? undefined,
      isChecked: values[name],
      onChange: (value: V[K]) => setOne(name, value),
    }),
  };
}
