import { useState } from 'preact/hooks';
import { loadList } from '../app/load-list.ts';
import type { PageProps } from '../app/page.ts';
import { href, navigate } from '../app/router.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListOrItem, ListPage } from '../ui/list-page.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { WebhookState } from './status.tsx';
import { webhooksTexts as texts } from './texts.ts';

const EditWebhook = lazyPart(() => import('./edit.tsx'));
const Webhook = lazyPart(() => import('./page.tsx'));

export default function WebhooksPage({ rest }: PageProps) {
  return (
    <ListOrItem
      rest={rest}
      title={texts.title}
      list={<Webhooks />}
      check={(id) => ['webhooks:read', `webhook/${id}`]}
      item={(id) => <Webhook id={id} />}
    />
  );
}

function Webhooks() {
  const [made, setMade] = useState<{ id: string; secret: string } | null>(null);
  return (
    <>
      <ListPage
        texts={texts}
        mayList={['webhooks:list', 'webhook/*']}
        mayCreate={['webhooks:create', 'webhook/*']}
        load={(signal) => loadList('GET /webhooks', 'webhooks', signal)}
        form={({ close }) => (
          <EditWebhook
            webhook={null}
            onClose={close}
            onDone={(saved) => {
              close();
              if ('secret' in saved) setMade(saved);
            }}
          />
        )}
      >
        {(webhooks) => (
          <Table
            caption={texts.title}
            rows={webhooks}
            keyOf={({ id }) => id}
            columns={[
              {
                title: texts.url,
                cell: ({ id, url, format }) => (
                  <>
                    <a href={href('webhooks', id)}>{url}</a>
                    <div class="soft">{texts.formats[format]}</div>
                  </>
                ),
              },
              { title: texts.state, cell: (webhook) => <WebhookState webhook={webhook} /> },
              {
                title: texts.events,
                cell: ({ events }) => events.map((event) => <div key={event}>{texts.eventNames[event]}</div>),
              },
              { title: shared.created, cell: ({ created_at }) => <Time at={created_at} /> },
            ]}
          />
        )}
      </ListPage>
      {made === null ? null : (
        <ShownOnce
          title={texts.secretTitle}
          label={texts.secret}
          value={made.secret}
          onClose={() => {
            setMade(null);
            navigate(href('webhooks', made.id));
          }}
        >
          <p>{texts.secretText}</p>
        </ShownOnce>
      )}
    </>
  );
}
