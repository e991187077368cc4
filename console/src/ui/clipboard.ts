import { whenSessionEnds } from '../app/api.ts';
import { sessionOwner } from '../app/session-owner.ts';
import { clipboardTexts } from './clipboard-texts.ts';
import { toast } from './toasts.tsx';

/** How long a copied value stays in the clipboard. */
const CLIPBOARD_MS = 30_000;
/** The time at which to clear the clipboard. It is stored, without the value, so that a reloaded page still clears it. */
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

/** A browser allows this only while the page has the focus; otherwise the page tries again when it gets the focus. Without a copied value it does nothing. */
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

/** Clears the clipboard when the session ends, and when the user leaves the page if the browser still allows it then. */
export function watchClipboard(): void {
  whenSessionEnds(clear);
  addEventListener('pagehide', () => void clear());
  if (sessionStorage.getItem(DUE) === null) return;
  if (sessionOwner() === null) void clear();
  else clearWhenDue();
}
