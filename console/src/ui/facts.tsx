import type { ComponentChildren } from 'preact';

type Fact = readonly [label: ComponentChildren, value: ComponentChildren];

/** What is known about something, each with its name. Null leaves a line out. */
export function Facts({ of }: { of: readonly (Fact | null)[] }) {
  return (
    <dl class="facts">
      {of.map((fact) =>
        fact === null ? null : (
          <>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </>
        ),
      )}
    </dl>
  );
}
