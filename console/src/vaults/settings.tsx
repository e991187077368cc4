import type { RouteInput, RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction } from '../app/loading.ts';
import { href, navigate } from '../app/router.ts';
import { membersTexts as texts } from '../grants/index.ts';
import { loadChangePassphrase } from '../secrets/index.ts';
import { EnvironmentBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { listOf } from '../ui/comma-list.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Facts } from '../ui/facts.tsx';
import { Checkbox, TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { useForm } from '../ui/form-values.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ErrorNote } from '../ui/notice.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { vaultTexts } from './texts.ts';

const ChangePassphrase = lazyPart(loadChangePassphrase);

type Vault = RouteOutput<'GET /v1/vaults/{vault}'>;
type Change = NonNullable<RouteInput<'PATCH /v1/vaults/{vault}'>['body']>;

export default function VaultSettings({ vault, onChanged }: { vault: Vault; onChanged: () => void }) {
  const resource = `vault/${vault.name}`;
  const may = useMay({
    update: ['vaults:update', resource],
    delete: ['vaults:delete', resource],
    open: ['secrets:read', `${resource}/example`],
    reseal: ['secrets:update', `${resource}/example`],
  });
  return (
    <div class="grid">
      {may.update ? <Settings vault={vault} onChanged={onChanged} /> : null}
      {vault.is_zero_knowledge && may.reseal && may.open ? <Passphrase vault={vault.name} /> : null}
      {may.delete ? <DeleteVault name={vault.name} /> : null}
    </div>
  );
}

function Settings({ vault, onChanged }: { vault: Vault; onChanged: () => void }) {
  const action = useAction();
  const form = useForm({
    description: vault.description,
    tags: vault.tags.join(', '),
    rotationDays: String(vault.encryption.rotation_days),
    logReads: vault.audit.log_reads,
    retention: String(vault.audit.retention_days ?? ''),
  });
  const { description, tags, rotationDays, logReads, retention } = form.values;
  const submit = async () => {
    const retentionDays = retention.trim() === '' ? null : Number(retention);
    // Only what differs is sent, because a change of the audit settings may need a second person.
    const audit = {
      ...(logReads !== vault.audit.log_reads && { log_reads: logReads }),
      ...(retentionDays !== vault.audit.retention_days && { retention_days: retentionDays }),
    };
    const body: Change = {
      description,
      tags: listOf(tags),
      ...(Number(rotationDays) !== vault.encryption.rotation_days && {
        encryption: { rotation_days: Number(rotationDays) },
      }),
      ...(Object.keys(audit).length > 0 && { audit }),
    };
    const answer = await call('PATCH /v1/vaults/{vault}', { path: { vault: vault.name }, body });
    if (!waitsForApproval(answer)) toast(texts.saved);
    onChanged();
  };
  return (
    <Form class="card" label={texts.settings} error={action.error} onSubmit={() => void action.run(submit)}>
      <h2>{texts.settings}</h2>
      <Facts
        of={[
          [shared.name, <span class="mono">{vault.name}</span>],
          [shared.environment, <EnvironmentBadge environment={vault.environment} />],
        ]}
      />
      <p class="soft">
        {vaultTexts.nameFixed}{' '}
        <a href={`${href('compare')}?${new URLSearchParams({ vault: vault.name })}`}>{vaultTexts.nameFixedCompare}</a>
        {vaultTexts.nameFixedThen}
      </p>
      <TextField label={texts.description} {...form.text('description')} />
      <TextField label={texts.tags} hint={texts.tagsHint} {...form.text('tags')} />
      <h3>{texts.encryption}</h3>
      <TextField
        label={texts.rotationDays}
        type="number"
        {...form.text('rotationDays', 'encryption/rotation_days')}
        isRequired
      />
      <h3>{texts.audit}</h3>
      <Checkbox label={texts.logReads} {...form.check('logReads', 'audit/log_reads')} />
      <TextField
        label={texts.retention}
        hint={texts.retentionHint}
        type="number"
        {...form.text('retention', 'audit/retention_days')}
      />
      <ErrorNote error={action.error} />
      <div>
        <Button type="submit" kind="primary" isBusy={action.isRunning}>
          {shared.save}
        </Button>
      </div>
    </Form>
  );
}

function Passphrase({ vault }: { vault: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section class="card">
      <h2>{vaultTexts.passphrase}</h2>
      <p class="soft">{vaultTexts.passphraseText}</p>
      <div>
        <Button onClick={() => setOpen(true)}>{vaultTexts.changePassphrase}</Button>
      </div>
      {isOpen ? <ChangePassphrase vault={vault} onClose={() => setOpen(false)} /> : null}
    </section>
  );
}

function DeleteVault({ name }: { name: string }) {
  const [isOpen, setOpen] = useState(false);
  const work = async () => {
    const answer = await call('DELETE /v1/vaults/{vault}', { path: { vault: name } });
    if (!waitsForApproval(answer)) toast(texts.deleted(name));
    navigate(href('vaults'));
  };
  return (
    <section class="card">
      <h2>{texts.deleteHead}</h2>
      <p class="soft">{texts.deleteIntro}</p>
      <div>
        <Button kind="destructive" onClick={() => setOpen(true)}>
          {texts.delete}
        </Button>
      </div>
      {isOpen ? (
        <Confirm
          title={texts.deleteTitle(name)}
          submitText={texts.delete}
          typed={name}
          work={work}
          onClose={() => setOpen(false)}
        >
          {texts.deleteText}
        </Confirm>
      ) : null}
    </section>
  );
}
