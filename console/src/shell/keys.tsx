import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { href, navigate } from '../app/router.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { shared } from '../ui/texts.ts';
import { toggleRail } from './choices.ts';
import { layoutTexts } from './texts.ts';

const isOpen = signal(false);
/** The second key of "g" comes within this. */
const SEQUENCE_MS = 1200;
const { keys: texts } = layoutTexts;

/** Where the second key after "g" leads. */
const PLACES: Readonly<Record<string, string>> = {
  s: '',
  v: 'vaults',
  e: 'services',
  p: 'people',
  c: 'connections',
  a: 'approvals',
  l: 'audit',
};

export function openKeys(): void {
  isOpen.value = true;
}

/** Letters mean something only outside of fields and dialogs, and never change anything. */
function isForPage({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey || document.querySelector('dialog[open]') !== null) return false;
  return !(target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null);
}

export function Keys() {
  useEffect(() => {
    let startedAt = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent) => {
      if (!isForPage(event)) return;
      const target = PLACES[event.key];
      if (target !== undefined && event.timeStamp - startedAt < SEQUENCE_MS) {
        startedAt = Number.NEGATIVE_INFINITY;
        event.preventDefault();
        navigate(href(target));
        return;
      }
      startedAt = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (event.key === '?') openKeys();
      if (event.key === '[') toggleRail();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  if (!isOpen.value) return null;
  const close = () => {
    isOpen.value = false;
  };
  return (
    <Dialog title={texts.title} onClose={close}>
      <dl class="key-list">
        {texts.list.map(([what, ...keys]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <p class="soft">{texts.note}</p>
      <div class="dialog-foot">
        <Button onClick={close}>{shared.close}</Button>
      </div>
    </Dialog>
  );
}
