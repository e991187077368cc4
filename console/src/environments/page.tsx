import { CofferError, type Schemas } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction, useLoaded } from '../app/loading.ts';
import { href, navigate } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Button } from '../ui/button.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { SecretValue } from '../ui/secret-value.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import { environmentsTexts as texts } from './texts.ts';

export default function Environment({ id }: { id: string }) {
  const path = { environment_id: id };
  const resource = `environment/${id}`;
  const may = useMay({
    bind: ['environments:bind', resource],
    unbind: ['environments:unbind', resource],
    compose: ['environments:compose', resource],
    delete: ['environments:delete', resource],
  });
  const [opened, setOpened] = useState<'bind' | 'delete' | null>(null);
  const environment = useCall('GET /environments/{environment_id}', { path });
  const bindings = useCall('GET /environments/{environment_id}/secrets', { path, query: { limit: 200 } });
  const effective = useLoaded(
    async (signal) => (may.compose ? compose(id, { resolve: false }, signal) : null),
    [id, may.compose],
  );
  const action = useAction();
  const changed = () => {
    setOpened(null);
    bindings.reload();
    effective.reload();
  };
  const unbind = async (secretId: number, name: string) => {
    await call('DELETE /environments/{environment_id}/secrets/{secret_id}', {
      path: { ...path, secret_id: String(secretId) },
    });
    toast(texts.unbound(name));
    changed();
  };
  const crumbs = <a href={href('environments')}>{texts.title}</a>;
  return (
    <WhenFound of={environment} title={texts.one} crumbs={crumbs} texts={texts}>
      {({ name, description }) => (
        <>
          <PageHead
            title={name}
            crumbs={crumbs}
            intro={description}
            actions={
              <>
                {may.bind ? (
                  <Button kind="primary" onClick={() => setOpened('bind')}>
                    {texts.bind}
                  </Button>
                ) : null}
                {may.delete ? (
                  <Button kind="destructive" onClick={() => setOpened('delete')}>
                    {texts.delete}
                  </Button>
                ) : null}
              </>
            }
          />
          <ErrorNote error={action.error} />
          <WhenLoaded of={effective}>
            {(composed) => (composed === null ? null : <Effective id={id} composed={composed} />)}
          </WhenLoaded>
          <section class="card">
            <h2>{texts.own}</h2>
            <WhenLoaded of={bindings}>
              {({ secrets }) => (
                <Table
                  caption={texts.own}
                  rows={secrets}
                  keyOf={({ key_name }) => key_name}
                  columns={[
                    { title: texts.keyName, cell: ({ key_name }) => <code>{key_name}</code> },
                    {
                      title: texts.secret,
                      cell: ({ vault, path: at }) =>
                        vault === null || at === null ? (
                          <span class="soft">{texts.unseenSecret}</span>
                        ) : (
                          <a class="mono" href={href('vaults', vault, 'secret', at)}>{`${vault}/${at}`}</a>
                        ),
                    },
                    { title: shared.created, cell: ({ bound_at }) => <Time at={bound_at} /> },
                    {
                      title: shared.actions,
                      isActions: true,
                      cell: ({ secret_id, key_name }) =>
                        may.unbind ? (
                          <Button
                            isSmall
                            isBusy={action.isRunning}
                            onClick={() => action.run(() => unbind(secret_id, key_name))}
                          >
                            {texts.unbind}
                          </Button>
                        ) : null,
                    },
                  ]}
                />
              )}
            </WhenLoaded>
          </section>
          {opened === 'bind' ? <Bind id={id} onClose={() => setOpened(null)} onDone={changed} /> : null}
          {opened === 'delete' ? <Delete id={id} name={name} onClose={() => setOpened(null)} /> : null}
        </>
      )}
    </WhenFound>
  );
}

type Composed = Schemas['Composition'];

async function compose(id: string, query: { resolve: boolean; key_name?: string }, signal?: AbortSignal) {
  const input = { path: { environment_id: id }, query };
  const answer = await call(
    'GET /environments/{environment_id}/compose',
    input,
    signal === undefined ? {} : { signal },
  );
  // Without a format it is this one of the two.
  return answer as Composed;
}

/** What a program would read, and from which environment each name comes. A value is loaded when somebody holds its button. */
function Effective({ id, composed }: { id: string; composed: Composed }) {
  const entries = Object.values(composed.effective);
  const load = async (name: string) => {
    const { effective } = await compose(id, { resolve: true, key_name: name });
    const value = effective[name]?.value;
    if (value === undefined) throw new CofferError(texts.withheld, { code: 'INSUFFICIENT_PRIVILEGE' });
    return value;
  };
  return (
    <section class="card">
      <h2>{texts.effective}</h2>
      {entries.length === 0 ? (
        <p class="soft">{texts.effectiveEmpty}</p>
      ) : (
        <Table
          caption={texts.effective}
          rows={entries}
          keyOf={({ key_name }) => key_name}
          columns={[
            { title: texts.keyName, cell: ({ key_name }) => <code>{key_name}</code> },
            { title: texts.source, cell: ({ source }) => source.map(({ name }) => name).join(' → ') },
            {
              title: texts.reveal,
              cell: ({ key_name }) => <SecretValue load={() => load(key_name)} label={texts.valueOf(key_name)} />,
            },
          ]}
        />
      )}
    </section>
  );
}

function Bind({ id, onClose, onDone }: { id: string; onClose: () => void; onDone: () => void }) {
  const form = useForm({ name: '', vault: '', secretPath: '' });
  const { name, vault, secretPath } = form.values;
  const vaults = useCall('GET /v1/vaults', { query: { limit: 200 } });
  const secrets = useLoaded(
    async (signal) =>
      vaults.data?.vaults.some((each) => each.name === vault) === true
        ? call('GET /v1/vaults/{vault}/secrets', { path: { vault }, query: { limit: 200 } }, { signal })
        : null,
    [vault, vaults.data],
  );
  const submit = async () => {
    const input = { path: { vault }, query: { prefix: secretPath, limit: 100 } };
    const found = (await call('GET /v1/vaults/{vault}/secrets', input)).secrets.find(({ path }) => path === secretPath);
    if (found === undefined) throw new CofferError(texts.noSecret, { code: 'SECRET_NOT_FOUND' });
    await call('POST /environments/{environment_id}/secrets', {
      path: { environment_id: id },
      body: { secret_id: found.secret_id, key_name: name },
    });
    toast(texts.bound(name));
    onDone();
  };
  return (
    <FormDialog title={texts.bindTitle} submitText={texts.bind} onClose={onClose} submit={submit}>
      <TextField
        label={texts.keyName}
        hint={texts.keyHint}
        {...form.text('name', 'key_name')}
        isRequired
        isFocused
        isMono
      />
      <TextField
        label={texts.vault}
        {...form.text('vault')}
        choices={vaults.data?.vaults.map((each) => each.name) ?? []}
        isRequired
      />
      <TextField
        label={texts.path}
        {...form.text('secretPath', 'path')}
        choices={secrets.data?.secrets.map(({ path }) => path) ?? []}
        isRequired
        isMono
      />
    </FormDialog>
  );
}

function Delete({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const submit = async () => {
    await call('DELETE /environments/{environment_id}', { path: { environment_id: id } });
    toast(texts.deleted(name));
    navigate(href('environments'));
  };
  return (
    <FormDialog title={texts.deleteTitle(name)} submitText={texts.delete} isDanger onClose={onClose} submit={submit}>
      <p>{texts.deleteText}</p>
    </FormDialog>
  );
}
