import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import type { Example } from './example.ts';
import { Tabs } from './tabs.tsx';
import { shared } from './texts.ts';
import { toast } from './toasts.tsx';

/** Code to copy, one language at a time, and what installs what it needs. It holds no credentials. */
export function Examples({ label, examples }: { label: string; examples: readonly Example[] }) {
  const [chosen, setChosen] = useState('');
  const shown = examples.find(({ title }) => title === chosen) ?? examples[0];
  if (shown === undefined) return null;
  const { title, code, install } = shown;
  return (
    <div class="stack">
      {examples.length === 1 ? null : (
        <Tabs
          label={label}
          tabs={examples.map((each) => [each.title, each.title])}
          current={title}
          onChange={setChosen}
        />
      )}
      {install === undefined ? null : (
        <>
          <strong>{shared.install}</strong>
          <Code label={`${shared.install}: ${title}`} code={install} />
          <strong>{shared.thenCode}</strong>
        </>
      )}
      <Code label={`${label}: ${title}`} code={code} />
    </div>
  );
}

export function Code({ label, code }: { label: string; code: string }) {
  const copy = async () => {
    await navigator.clipboard.writeText(code);
    toast(shared.copied);
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <section class="example" tabIndex={0} aria-label={label}>
        <pre>{code}</pre>
      </section>
      <div>
        <Button isSmall label={shared.copyWhat(label)} onClick={() => void copy()}>
          {shared.copyName}
        </Button>
      </div>
    </>
  );
}
