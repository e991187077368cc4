import type { RouteInput, RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { waitsForApproval } from '../approval.ts';
import { useMay } from '../capabilities.ts';
import { useAction } from '../loading.ts';
import { href, navigate } from '../router.ts';
import { shared } from '../texts/shared.ts';
import { membersTexts as texts } from '../texts/vault-members.ts';
import { vaultTexts } from '../texts/vaults.ts';
import { EnvironmentBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { Checkbox, TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { ErrorNote } from '../ui/notice.tsx';
import { toast } from '../ui/toasts.tsx';
import { listOf } from '../words.ts';

type Vault = RouteOutput<'GET /v1/vaults/{vault}'>;
type Change = NonNullable<RouteInput<'PATCH /v1/vaults/{vault}'>['body']>;

export default function VaultSettings({ vault, onChanged }: { vault: Vault; onChanged: () => void }) {
  const resource = `vault/${vault.name}`;
  const may = useMay({ update: ['vaults:update', resource], delete: ['vaults:delete', resource] });
  return (
    <div class="grid">
      {may.update ? <Settings vault={vault} onChanged={onChanged} /> : null}
      {may.delete ? <DeleteVault name={vault.name} /> : null}
    </div>
  );
}

function Settings({ vault, onChanged }: { vault: Vault; onChanged: () => void }) {
  const action = useAction();
  const [description, setDescription] = useState(vault.description);
  const [tags, setTags] = useState(vault.tags.join(', '));
  const [rotationDays, setRotationDays] = useState(String(vault.encryption.rotation_days));
  const [logReads, setLogReads] = useState(vault.audit.log_reads);
  const [retention, setRetention] = useState(String(vault.audit.retention_days ?? ''));
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
      <dl class="facts">
        <dt>{shared.name}</dt>
        <dd class="mono">{vault.name}</dd>
        <dt>{shared.environment}</dt>
        <dd>
          <EnvironmentBadge environment={vault.environment} />
        </dd>
      </dl>
      <p class="soft">
        {vaultTexts.nameFixed}{' '}
        <a href={`${href('compare')}?${new URLSearchParams({ vault: vault.name })}`}>{vaultTexts.nameFixedCompare}</a>
        {vaultTexts.nameFixedThen}
      </p>
      <TextField field="description" label={texts.description} value={description} onInput={setDescription} />
      <TextField field="tags" label={texts.tags} hint={texts.tagsHint} value={tags} onInput={setTags} />
      <h3>{texts.encryption}</h3>
      <TextField
        field="encryption/rotation_days"
        label={texts.rotationDays}
        type="number"
        value={rotationDays}
        onInput={setRotationDays}
        isRequired
      />
      <h3>{texts.audit}</h3>
      <Checkbox field="audit/log_reads" label={texts.logReads} isChecked={logReads} onChange={setLogReads} />
      <TextField
        field="audit/retention_days"
        label={texts.retention}
        hint={texts.retentionHint}
        type="number"
        value={retention}
        onInput={setRetention}
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
        <Button kind="danger" onClick={() => setOpen(true)}>
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
