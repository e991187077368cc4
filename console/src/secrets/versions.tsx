import { useEffect, useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useAction } from '../app/loading.ts';
import { useCall } from '../app/use-call.ts';
import { type Moment, TimeLine } from '../plots/time-line.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { hideWhenLeft } from '../ui/secret-value.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import type { SecretSummary } from './data.ts';
import { lineDiff } from './line-diff.ts';
import { secretTexts as texts } from './texts.ts';

interface Props {
  vault: string;
  secret: SecretSummary;
  mayRead: boolean;
  mayRollback: boolean;
  /** Called when values were read here. */
  onRead: () => void;
  onChanged: () => void;
}

export function SecretVersions({ vault, secret, mayRead, mayRollback, onRead, onChanged }: Props) {
  const { path, version: current } = secret;
  const [opened, setOpened] = useState<{ kind: 'compare' | 'rollback'; version: number } | null>(null);
  const versions = useCall(
    'GET /v1/vaults/{vault}/secrets/{path}/versions',
    { path: { vault, path }, query: { limit: 50 } },
    [current],
  );
  return (
    <section class="card">
      <h2>{texts.versions}</h2>
      <WhenLoaded of={versions}>
        {({ versions: list }) => (
          <>
            <VersionLine list={list} next={secret.next_rotation} />
            <Table
              caption={texts.versions}
              rows={list}
              keyOf={({ version }) => version}
              columns={[
                {
                  title: texts.version,
                  cell: ({ version, is_current }) => (
                    <span class="row">
                      {version} {is_current ? <Badge tone="good">{texts.current}</Badge> : null}
                    </span>
                  ),
                },
                {
                  title: texts.operation,
                  cell: ({ operation, reason, author, restored_from, has_new_value }) => (
                    <>
                      {restored_from !== null
                        ? texts.broughtBack(restored_from, author.name)
                        : has_new_value
                          ? texts.done(operation, author.name)
                          : texts.valueStayed(author.name)}
                      {reason === '' ? null : <div class="soft">{reason}</div>}
                    </>
                  ),
                },
                { title: texts.when, cell: ({ created_at }) => <Time at={created_at} /> },
                {
                  title: shared.actions,
                  isActions: true,
                  cell: ({ version, is_current }) =>
                    is_current ? null : (
                      <span class="row">
                        {mayRead ? (
                          <Button isSmall onClick={() => setOpened({ kind: 'compare', version })}>
                            {texts.compare}
                          </Button>
                        ) : null}
                        {mayRollback ? (
                          <Button isSmall onClick={() => setOpened({ kind: 'rollback', version })}>
                            {texts.rollback}
                          </Button>
                        ) : null}
                      </span>
                    ),
                },
              ]}
            />
          </>
        )}
      </WhenLoaded>
      {opened?.kind === 'compare' ? (
        <Compare
          vault={vault}
          path={path}
          version={opened.version}
          current={current}
          onRead={onRead}
          onClose={() => setOpened(null)}
        />
      ) : null}
      {opened?.kind === 'rollback' ? (
        <Rollback
          vault={vault}
          path={path}
          version={opened.version}
          current={current}
          onClose={() => setOpened(null)}
          onDone={() => {
            setOpened(null);
            onChanged();
          }}
        />
      ) : null}
    </section>
  );
}

const MONTH = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' });

/** The versions on a line of time, with the next one that is planned. The table has all of them. */
function VersionLine({
  list,
  next,
}: {
  list: readonly { version: number; created_at: string; is_current: boolean }[];
  next: string | null;
}) {
  if (list.length < 2) return null;
  const moments = list.map(({ version, created_at, is_current }): Moment => {
    const at = Date.parse(created_at);
    return { at, text: texts.versionAt(version, MONTH.format(at)), kind: is_current ? 'now' : 'past' };
  });
  const planned: Moment[] =
    next === null ? [] : [{ at: Date.parse(next), text: texts.nextAt(MONTH.format(Date.parse(next))), kind: 'next' }];
  return <TimeLine moments={[...moments, ...planned]} />;
}

interface TwoVersions {
  vault: string;
  path: string;
  version: number;
  current: number;
  onClose: () => void;
}

function Compare({ vault, path, version, current, onRead, onClose }: TwoVersions & Pick<Props, 'onRead'>) {
  const action = useAction();
  const [values, setValues] = useState<readonly [string, string] | null>(null);
  useEffect(() => hideWhenLeft(() => setValues(null)), []);
  const read = async (which: number) =>
    (await call('GET /v1/vaults/{vault}/secrets/{path}', { path: { vault, path }, query: { version: which } })).value;
  const show = async () => {
    setValues([await read(version), await read(current)]);
    onRead();
  };
  return (
    <Dialog title={texts.compareTitle(version, current)} isWide onClose={onClose}>
      <p class="soft">{texts.showDifference}</p>
      <ErrorNote error={action.error} />
      {values === null ? null : <Lines before={values[0]} after={values[1]} />}
      <div class="dialog-foot">
        {values === null ? (
          <>
            <Button onClick={onClose}>{shared.close}</Button>
            <Button kind="primary" isBusy={action.isRunning} onClick={() => action.run(show)}>
              {texts.show}
            </Button>
          </>
        ) : (
          <Button kind="primary" onClick={onClose}>
            {shared.close}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

const SIGNS = { same: ' ', added: '+', removed: '−', omitted: '…' } as const;

function Lines({ before, after }: { before: string; after: string }) {
  if (before === after) return <p>{texts.same}</p>;
  return (
    <div class="diff">
      {lineDiff(before, after).map(({ kind, text }, index) => (
        <div key={index} class={kind}>
          {SIGNS[kind]} {kind === 'omitted' ? texts.equalLines(Number(text)) : text}
        </div>
      ))}
    </div>
  );
}

function Rollback({ vault, path, version, current, onClose, onDone }: TwoVersions & { onDone: () => void }) {
  const [reason, setReason] = useState('');
  const submit = async () => {
    const written = await call('POST /v1/vaults/{vault}/secrets/{path}/rollback', {
      path: { vault, path },
      body: { to_version: version, expected_version: current, ...(reason !== '' && { reason }) },
    });
    if (!waitsForApproval(written)) toast(texts.saved(written.version));
    onDone();
  };
  return (
    <FormDialog title={texts.rollbackTitle(version)} submitText={texts.rollback} onClose={onClose} submit={submit}>
      <p>{texts.rollbackText}</p>
      <TextField
        field="reason"
        label={texts.reason}
        hint={texts.reasonHint}
        value={reason}
        onInput={setReason}
        isFocused
      />
    </FormDialog>
  );
}
