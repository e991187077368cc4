import type { RouteOutput } from '@coffer/client';
import { startRegistration } from '@simplewebauthn/browser';
import { useState } from 'preact/hooks';
import { call, loadMe } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction, useLoaded } from '../app/loading.ts';
import { useCall } from '../app/use-call.ts';
import { AskTrust, fortressTexts, isNewFactor, OpensFortress, useAreAllNew } from '../fortress/index.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote, Notice, WhenLoaded } from '../ui/notice.tsx';
import { asRefusal } from '../ui/passkey-refusal.ts';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { ShownOnce } from '../ui/shown-once.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { passkeyCount } from './data.ts';
import { passkeyTexts as texts } from './passkey-texts.ts';

type Passkey = RouteOutput<'GET /auth/mfa/passkeys'>['passkeys'][number];

/** Passkeys and recovery codes of the person. */
export default function MyPasskeys() {
  const may = useMay({
    enrol: ['mfa:enrol', 'self/mfa'],
    disable: ['mfa:disable', 'self/mfa'],
    trust: ['mfa:ask_trust', 'self/mfa'],
  });
  const passkeys = useLoaded(async (signal) => {
    const loaded = await call('GET /auth/mfa/passkeys', {}, { signal });
    passkeyCount.value = loaded.passkeys.length;
    return loaded;
  }, []);
  const [isJustAdded, setJustAdded] = useState(false);
  const [isAdding, setAdding] = useState(false);
  const [renamed, setRenamed] = useState<Passkey | null>(null);
  const areAllNew = useAreAllNew();
  const action = useAction();
  const remove = async (id: string, name: string) => {
    const answer = await call('DELETE /auth/mfa/passkeys/{passkey_id}', { path: { passkey_id: id } });
    if (!waitsForApproval(answer)) toast(texts.removed(name));
    passkeys.reload();
  };
  const hasNew = passkeys.data?.passkeys.some(({ opens_fortress_from: from }) => isNewFactor(from)) ?? false;
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.title}</h2>
        {may.enrol ? <Button onClick={() => setAdding(true)}>{texts.add}</Button> : null}
      </div>
      <p class="soft">{texts.intro}</p>
      <ErrorNote error={action.error} />
      <WhenLoaded of={passkeys}>
        {({ passkeys: list }) =>
          list.length === 0 ? (
            <p>{texts.none}</p>
          ) : (
            <Table
              caption={texts.title}
              rows={list}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: texts.name,
                  cell: ({ name, is_synced }) => (
                    <span class="row">
                      {name} {is_synced ? <Badge>{texts.synced}</Badge> : null}
                    </span>
                  ),
                },
                { title: shared.created, cell: ({ created_at }) => <Time at={created_at} /> },
                { title: texts.used, cell: ({ last_used_at }) => <Time at={last_used_at} none={shared.never} /> },
                { title: texts.fortress, cell: ({ opens_fortress_from: from }) => <OpensFortress from={from} /> },
                {
                  title: shared.actions,
                  isActions: true,
                  cell: (passkey) => (
                    <span class="row">
                      {may.enrol ? (
                        <Button isSmall label={texts.renameTitle(passkey.name)} onClick={() => setRenamed(passkey)}>
                          {texts.rename}
                        </Button>
                      ) : null}
                      {may.disable ? (
                        <Button
                          isSmall
                          label={shared.removeValue(passkey.name)}
                          isBusy={action.isRunning}
                          onClick={() => action.run(() => remove(passkey.id, passkey.name))}
                        >
                          {texts.remove}
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
      {hasNew ? <p class="soft">{fortressTexts.whyLater}</p> : null}
      {hasNew && may.trust ? <AskTrust areAllNew={areAllNew.data ?? false} /> : null}
      {may.enrol && (passkeys.data?.passkeys.length ?? 0) > 0 ? (
        <RecoveryCodes isOffered={isJustAdded} onOffered={() => setJustAdded(false)} />
      ) : null}
      {renamed === null ? null : (
        <RenamePasskey
          passkey={renamed}
          onClose={() => setRenamed(null)}
          onDone={() => {
            setRenamed(null);
            passkeys.reload();
          }}
        />
      )}
      {isAdding ? (
        <AddPasskey
          onClose={() => setAdding(false)}
          onDone={() => {
            setAdding(false);
            setJustAdded(true);
            passkeys.reload();
          }}
        />
      ) : null}
    </section>
  );
}

function AddPasskey({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState('');
  const submit = async () => {
    const { options } = await call('POST /auth/mfa/passkeys/options', {});
    const response = await startRegistration({ optionsJSON: options as never }).catch(asRefusal);
    // A first one counts as shown, so that it is not asked for at once.
    await call('POST /auth/mfa/passkeys', { body: { name: name.trim(), response: response as never, step_up: true } });
    toast(texts.added(name.trim()));
    onDone();
    await loadMe();
  };
  return (
    <FormDialog title={texts.addTitle} submitText={texts.add} onClose={onClose} submit={submit}>
      <p>{texts.addText}</p>
      <NameField value={name} onInput={setName} />
    </FormDialog>
  );
}

function NameField({ value, onInput }: { value: string; onInput: (name: string) => void }) {
  return (
    <TextField
      field="name"
      label={texts.name}
      hint={texts.nameHint}
      value={value}
      onInput={onInput}
      isRequired
      isFocused
    />
  );
}

function RenamePasskey({ passkey, onClose, onDone }: { passkey: Passkey; onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState(passkey.name);
  const submit = async () => {
    const path = { passkey_id: passkey.id };
    await call('PATCH /auth/mfa/passkeys/{passkey_id}', { path, body: { name: name.trim() } });
    toast(texts.renamed(name.trim()));
    onDone();
  };
  return (
    <FormDialog
      title={texts.renameTitle(passkey.name)}
      submitText={shared.save}
      isIncomplete={name.trim() === ''}
      onClose={onClose}
      submit={submit}
    >
      <NameField value={name} onInput={setName} />
    </FormDialog>
  );
}

/** Offered once a passkey was added: whoever loses the only one has no other way in. */
function RecoveryCodes({ isOffered, onOffered }: { isOffered: boolean; onOffered: () => void }) {
  const left = useCall('GET /auth/mfa/recovery-codes');
  const action = useAction();
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const make = async () => {
    setCodes((await call('POST /auth/mfa/recovery-codes', {})).recovery_codes);
    left.reload();
    onOffered();
  };
  return (
    <div class="stack">
      <h3>{texts.recovery}</h3>
      <WhenLoaded of={left}>
        {(data) =>
          data.left === 0 && codes === null ? (
            <Notice kind="warning">{texts.recoveryNone}</Notice>
          ) : (
            <p class="soft">{texts.recoveryLeft(data.left)}</p>
          )
        }
      </WhenLoaded>
      <ErrorNote error={action.error} />
      <div>
        <Button isBusy={action.isRunning} onClick={() => action.run(make)}>
          {texts.recoveryMake}
        </Button>
      </div>
      {isOffered && codes === null && left.data?.left === 0 ? (
        <Dialog title={texts.offerTitle} onClose={onOffered}>
          <p>{texts.offerText}</p>
          <ErrorNote error={action.error} />
          <div class="dialog-foot">
            <Button onClick={onOffered}>{texts.offerLater}</Button>
            <Button kind="primary" isBusy={action.isRunning} onClick={() => action.run(make)}>
              {texts.offerMake}
            </Button>
          </div>
        </Dialog>
      ) : null}
      {codes === null ? null : (
        <ShownOnce
          title={texts.recoveryTitle}
          label={texts.recovery}
          value={codes.join('\n')}
          isList
          fileName={texts.recoveryFile}
          onClose={() => setCodes(null)}
        >
          <p>{texts.recoveryText}</p>
        </ShownOnce>
      )}
    </div>
  );
}
