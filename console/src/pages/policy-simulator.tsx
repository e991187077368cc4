import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { useAction } from '../loading.ts';
import type { Directory, PrincipalKind } from '../people.ts';
import type { PolicyDocument } from '../policy-draft.ts';
import { ACTIONS } from '../policy-words.ts';
import { policiesTexts as texts } from '../texts/policies.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { ErrorNote } from '../ui/notice.tsx';
import { namesOf, principalOf } from './policy-attachments.tsx';

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
  const [kind, setKind] = useState<PrincipalKind | 'none'>('none');
  const [who, setWho] = useState('');
  const [asked, setAsked] = useState('secrets:read');
  const [resource, setResource] = useState('');
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
          value={kind}
          onChange={setKind}
          choices={KINDS.filter((choice) => choice === 'none' || namesOf(directory, choice).length > 0).map(
            (choice) => [choice, texts.simulatorKinds[choice]] as const,
          )}
        />
        {kind === 'none' ? null : (
          <TextField
            field="principal"
            label={texts.principal}
            hint={texts.principalHints[kind]}
            value={who}
            onInput={setWho}
            choices={namesOf(directory, kind)}
            isRequired
          />
        )}
        <TextField
          field="action"
          label={texts.action}
          value={asked}
          onInput={setAsked}
          choices={ACTIONS}
          isRequired
          isMono
        />
        <TextField
          field="resource"
          label={texts.resource}
          value={resource}
          onInput={setResource}
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
