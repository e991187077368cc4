import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useCall } from '../app/use-call.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Examples } from '../ui/examples.tsx';
import { WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { type ConnectionItem, type FederationItem, serviceFor } from './data.ts';
import { EditFederation } from './federation-edit.tsx';
import { federationsTexts as texts } from './federation-texts.ts';
import { pipelineExamples } from './pipeline-examples.ts';

type Opened = { kind: 'create' } | { kind: 'edit' | 'delete' | 'example'; federation: FederationItem };

/** The pipelines that may act as a connection. */
export default function Federations({ connection }: { connection: ConnectionItem }) {
  const { client_id } = connection;
  const resource = `app-connection/${client_id}`;
  const may = useMay({
    create: ['federations:create', resource],
    update: ['federations:update', resource],
    delete: ['federations:delete', resource],
    share: ['members:add', `vault/${connection.vault ?? 'example'}`],
  });
  const [opened, setOpened] = useState<Opened | null>(null);
  const federations = useCall('GET /app-connections/{connection}/federations', {
    path: { connection: client_id },
    query: { limit: 200 },
  });
  const close = () => setOpened(null);
  const done = () => {
    close();
    federations.reload();
  };
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.title}</h2>
        {may.create && may.share ? (
          <Button isSmall onClick={() => setOpened({ kind: 'create' })}>
            {texts.create}
          </Button>
        ) : null}
      </div>
      <p class="soft">{texts.text}</p>
      <WhenLoaded of={federations}>
        {({ federations: list }) =>
          list.length === 0 ? (
            <p class="soft">{texts.empty}</p>
          ) : (
            <Table
              caption={texts.title}
              rows={list}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: shared.name,
                  cell: ({ name, provider, enabled }) => (
                    <>
                      {name} {enabled ? null : <Badge tone="warning">{texts.disabled}</Badge>}
                      <div class="soft">{texts.providers[provider]}</div>
                    </>
                  ),
                },
                { title: texts.subject, cell: ({ subject_pattern }) => <code>{subject_pattern}</code> },
                {
                  title: shared.actions,
                  isActions: true,
                  cell: (federation) => (
                    <span class="row">
                      <Button isSmall onClick={() => setOpened({ kind: 'example', federation })}>
                        {texts.example}
                      </Button>
                      {may.update && may.share ? (
                        <Button isSmall onClick={() => setOpened({ kind: 'edit', federation })}>
                          {shared.change}
                        </Button>
                      ) : null}
                      {may.delete ? (
                        <Button isSmall onClick={() => setOpened({ kind: 'delete', federation })}>
                          {texts.delete}
                        </Button>
                      ) : null}
                    </span>
                  ),
                },
              ]}
            />
          )
        }
      </WhenLoaded>
      {opened?.kind === 'create' ? (
        <EditFederation clientId={client_id} federation={null} onClose={close} onDone={done} />
      ) : null}
      {opened?.kind === 'edit' ? (
        <EditFederation clientId={client_id} federation={opened.federation} onClose={close} onDone={done} />
      ) : null}
      {opened?.kind === 'delete' ? (
        <Delete clientId={client_id} federation={opened.federation} onClose={close} onDone={done} />
      ) : null}
      {opened?.kind === 'example' ? (
        <PipelineExample connection={connection} federation={opened.federation} onClose={close} />
      ) : null}
    </section>
  );
}

function Delete({
  clientId,
  federation: { id, name },
  onClose,
  onDone,
}: {
  clientId: string;
  federation: FederationItem;
  onClose: () => void;
  onDone: () => void;
}) {
  const work = async () => {
    await call('DELETE /app-connections/{connection}/federations/{federation_id}', {
      path: { connection: clientId, federation_id: String(id) },
    });
    toast(texts.deleted(name));
    onDone();
  };
  return (
    <Confirm title={texts.deleteTitle(name)} submitText={texts.delete} work={work} onClose={onClose}>
      {texts.deleteText}
    </Confirm>
  );
}

function PipelineExample({
  connection,
  federation,
  onClose,
}: {
  connection: ConnectionItem;
  federation: FederationItem;
  onClose: () => void;
}) {
  const [path = ''] = connection.allowed_paths;
  const examples = pipelineExamples(federation.provider, {
    url: serviceFor(connection).url,
    audience: federation.audience,
    clientId: connection.client_id,
    vault: connection.vault ?? 'VAULT',
    path: path.includes('*') ? 'PATH' : path,
  });
  return (
    <Dialog title={texts.exampleTitle(federation.name)} isWide onClose={onClose}>
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
