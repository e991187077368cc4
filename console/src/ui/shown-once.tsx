import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { copyForAWhile } from './clipboard.ts';
import { Dialog } from './dialog.tsx';
import { Notice } from './notice.tsx';
import { saveFile } from './save-file.ts';
import { shared } from './texts.ts';

/** A credential that the service shows once. It is in the document only while this is open. */
export function ShownOnce({
  title,
  label,
  value,
  isList,
  children,
  fileName,
  whole,
  onClose,
}: {
  title: string;
  label: string;
  value: string;
  /** Each line is one of several, and they are numbered. */
  isList?: boolean;
  children?: ComponentChildren;
  /** Offers it as a file with this name. */
  fileName?: string;
  /** A text around it to be given to somebody. */
  whole?: { readonly title: string; readonly text: string };
  onClose: () => void;
}) {
  return (
    <Dialog title={title} onClose={onClose} isShownOnce>
      <Notice kind="warning">{shared.shownOnce}</Notice>
      {isList ? (
        <ol class="value-text numbered" aria-label={label}>
          {value.split('\n').map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ol>
      ) : (
        <div class="value">
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long value scrolls, which must be possible by keyboard */}
          <output class="value-text" aria-label={label} tabIndex={0}>
            {value}
          </output>
        </div>
      )}
      {children}
      <div class="dialog-foot">
        <Button onClick={onClose}>{shared.stored}</Button>
        {fileName === undefined ? null : <Button onClick={() => saveFile(fileName, value)}>{shared.saveAsFile}</Button>}
        {whole === undefined ? null : <Button onClick={() => void copyForAWhile(whole.text)}>{whole.title}</Button>}
        <Button kind="primary" onClick={() => void copyForAWhile(value)}>
          {shared.copyName}
        </Button>
      </div>
    </Dialog>
  );
}
