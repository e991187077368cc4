import { Button } from './button.tsx';
import { shared } from './texts.ts';
import { toast } from './toasts.tsx';

/** A text that is no secret and has to be given elsewhere. */
export function CopyText({ label, text, hint }: { label: string; text: string; hint?: string }) {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    toast(shared.copied);
  };
  return (
    <div class="field">
      <span class="label">{label}</span>
      <div class="value">
        <code class="value-text">{text}</code>
        <Button isSmall label={shared.copyWhat(label)} onClick={() => void copy()}>
          {shared.copyName}
        </Button>
      </div>
      {hint === undefined ? null : <span class="hint">{hint}</span>}
    </div>
  );
}
