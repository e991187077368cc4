import { CofferError } from '@coffer/client';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { loadList } from '../app/load-list.ts';
import { useAction, useLoaded } from '../app/loading.ts';
import { href, navigate } from '../app/router.ts';
import { type Directory, useDirectory } from '../people/index.ts';
import { Button, LinkButton } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { useForm } from '../ui/form-values.ts';
import { Empty, ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { type Attachment, PolicyAttachments } from './attachments.tsx';
import { documentIn, type Edited, editedOf, NEW_POLICY, type Policy, problemsOf } from './draft.ts';
import { PolicyEditor } from './edit.tsx';
import { RESOURCES } from './generated.ts';
import { PolicySimulator } from './simulator.tsx';
import { policiesTexts as texts } from './texts.ts';

const VAULTS_MAX = 1000;
type Detail = Policy & { readonly attachments: readonly Attachment[] };

/** A policy that exists, or with null one that is written. */
export default function PolicyPage({ name }: { name: string | null }) {
  const found = useLoaded((signal) => findPolicy(name, signal), [name]);
  const directory = useDirectory(true);
  const resources = useLoaded(loadResources, []);
  const crumbs = <a href={href('policies')}>{texts.title}</a>;
  return (
    <WhenLoaded of={found}>
      {({ policy, isGone }) =>
        isGone ? (
          <>
            <PageHead title={name} crumbs={crumbs} />
            <Empty title={texts.gone} />
          </>
        ) : (
          <WhenLoaded of={directory}>
            {(known) => (
              <Editing
                key={policy?.name}
                policy={policy}
                crumbs={crumbs}
                directory={known}
                resources={resources.data ?? FORMS}
                onChanged={found.reload}
              />
            )}
          </WhenLoaded>
        )
      }
    </WhenLoaded>
  );
}

const textOf = (edited: Edited) => JSON.stringify(documentIn(edited));

async function findPolicy(
  name: string | null,
  signal: AbortSignal,
): Promise<{ policy: Detail | null; isGone: boolean }> {
  if (name === null) return { policy: null, isGone: false };
  try {
    return { policy: await call('GET /v1/policies/{name}', { path: { name } }, { signal }), isGone: false };
  } catch (error) {
    if (error instanceof CofferError && error.code === 'NOT_FOUND') return { policy: null, isGone: true };
    throw error;
  }
}

/** `vault/<vault>/<path>` as the pattern that matches all of them. */
const FORMS = ['*', ...RESOURCES.map((form) => form.replace('<path>', '**').replaceAll(/<[a-z_]+>/g, '*'))];

async function loadResources(signal: AbortSignal): Promise<readonly string[]> {
  const vaults = await loadList('GET /v1/vaults', 'vaults', signal, { max: VAULTS_MAX });
  return [...vaults.flatMap(({ name }) => [`vault/${name}/**`, `vault/${name}`]), ...FORMS];
}

function Editing({
  policy,
  crumbs,
  directory,
  resources,
  onChanged,
}: {
  policy: Detail | null;
  crumbs: ComponentChildren;
  directory: Directory;
  resources: readonly string[];
  onChanged: () => void;
}) {
  const resource = policy === null ? 'policy' : `policy/${policy.name}`;
  const may = useMay({
    create: ['policies:create', 'policy'],
    update: ['policies:update', resource],
    delete: ['policies:delete', resource],
    simulate: ['policies:simulate', 'policy'],
  });
  const action = useAction();
  const form = useForm({ name: policy?.name ?? '', description: policy?.description ?? '' });
  const { name, description } = form.values;
  const [edited, setEdited] = useState(() => (policy === null ? NEW_POLICY : editedOf(policy.document)));
  const [isDeleting, setDeleting] = useState(false);
  /** What was loaded or saved last here. Saving is refused if somebody else has changed the policy since. */
  const [base, setBase] = useState(policy);
  const isTouched =
    base !== null && (description !== base.description || textOf(edited) !== textOf(editedOf(base.document)));
  useEffect(() => {
    if (policy === null || policy.version === base?.version) return;
    // What somebody typed stays; then it is saved over what they saw, or refused.
    if (isTouched) return;
    setBase(policy);
    form.set({ description: policy.description });
    setEdited(editedOf(policy.document));
  }, [policy?.version]);
  const read = documentIn(edited);
  const document = typeof read === 'string' ? null : read;
  const maySave = policy === null ? may.create : may.update;
  const save = async () => {
    if (document === null) return;
    if (policy === null) {
      await call('POST /v1/policies', { body: { name, document, ...(description !== '' && { description }) } });
      toast(texts.created(name));
      return navigate(href('policies', name));
    }
    const body = { document, description, expected_version: base?.version ?? policy.version };
    const answer = await call('PUT /v1/policies/{name}', { path: { name: policy.name }, body });
    if (!waitsForApproval(answer)) {
      setBase({ ...policy, document, description, version: answer.version });
      toast(texts.saved(answer.version));
    }
    onChanged();
  };
  const problems = problemsOf(action.error);
  return (
    <>
      <PageHead
        title={policy === null ? texts.createTitle : policy.name}
        crumbs={crumbs}
        intro={policy === null ? texts.intro : null}
        actions={
          may.delete && policy !== null ? (
            <Button kind="destructive" onClick={() => setDeleting(true)}>
              {texts.delete}
            </Button>
          ) : null
        }
      />
      <div class="columns">
        <Form
          error={action.error}
          onSubmit={() => {
            if (document !== null) void action.run(save);
          }}
        >
          {policy === null ? (
            <TextField label={shared.name} hint={texts.nameHint} {...form.text('name')} isRequired isFocused isMono />
          ) : null}
          <TextField label={shared.description} {...form.text('description')} />
          <PolicyEditor edited={edited} problems={problems} resources={resources} onChange={setEdited} />
          <ErrorNote error={action.error} />
          {maySave ? (
            <div class="row">
              <Button type="submit" kind="primary" isBusy={action.isRunning} isDisabled={document === null}>
                {policy === null ? shared.create : shared.save}
              </Button>
              {policy === null ? <LinkButton href={href('policies')}>{shared.cancel}</LinkButton> : null}
            </div>
          ) : null}
        </Form>
        <div class="stack">
          {policy === null ? null : (
            <PolicyAttachments
              name={policy.name}
              attachments={policy.attachments}
              directory={directory}
              onChanged={onChanged}
            />
          )}
          {may.simulate ? (
            <PolicySimulator
              name={name === '' ? texts.thisPolicy : name}
              document={document}
              directory={directory}
              resources={resources}
            />
          ) : null}
        </div>
      </div>
      {isDeleting && policy !== null ? (
        <Confirm
          title={texts.deleteTitle(policy.name)}
          submitText={texts.delete}
          onClose={() => setDeleting(false)}
          work={async () => {
            await call('DELETE /v1/policies/{name}', { path: { name: policy.name } });
            toast(texts.deleted(policy.name));
            navigate(href('policies'));
          }}
        >
          {texts.deleteText}
        </Confirm>
      ) : null}
    </>
  );
}
