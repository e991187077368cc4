import type { CofferError } from '@coffer/client';
import { type ComponentChildren, type ComponentType, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Loaded } from '../app/loading.ts';
import { isUnreachable } from '../app/reachable.ts';
import { takesTrustedFactor } from '../app/step-up-prompt.ts';
import { Button } from './button.tsx';
import { fieldProblems, messageOf, sentenceOf } from './field-problems.ts';
import { useProblemsWithoutField } from './form.tsx';
import { Icon } from './icon.tsx';
import type { IconName } from './icon-names.ts';
import { problemTexts } from './problem-texts.ts';
import { shared } from './texts.ts';

/** What is shown for a refusal that takes an older second factor. The shell knows that part; parts know no page. */
export const TrustedFactorHelp = createContext<ComponentType<{ requestId: string | null }> | null>(null);

type Kind = 'good' | 'warning' | 'danger';

export function Notice({ kind, children }: { kind?: Kind; children: ComponentChildren }) {
  return <div class={kind === undefined ? 'note' : `note ${kind}`}>{children}</div>;
}

/** What went wrong, what to do, and, unless something was only typed wrong, the id under which the operator finds the request. What a field of the form shows is not repeated. */
export function ErrorNote({ error, retry }: { error: CofferError | null; retry?: (() => void) | undefined }) {
  const rest = useProblemsWithoutField(error);
  const Help = useContext(TrustedFactorHelp);
  if (error === null) return null;
  if (Help !== null && takesTrustedFactor(error)) return <Help requestId={error.requestId} />;
  const isMarked = rest.length < fieldProblems(error).length;
  const isAboutFields = isMarked || rest.length > 0;
  return (
    <div class="note danger" role="alert">
      <div>{isAboutFields ? (isMarked ? problemTexts.marked : problemTexts.notAccepted) : messageOf(error)}</div>
      {rest.length === 0 ? null : (
        <ul>
          {rest.map((problem) => (
            <li key={sentenceOf(problem)}>{sentenceOf(problem)}</li>
          ))}
        </ul>
      )}
      <RequestId of={error.requestId} />
      {retry === undefined ? null : (
        <div>
          <Button isSmall onClick={retry}>
            {shared.retry}
          </Button>
        </div>
      )}
    </div>
  );
}

export function RequestId({ of: id }: { of: string | null }) {
  if (id === null) return null;
  return (
    <div class="request">
      {shared.requestId} <code>{id}</code>
    </div>
  );
}

/** An empty list says what the thing is for and how to get the first one. */
export function Empty({
  title,
  icon = 'search',
  children,
  action,
}: {
  title: string;
  icon?: IconName;
  children?: ComponentChildren;
  action?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <span class="tile">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      {children ? <p class="soft">{children}</p> : null}
      {action}
    </div>
  );
}

/** Shows what was loaded, or that it is loading, or why it cannot be shown. */
export function WhenLoaded<T>({ of, children }: { of: Loaded<T>; children: (data: T) => ComponentChildren }) {
  // The frame says that the service does not respond, and it is loaded again once it does.
  const isWaiting = isUnreachable(of.error);
  if (of.data === null && (of.error === null || isWaiting)) {
    return (
      <div class="loading" role="status">
        <span class="visually-hidden">{shared.loading}</span>
        <Bones />
      </div>
    );
  }
  return (
    <>
      {isWaiting ? null : <ErrorNote error={of.error} retry={of.reload} />}
      {of.data === null ? null : children(of.data)}
    </>
  );
}

const BONES = [0, 1, 2, 3, 4] as const;

/** The shape of a list, for what takes longer than a moment. */
function Bones() {
  return (
    <div class="bones" aria-hidden="true">
      {BONES.map((each) => (
        <div key={each}>
          <span class="bone" />
          <span class="bone" />
          <span class="bone" />
        </div>
      ))}
    </div>
  );
}
