type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** Knows whether fields of forms have something else than at first. A field that is no longer shown counts as it was left. */
export class FieldChanges {
  readonly #first = new WeakMap<Field, string>();
  readonly #changed = new Set<EventTarget>();

  /** A field gets the focus before it is changed. */
  seen(target: EventTarget | null): void {
    const field = fieldOf(target);
    if (field !== null && !this.#first.has(field)) this.#first.set(field, stateOf(field));
  }

  changed(target: EventTarget | null): void {
    const field = fieldOf(target);
    if (field === null) return;
    if (field.type !== 'file' && this.#first.get(field) === stateOf(field)) this.#changed.delete(field);
    else this.#changed.add(field);
  }

  /** A file was dropped, which no field tells. */
  given(target: EventTarget | null): void {
    if (target !== null) this.#changed.add(target);
  }

  get isSome(): boolean {
    return this.#changed.size > 0;
  }
}

/** What is typed outside a form, as into a search, is kept nowhere anyway. */
function fieldOf(target: EventTarget | null): Field | null {
  if (!(target instanceof HTMLElement) || target.closest('form') === null) return null;
  return target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
    ? target
    : null;
}

function stateOf(field: Field): string {
  return field instanceof HTMLInputElement && /^(checkbox|radio)$/.test(field.type)
    ? String(field.checked)
    : field.value;
}
