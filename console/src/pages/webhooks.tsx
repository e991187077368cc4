import { useState } from 'preact/hooks';
import { lazyPart } from '../lazy-part.tsx';
import { loadList } from '../load-list.ts';
import { href, navigate } from '../router.ts';
import type { PageProps } from '../routes.ts';
import { shared } from '../texts/shared.ts';
import { webhooksTexts as texts } from '../texts/webhooks.ts';
import { Badge } from '../ui/badge.tsx';
import { ListOrItem, ListPage } from '../ui/list-page.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import type { WebhookItem } from './edit-webhook.tsx';

const EditWebhook = lazyPart(() => import('./edit-webhook.tsx'));
const Webhook = lazyPart(() => import('./webhook.tsx'));

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

export function WebhookState({ webhook: { enabled, disabled_reason } }: { webhook: WebhookItem }) {
  return (
    <>
      <Badge tone={enabled ? 'good' : 'warning'}>{enabled ? texts.on : texts.off}</Badge>
      {disabled_reason === null ? null : <div class="soft">{disabled_reason}</div>}
    </>
  );
}
