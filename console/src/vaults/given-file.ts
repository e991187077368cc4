import { useEffect } from 'preact/hooks';

/** A file, or the text of one. */
export type GivenFile = File | string;

/** Whether what is typed or pasted goes into a field. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(input|textarea|select)$/i.test(target.tagName);
}

/** Takes what is pasted while no field has the focus, and files that are dropped anywhere on the page. Dialogs take their own. */
export function useGivenFile(isTaken: boolean, take: (given: GivenFile) => void): void {
  useEffect(() => {
    if (!isTaken) return;
    const isCovered = () => document.querySelector('dialog[open]') !== null;
    const onPaste = (event: ClipboardEvent) => {
      if (isTyping(event.target) || isCovered()) return;
      const given = event.clipboardData?.files[0] ?? event.clipboardData?.getData('text/plain') ?? '';
      if (given !== '') take(given);
    };
    const onDragOver = (event: DragEvent) => {
      if (event.dataTransfer?.types.includes('Files') && !isCovered()) event.preventDefault();
    };
    const onDrop = (event: DragEvent) => {
      const file = event.dataTransfer?.files[0];
      if (file === undefined || isCovered()) return;
      event.preventDefault();
      take(file);
    };
    document.addEventListener('paste', onPaste);
    document.addEventListener('dragover', onDragOver);
    document.addEventListener('drop', onDrop);
    return () => {
      document.removeEventListener('paste', onPaste);
      document.removeEventListener('dragover', onDragOver);
      document.removeEventListener('drop', onDrop);
    };
  }, [isTaken]);
}
