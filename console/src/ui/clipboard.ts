import { whenSessionEnds } from '../app/api.ts';
import { sessionOwner } from '../app/session-owner.ts';
import { clipboardTexts } from './clipboard-texts.ts';
import { toast } from './toasts.tsx';

/** How long a copied value stays in the clipboard. */
const CLIPBOARD_MS = 30_000;
/** When the clipboard is to be cleared. It is stored without the value, so that the page can do it after it was loaded again. */
const DUE = 'coffer-clipboard-due';

let clearing: ReturnType<typeof setTimeout> | undefined;

export async function copyForAWhile(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  toast(clipboardTexts.copied(CLIPBOARD_MS / 1000));
  sessionStorage.setItem(DUE, String(Date.now() + CLIPBOARD_MS));
  clearWhenDue();
}

function clearWhenDue(): void {
  clearTimeout(clearing);
  clearing = setTimeout(clear, Number(sessionStorage.getItem(DUE)) - Date.now());
}

/** A browser allows it only while the page has the focus, so it is tried again when it has it. Nothing is done if no value was copied here. */
async function clear(): Promise<void> {
  clearTimeout(clearing);
  if (sessionStorage.getItem(DUE) === null) return;
  if (!document.hasFocus()) {
    addEventListener('focus', clear, { once: true });
    return;
  }
  try {
    await navigator.clipboard.writeText('');
    sessionStorage.removeItem(DUE);
  } catch {
    toast(clipboardTexts.notCleared);
  }
}

/** What was copied does not outlive the session, nor, as far as the browser still allows it then, the page. */
export function watchClipboard(): void {
  whenSessionEnds(clear);
  addEventListener('pagehide', () => void clear());
  if (sessionStorage.getItem(DUE) === null) return;
  if (sessionOwner() === null) void clear();
  else clearWhenDue();
}
