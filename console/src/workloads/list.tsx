import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { mayOne, useMay } from '../app/capabilities.ts';
import { loadList } from '../app/load-list.ts';
import { useLoaded } from '../app/loading.ts';
import { href } from '../app/router.ts';
import { type ConnectionItem, loadConnections } from '../connections/index.ts';
import { Button, LinkButton } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Examples } from '../ui/examples.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListPage } from '../ui/list-page.tsx';
import { Notice, WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { allowedBy, type MethodItem } from './data.ts';
import { workloadExamples } from './example-texts.ts';
import { workloadsTexts as texts } from './texts.ts';

const EditWorkload = lazyPart(() => import('./edit.tsx'));

type Opened = { kind: 'edit' | 'delete' | 'example'; method: MethodItem };

export default function WorkloadsPage() {
  const may = useMay({
    update: ['workload_methods:update', 'workload-method/1'],
    delete: ['workload_methods:delete', 'workload-method/1'],
    connect: ['app_connections:create', 'app-connection'],
  });
  const [opened, setOpened] = useState<Opened | null>(null);
  const connections = useLoaded(loadKnownConnections, []);
  const close = () => setOpened(null);
  return (
    <ListPage
      texts={texts}
      mayList={['workload_methods:list', 'workload-method']}
      mayCreate={['workload_methods:create', 'workload-method']}
      load={(signal) => loadList('GET /workload-identity/methods', 'methods', signal)}
      form={(form) => {
        if (connections.data === null) return null;
        if (connections.data.length === 0) return <NoConnection mayConnect={may.connect} onClose={form.close} />;
        const done = () => {
          form.close();
          form.reload();
        };
        return <EditWorkload method={null} connections={connections.data} onClose={form.close} onDone={done} />;
      }}
    >
      {(methods, { reload }) => {
        const done = () => {
          close();
          reload();
        };
        return (
          <WhenLoaded of={connections}>
            {(known) => (
              <>
                <Methods methods={methods} connections={known} may={may} onOpen={setOpened} />
                {opened?.kind === 'edit' ? (
                  <EditWorkload method={opened.method} connections={known} onClose={close} onDone={done} />
                ) : null}
                {opened?.kind === 'delete' ? <Delete method={opened.method} onClose={close} onDone={done} /> : null}
                {opened?.kind === 'example' ? (
                  <WorkloadExample method={opened.method} connections={known} onClose={close} />
                ) : null}
              </>
            )}
          </WhenLoaded>
        );
      }}
    </ListPage>
  );
}

/** The connections that a method may sign in as, as far as this person may see them. */
async function loadKnownConnections(signal: AbortSignal): Promise<ConnectionItem[]> {
  return (await mayOne(['app_connections:list', 'app-connection'])) ? loadConnections(signal) : [];
}

function Methods({
  methods,
  connections,
  may,
  onOpen,
}: {
  methods: readonly MethodItem[];
  connections: readonly ConnectionItem[];
  may: { readonly update: boolean; readonly delete: boolean };
  onOpen: (opened: Opened) => void;
}) {
  return (
    <Table
      caption={texts.title}
      rows={methods}
      keyOf={({ id }) => id}
      columns={[
        {
          title: shared.name,
          cell: ({ name, type, warnings }) => (
            <>
              {name}
              <div class="soft">{texts.types[type]}</div>
              {warnings.map((warning) => (
                <Notice key={warning} kind="warning">
                  {warning}
                </Notice>
              ))}
            </>
          ),
        },
        {
          title: texts.allowed,
          cell: (method) =>
            allowedBy(method).map((list, index) => <div key={index} class="mono">{`${list || '–'}`}</div>),
        },
        {
          title: texts.connection,
          cell: ({ app_connection_id: id }) => (
            <a href={href('connections', id)}>
              {connections.find((each) => each.id === id)?.name ?? texts.unknownConnection(id)}
            </a>
          ),
        },
        {
          title: shared.actions,
          isActions: true,
          cell: (method) => (
            <span class="row">
              <Button isSmall onClick={() => onOpen({ kind: 'example', method })}>
                {texts.example}
              </Button>
              {may.update && connections.length > 0 ? (
                <Button isSmall onClick={() => onOpen({ kind: 'edit', method })}>
                  {shared.change}
                </Button>
              ) : null}
              {may.delete ? (
                <Button isSmall onClick={() => onOpen({ kind: 'delete', method })}>
                  {texts.delete}
                </Button>
              ) : null}
            </span>
          ),
        },
      ]}
    />
  );
}

function NoConnection({ mayConnect, onClose }: { mayConnect: boolean; onClose: () => void }) {
  return (
    <Dialog title={texts.createTitle} onClose={onClose}>
      <p>{texts.noConnections}</p>
      <div class="dialog-foot">
        <Button onClick={onClose}>{shared.cancel}</Button>
        {mayConnect ? (
          <LinkButton kind="primary" href={`${href('connections')}?new=1`}>
            {texts.createConnection}
          </LinkButton>
        ) : null}
      </div>
    </Dialog>
  );
}

function Delete({
  method: { id, name },
  onClose,
  onDone,
}: {
  method: MethodItem;
  onClose: () => void;
  onDone: () => void;
}) {
  const work = async () => {
    await call('DELETE /workload-identity/methods/{method_id}', { path: { method_id: String(id) } });
    toast(texts.deleted(name));
    onDone();
  };
  return (
    <Confirm title={texts.deleteTitle(name)} submitText={texts.delete} work={work} onClose={onClose}>
      {texts.deleteText}
    </Confirm>
  );
}

function WorkloadExample({
  method: { id, name, type, config, app_connection_id },
  connections,
  onClose,
}: {
  method: MethodItem;
  connections: readonly ConnectionItem[];
  onClose: () => void;
}) {
  const audience = config['expected_audience'];
  const examples = workloadExamples(type, {
    url: location.origin,
    methodId: id,
    audience: typeof audience === 'string' ? audience : location.origin,
    vault: connections.find((each) => each.id === app_connection_id)?.vault ?? 'VAULT',
  });
  return (
    <Dialog title={texts.exampleTitle(name)} isWide onClose={onClose}>
      <p class="soft">{texts.exampleText}</p>
      <Examples label={texts.example} examples={examples} />
      <div class="dialog-foot">
        <Button kind="primary" onClick={onClose}>
          {shared.close}
        </Button>
      </div>
    </Dialog>
  );
}
