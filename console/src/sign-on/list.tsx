import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { loadList } from '../app/load-list.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Facts } from '../ui/facts.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListPage } from '../ui/list-page.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import type { Provider } from './data.ts';
import { signOnTexts as texts } from './texts.ts';

const ProviderForm = lazyPart(() => import('./edit.tsx'));

export default function SignOnPage() {
  const [edited, setEdited] = useState<Provider | null>(null);
  return (
    <ListPage
      texts={texts}
      mayList={['sso_providers:list', 'sso-provider']}
      mayCreate={['sso_providers:create', 'sso-provider']}
      load={(signal) => loadList('GET /auth/sso/providers', 'providers', signal)}
      form={({ close, reload }) => (
        <ProviderForm
          provider={null}
          onClose={close}
          onDone={() => {
            close();
            reload();
          }}
        />
      )}
    >
      {(providers, { reload }) => (
        <>
          <div class="grid">
            {providers.map((provider) => (
              <ProviderCard
                key={provider.name}
                provider={provider}
                onEdit={() => setEdited(provider)}
                onChanged={reload}
              />
            ))}
          </div>
          {edited === null ? null : (
            <ProviderForm
              key={edited.name}
              provider={edited}
              onClose={() => setEdited(null)}
              onDone={() => {
                setEdited(null);
                reload();
              }}
            />
          )}
        </>
      )}
    </ListPage>
  );
}

function ProviderCard({
  provider,
  onEdit,
  onChanged,
}: {
  provider: Provider;
  onEdit: () => void;
  onChanged: () => void;
}) {
  const { name } = provider;
  const resource = `sso-provider/${name}`;
  const may = useMay({ update: ['sso_providers:update', resource], delete: ['sso_providers:delete', resource] });
  const [isDeleting, setDeleting] = useState(false);
  return (
    <section class="card" aria-label={name}>
      <div class="row between">
        <h2>{name}</h2>
        <span class="row">
          {provider.required ? <Badge tone="accent">{texts.isRequired}</Badge> : null}
          <Badge tone={provider.enabled ? 'good' : 'warning'}>{provider.enabled ? texts.isEnabled : texts.isOff}</Badge>
        </span>
      </div>
      <Facts
        of={[
          [texts.issuer, provider.issuer],
          [texts.clientId, provider.client_id],
          [texts.defaultRole, provider.default_role === null ? texts.refused : texts.roles[provider.default_role]],
        ]}
      />
      <CopyText label={texts.redirect} text={provider.redirect_uri} hint={texts.redirectHint} />
      <div class="row">
        {may.update ? (
          <Button isSmall label={texts.editLabel(name)} onClick={onEdit}>
            {shared.edit}
          </Button>
        ) : null}
        {may.delete ? (
          <Button isSmall label={texts.deleteTitle(name)} onClick={() => setDeleting(true)}>
            {texts.delete}
          </Button>
        ) : null}
      </div>
      {isDeleting ? (
        <Confirm
          title={texts.deleteTitle(name)}
          submitText={texts.delete}
          typed={name}
          onClose={() => setDeleting(false)}
          work={async () => {
            const answer = await call('DELETE /auth/sso/providers/{name}', { path: { name } });
            if (!waitsForApproval(answer)) toast(texts.deleted(name));
            setDeleting(false);
            onChanged();
          }}
        >
          {texts.deleteText}
        </Confirm>
      ) : null}
    </section>
  );
}
