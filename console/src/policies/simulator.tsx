import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useAction } from '../app/loading.ts';
import type { Directory, PrincipalKind } from '../people/index.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { useForm } from '../ui/form-values.ts';
import { ErrorNote } from '../ui/notice.tsx';
import { namesOf, principalOf } from './attachments.tsx';
import type { PolicyDocument } from './draft.ts';
import { ACTIONS } from './generated.ts';
import { policiesTexts as texts } from './texts.ts';

type Outcome = RouteOutput<'POST /v1/policies/simulate'>;

/** Only who may be read can be named, and the directory has nobody else. */
const KINDS = ['none', 'user', 'group', 'app_connection'] as const;

/** Decides a request with what is in the editor, whether it is saved or not. */
export function PolicySimulator({
  name,
  document,
  directory,
  resources,
}: {
  name: string;
  /** Null if it cannot be read as it is typed. */
  document: PolicyDocument | null;
  directory: Directory;
  resources: readonly string[];
}) {
  const action = useAction();
  const form = useForm({ kind: 'none' as PrincipalKind | 'none', who: '', asked: 'secrets:read', resource: '' });
  const { kind, who, asked, resource } = form.values;
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const submit = async () => {
    setOutcome(null);
    if (document === null) return;
    const principal = kind === 'none' ? {} : { principal: principalOf(directory, kind, who) };
    const body = { document, action: asked.trim(), resource: resource.trim(), ...principal };
    setOutcome(await call('POST /v1/policies/simulate', { body }, { isRead: true }));
  };
  return (
    <section class="card" aria-label={texts.simulator}>
      <h2>{texts.simulator}</h2>
      <p class="soft">{texts.simulatorText}</p>
      <Form error={action.error} onSubmit={() => void action.run(submit)}>
        <Select
          label={texts.who}
          {...form.choice('kind', null)}
          choices={KINDS.filter((choice) => choice === 'none' || namesOf(directory, choice).length > 0).map(
            (choice) => [choice, texts.simulatorKinds[choice]] as const,
          )}
        />
        {kind === 'none' ? null : (
          <TextField
            label={texts.principal}
            hint={texts.principalHints[kind]}
            {...form.text('who', 'principal')}
            choices={namesOf(directory, kind)}
            isRequired
          />
        )}
        <TextField label={texts.action} {...form.text('asked', 'action')} choices={ACTIONS} isRequired isMono />
        <TextField
          label={texts.resource}
          {...form.text('resource')}
          choices={resources.filter((each) => !each.includes('*'))}
          placeholder="vault/payments/db/password"
          isRequired
          isMono
        />
        <div>
          <Button type="submit" isBusy={action.isRunning} isDisabled={document === null}>
            {texts.try}
          </Button>
        </div>
        <ErrorNote error={action.error} />
      </Form>
      <div role="status">{outcome === null ? null : <Decision name={name} outcome={outcome} />}</div>
    </section>
  );
}

/** The service calls the policy that is tried `document`. */
const TRIED = 'document';

function Decision({ name, outcome: { decision, reason, matched } }: { name: string; outcome: Outcome }) {
  const nameOf = (policy: string) => {
    if (policy === TRIED) return texts.asTyped(name);
    return policy === name ? texts.asSaved(name) : policy;
  };
  return (
    <div class="stack">
      <div>
        <Badge tone={decision === 'allow' ? 'good' : 'danger'}>
          {decision === 'allow' ? texts.allowed : texts.denied}
        </Badge>{' '}
        {texts.reasons[reason] ?? reason}
      </div>
      {matched.length === 0 ? null : (
        <>
          <h3>{texts.matched}</h3>
          <ul>
            {matched.map(({ policy, sid, effect }, index) => (
              <li key={index}>
                <Badge tone={effect === 'allow' ? 'good' : 'danger'}>{texts.effects[effect]}</Badge> {nameOf(policy)}:{' '}
                {sid ?? texts.unnamed}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
