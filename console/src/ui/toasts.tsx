import { signal } from '@preact/signals';
import { shared } from './texts.ts';

interface Link {
  readonly href: string;
  readonly text: string;
}

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly undo?: (() => void) | undefined;
  readonly link?: Link | undefined;
}

const SHOWN_MS = 8000;
/** What leads somewhere stays long enough to be reached by keyboard. */
const LINK_SHOWN_MS = 20_000;
const SHOWN_MAX = 4;
const toasts = signal<readonly Toast[]>([]);
let nextId = 1;

/** Says what happened, and lets it be undone where that is possible. */
export function toast(text: string, undo?: () => void): void {
  show({ text, undo }, SHOWN_MS);
}

/** Says what happened, and where to go on. */
export function toastWithLink(text: string, link: Link): void {
  show({ text, link }, LINK_SHOWN_MS);
}

function show(shown: Omit<Toast, 'id'>, forMs: number): void {
  const id = nextId++;
  toasts.value = [...toasts.value.slice(1 - SHOWN_MAX), { id, ...shown }];
  setTimeout(() => dismiss(id), forMs);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, undo, link }) => (
        <div class="toast" key={id}>
          <span>{text}</span>
          {link === undefined ? null : (
            <a href={link.href} onClick={() => dismiss(id)}>
              {link.text}
            </a>
          )}
          {undo === undefined ? null : (
            <button
              type="button"
              onClick={() => {
                dismiss(id);
                undo();
              }}
            >
              {shared.undo}
            </button>
          )}
          <button type="button" onClick={() => dismiss(id)} aria-label={shared.dismiss}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
