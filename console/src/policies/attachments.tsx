import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { href } from '../app/router.ts';
import type { Directory, PrincipalKind } from '../people/index.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { policiesTexts as texts } from './texts.ts';

export interface Attachment {
  readonly principal: { readonly kind: PrincipalKind; readonly id: string };
  readonly attached_at: string;
}

const KINDS = ['user', 'group', 'app_connection'] as const;
const PAGES = { user: 'people', group: 'groups', app_connection: 'connections' } as const;

/** The principal with this name, or with this text as its id. */
export function principalOf({ connections }: Directory, kind: PrincipalKind, text: string) {
  const name = text.trim();
  if (kind === 'user') return { user: name };
  if (kind === 'group') return { group: name };
  return { app_connection: connections.find((each) => each.name === name)?.client_id ?? name };
}

export function namesOf({ users, groups, connections }: Directory, kind: PrincipalKind): readonly string[] {
  if (kind === 'user') return users.map(({ email }) => email);
  return (kind === 'group' ? groups : connections).map(({ name }) => name);
}

export function PolicyAttachments({
  name,
  attachments,
  directory,
  onChanged,
}: {
  name: string;
  attachments: readonly Attachment[];
  directory: Directory;
  onChanged: () => void;
}) {
  const may = useMay({ attach: ['policies:attach', `policy/${name}`], detach: ['policies:detach', `policy/${name}`] });
  const [opened, setOpened] = useState<'attach' | Attachment['principal'] | null>(null);
  const nameOf = ({ kind, id }: Attachment['principal']) => directory.nameOf(kind, id);
  const close = () => setOpened(null);
  const changed = () => {
    close();
    onChanged();
  };
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.attachments}</h2>
        {may.attach ? (
          <Button isSmall onClick={() => setOpened('attach')}>
            {texts.attach}
          </Button>
        ) : null}
      </div>
      {attachments.length === 0 ? (
        <p class="soft">{texts.notAttached}</p>
      ) : (
        <ul class="attached">
          {attachments.map(({ principal, attached_at }) => (
            <li key={`${principal.kind} ${principal.id}`} class="row between">
              <span>
                <a href={href(PAGES[principal.kind], principal.id)}>{nameOf(principal)}</a>{' '}
                <span class="soft">
                  {texts.kinds[principal.kind]}, <Time at={attached_at} />
                </span>
              </span>
              {may.detach ? (
                <Button isSmall label={texts.detachTitle(nameOf(principal))} onClick={() => setOpened(principal)}>
                  {texts.detach}
                </Button>
              ) : null}
            </li>
          ))}
        </ul>
      )}
      {opened === 'attach' ? <Attach name={name} directory={directory} onClose={close} onDone={changed} /> : null}
      {opened !== null && opened !== 'attach' ? (
        <Confirm
          title={texts.detachTitle(nameOf(opened))}
          submitText={texts.detach}
          onClose={close}
          work={async () => {
            const body = { principal: { [opened.kind]: opened.id } };
            const answer = await call('POST /v1/policies/{name}/detach', { path: { name }, body });
            if (!waitsForApproval(answer)) toast(texts.detached(nameOf(opened)));
            changed();
          }}
        >
          {texts.detachText}
        </Confirm>
      ) : null}
    </section>
  );
}

function Attach({
  name,
  directory,
  onClose,
  onDone,
}: {
  name: string;
  directory: Directory;
  onClose: () => void;
  onDone: () => void;
}) {
  const form = useForm({ kind: 'group' as PrincipalKind, who: '' });
  const { kind, who } = form.values;
  const submit = async () => {
    const body = { principal: principalOf(directory, kind, who) };
    const answer = await call('POST /v1/policies/{name}/attach', { path: { name }, body });
    if (!waitsForApproval(answer)) toast(texts.attached(who.trim()));
    onDone();
  };
  return (
    <FormDialog title={texts.attachTitle(name)} submitText={texts.attach} onClose={onClose} submit={submit}>
      <p>{texts.attachText}</p>
      <Select
        label={texts.kind}
        {...form.choice('kind', null)}
        choices={KINDS.map((choice) => [choice, texts.kinds[choice]] as const)}
      />
      <TextField
        label={texts.principal}
        hint={texts.principalHints[kind]}
        {...form.text('who', 'principal')}
        choices={namesOf(directory, kind)}
        isRequired
      />
    </FormDialog>
  );
}
