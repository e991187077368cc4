import { useState } from 'preact/hooks';
import { Button } from '../ui/button.tsx';
import { Select, TextArea, TextField } from '../ui/field.tsx';
import { useShownHere } from '../ui/form.tsx';
import { Notice } from '../ui/notice.tsx';
import { shared } from '../ui/texts.ts';
import { ValueList } from '../ui/value-list.tsx';
import {
  asJson,
  documentIn,
  type Edited,
  editedOf,
  newStatement,
  type StatementDraft,
  type StatementProblems,
} from './draft.ts';
import { ACTIONS } from './generated.ts';
import { policiesTexts as texts } from './texts.ts';

const NOUNS = [...new Set(ACTIONS.map((action) => `${action.split(':')[0]}:*`))];
const ACTION_CHOICES = ['*', ...NOUNS, ...ACTIONS];
const NO_PROBLEMS: StatementProblems = {};

/** A form for each statement, or the whole document as JSON. */
export function PolicyEditor({
  edited,
  problems,
  resources,
  onChange,
}: {
  edited: Edited;
  problems: ReadonlyMap<number, StatementProblems>;
  /** Suggestions for resources. */
  resources: readonly string[];
  onChange: (edited: Edited) => void;
}) {
  useShownHere('document/statement');
  const document = documentIn(edited);
  const other = typeof document === 'string' ? null : edited.as === 'form' ? asJson(document) : editedOf(document);
  // What the form cannot show stays JSON.
  const isOnlyJson = edited.as === 'json' && other?.as === 'json';
  return (
    <div class="stack">
      <div class="row between">
        <h2>{texts.document}</h2>
        <Button isSmall isDisabled={other === null || isOnlyJson} onClick={() => other !== null && onChange(other)}>
          {edited.as === 'form' ? texts.asJson : texts.asForm}
        </Button>
      </div>
      {edited.as === 'form' ? (
        <Statements
          draft={edited.draft}
          problems={problems}
          resources={resources}
          onChange={(draft) => onChange({ ...edited, draft })}
        />
      ) : (
        <>
          <TextArea
            label={texts.json}
            hint={isOnlyJson ? texts.onlyJson : null}
            value={edited.text}
            onInput={(text) => onChange({ as: 'json', text })}
            rows={22}
            problem={typeof document === 'string' ? document : null}
          />
          {[...problems].map(([index, found]) => (
            <Notice key={index} kind="danger">
              {texts.statement(index + 1)}: {Object.values(found).join(' ')}
            </Notice>
          ))}
        </>
      )}
    </div>
  );
}

function Statements({
  draft,
  problems,
  resources,
  onChange,
}: {
  draft: readonly StatementDraft[];
  problems: ReadonlyMap<number, StatementProblems>;
  resources: readonly string[];
  onChange: (draft: readonly StatementDraft[]) => void;
}) {
  const change = (key: number, part: Partial<StatementDraft>) =>
    onChange(draft.map((each) => (each.key === key ? { ...each, ...part } : each)));
  return (
    <>
      {draft.map((statement, index) => (
        <StatementForm
          key={statement.key}
          number={index + 1}
          statement={statement}
          problems={problems.get(index) ?? NO_PROBLEMS}
          resources={resources}
          onChange={(part) => change(statement.key, part)}
          onRemove={draft.length > 1 ? () => onChange(draft.filter((each) => each !== statement)) : null}
        />
      ))}
      <div>
        <Button onClick={() => onChange([...draft, newStatement()])}>{texts.addStatement}</Button>
      </div>
    </>
  );
}

function StatementForm({
  number,
  statement,
  problems,
  resources,
  onChange,
  onRemove,
}: {
  number: number;
  statement: StatementDraft;
  problems: StatementProblems;
  resources: readonly string[];
  onChange: (part: Partial<StatementDraft>) => void;
  onRemove: (() => void) | null;
}) {
  const { addresses, environments, tags, times, mfa } = statement;
  // Decided once, so that it does not close while a condition is cleared.
  const [hasCondition] = useState(
    () => mfa !== 'any' || [addresses, environments, tags, times].some(({ length }) => length > 0),
  );
  return (
    <section class="card" aria-label={texts.statement(number)}>
      <div class="row between">
        <h3>{texts.statement(number)}</h3>
        {onRemove === null ? null : (
          <Button isSmall kind="quiet" label={texts.removeStatement(number)} onClick={onRemove}>
            {texts.removeStatement(number)}
          </Button>
        )}
      </div>
      {problems['statement'] ? <Notice kind="danger">{problems['statement']}</Notice> : null}
      <div class="fields">
        <Select
          label={texts.effect}
          value={statement.effect}
          onChange={(effect) => onChange({ effect })}
          choices={Object.entries(texts.effects) as ['allow' | 'deny', string][]}
        />
        <TextField
          label={texts.sid}
          hint={texts.sidHint}
          problem={problems['sid'] ?? null}
          value={statement.sid}
          onInput={(sid) => onChange({ sid })}
        />
      </div>
      <ValueList
        label={texts.actions}
        hint={texts.actionsHint}
        problem={problems['action'] ?? null}
        values={statement.actions}
        choices={ACTION_CHOICES}
        onChange={(actions) => onChange({ actions })}
      />
      <ValueList
        label={texts.resources}
        hint={texts.resourcesHint}
        problem={problems['resource'] ?? null}
        values={statement.resources}
        choices={resources}
        onChange={(chosen) => onChange({ resources: chosen })}
      />
      <details open={hasCondition || problems['condition'] !== undefined}>
        <summary>
          {texts.conditions} <span class="soft">{texts.conditionsHint}</span>
        </summary>
        {problems['condition'] ? <Notice kind="danger">{problems['condition']}</Notice> : null}
        <Conditions statement={statement} onChange={onChange} />
      </details>
    </section>
  );
}

function Conditions({
  statement,
  onChange,
}: {
  statement: StatementDraft;
  onChange: (part: Partial<StatementDraft>) => void;
}) {
  const { addresses, environments, tags, times, mfa } = statement;
  return (
    <div class="fields">
      <Select
        label={texts.mfa}
        value={mfa}
        onChange={(chosen) => onChange({ mfa: chosen })}
        choices={(['any', 'true', 'false'] as const).map((choice) => [choice, texts.mfaChoices[choice]] as const)}
      />
      <ValueList
        label={texts.ip}
        hint={texts.ipHint}
        values={addresses}
        choices={[]}
        onChange={(chosen) => onChange({ addresses: chosen })}
      />
      <ValueList
        label={texts.environment}
        hint={texts.environmentHint}
        values={environments}
        choices={Object.keys(shared.stages)}
        onChange={(chosen) => onChange({ environments: chosen })}
      />
      <ValueList
        label={texts.tags}
        hint={texts.tagsHint}
        values={tags}
        choices={[]}
        onChange={(chosen) => onChange({ tags: chosen })}
      />
      <ValueList
        label={texts.times}
        hint={texts.timesHint}
        values={times}
        choices={[]}
        onChange={(chosen) => onChange({ times: chosen })}
      />
    </div>
  );
}
