import { useEffect, useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useLoaded } from '../app/loading.ts';
import { loadActorNames } from '../people/index.ts';
import { Button } from '../ui/button.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { actionChoices, groupOf, wordsOf } from './actions.ts';
import { FIELDS, type Field, type Filter, without } from './filter.ts';
import { auditTexts as texts } from './texts.ts';

const VAULTS_MAX = 1000;
/** The name of an action, or with a final star the beginning of several. */
const ACTION_NAME = /^[a-z0-9]+[_:][a-z0-9_:.-]*\*?$|^[a-z0-9]+\*$/;
const ACTIONS = actionChoices(texts.allOf);
const ACTION_WORDS = [...ACTIONS.keys()];
const NARROW = '(max-width: 700px)';

/** A filter in words: “What was done: Read a secret”. */
export function filterText(name: Field, value: string): string {
  return `${texts.fields[name]}: ${valueText(name, value)}`;
}

function valueText(name: Field, value: string): string {
  if (name === 'decision') return texts.decisions[value as keyof typeof texts.decisions] ?? value;
  if (name === 'from' || name === 'to') return new Date(value).toLocaleString('en');
  if (name === 'action') {
    const group = groupOf(value);
    const words = group === undefined ? wordsOf(value) : texts.allOf(group.title);
    if (words !== null) return words;
  }
  return value.endsWith('*') ? texts.beginsWith(value.slice(0, -1)) : value;
}

export function Filters({
  filter,
  onApply,
  onRefused,
}: {
  filter: Filter;
  onApply: (filter: Filter) => void;
  /** Called with whether what was typed cannot be searched for. */
  onRefused: (isRefused: boolean) => void;
}) {
  const [draft, setDraft] = useState<Filter>(filter);
  const [actionText, setActionText] = useState(filter.action === undefined ? '' : valueText('action', filter.action));
  const [isTried, setTried] = useState(false);
  // Names are loaded once somebody begins to filter: each list is an entry of the log that is looked at.
  const [isUsed, setUsed] = useState(false);
  const names = useNames(isUsed);
  const set = (name: Field) => (value: string) =>
    setDraft(value === '' ? without(draft, name) : { ...draft, [name]: value });
  const action = actionText === '' ? '' : actionOf(actionText, filter.action);
  const isBackwards = draft.from !== undefined && draft.to !== undefined && draft.from >= draft.to;
  const isRefused = isTried && (action === null || isBackwards);
  useEffect(() => onRefused(isRefused), [isRefused]);
  const clear = () => {
    setDraft({});
    setActionText('');
    setTried(false);
    onApply({});
  };
  const apply = () => {
    setTried(true);
    if (action === null || isBackwards) return;
    const whole = (name: Field) => {
      const text = draft[name]?.trim() ?? '';
      // What the address named stays exact, and so does a name that is in the list.
      const isExact = text === '' || text === filter[name] || text.endsWith('*') || names[name]?.includes(text);
      return isExact ? text : `${text}*`;
    };
    const typed = { ...draft, action, actor: whole('actor'), vault: whole('vault'), resource: whole('resource') };
    onApply(Object.fromEntries(Object.entries(typed).filter(([, value]) => value !== '')));
  };
  return (
    <details class="card" open={!matchMedia(NARROW).matches}>
      <summary>{texts.filterTitle}</summary>
      <form
        class="stack"
        noValidate
        onFocusIn={() => setUsed(true)}
        onSubmit={(event) => {
          event.preventDefault();
          apply();
        }}
      >
        <div class="filters">
          <TextField
            label={texts.fields.actor}
            hint={texts.actorHint}
            value={draft.actor ?? ''}
            onInput={set('actor')}
            choices={names.actor ?? []}
          />
          <TextField
            label={texts.fields.action}
            hint={texts.actionHint}
            problem={isTried && action === null ? texts.actionUnknown : null}
            value={actionText}
            onInput={setActionText}
            choices={ACTION_WORDS}
          />
          <TextField
            label={texts.fields.vault}
            hint={texts.vaultHint}
            value={draft.vault ?? ''}
            onInput={set('vault')}
            choices={names.vault ?? []}
          />
          <TextField
            label={texts.fields.resource}
            hint={texts.resourceHint}
            value={draft.resource ?? ''}
            onInput={set('resource')}
            isMono
          />
          <Select
            label={texts.fields.decision}
            value={draft.decision ?? ''}
            onChange={set('decision')}
            choices={Object.entries(texts.decisions)}
          />
          <TextField
            label={texts.fields.request_id}
            hint={texts.requestIdHint}
            value={draft.request_id ?? ''}
            onInput={set('request_id')}
            isMono
          />
          <TextField label={texts.fields.from} type="datetime-local" value={draft.from ?? ''} onInput={set('from')} />
          <TextField
            label={texts.fields.to}
            type="datetime-local"
            problem={isBackwards ? texts.fromAfterTo : null}
            value={draft.to ?? ''}
            onInput={set('to')}
          />
        </div>
        <div class="row">
          <Button type="submit" kind="primary">
            {texts.search}
          </Button>
          <Button onClick={clear}>{texts.clear}</Button>
        </div>
      </form>
    </details>
  );
}

/** Names to choose from, as far as this person may see them. */
function useNames(isUsed: boolean): Partial<Record<Field, readonly string[]>> {
  const names = useLoaded(
    async (signal) => {
      if (!isUsed) return {};
      const [actor, { vaults }] = await Promise.all([
        loadActorNames(signal),
        call('GET /v1/vaults', { query: { limit: VAULTS_MAX } }, { signal }),
      ]);
      return { actor, vault: vaults.map(({ name }) => name) };
    },
    [isUsed],
  );
  return names.data ?? {};
}

/** What to filter by for what was typed: words of the list, or the name of an action; null if it is neither. What the address named stays as it is. */
function actionOf(text: string, current: string | undefined): string | null {
  if (current !== undefined && text === valueText('action', current)) return current;
  const typed = text.trim().toLowerCase();
  const words = ACTION_WORDS.find((each) => each.toLowerCase() === typed);
  if (words !== undefined) return ACTIONS.get(words) ?? null;
  return ACTION_NAME.test(typed) ? typed : null;
}

/** The filters that are set, each with a button that removes it. */
export function ActiveFilters({ filter, onApply }: { filter: Filter; onApply: (filter: Filter) => void }) {
  const active = FIELDS.flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : [{ name, text: filterText(name, value) }];
  });
  if (active.length === 0) return null;
  return (
    <ul class="values" aria-label={texts.filters}>
      {active.map(({ name, text }) => (
        <li key={name}>
          <span>{text}</span>
          <button type="button" aria-label={texts.remove(text)} onClick={() => onApply(without(filter, name))}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
