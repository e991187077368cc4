import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { mayOne } from '../app/capabilities.ts';
import { asCofferError, useAction, useLoaded } from '../app/loading.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, FormDialog } from '../ui/dialog.tsx';
import { Select, TextArea } from '../ui/field.tsx';
import { ErrorNote, Notice, WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { type Column, fitsInto, type PlannedKey, planCopies } from './data.ts';
import { compareTexts as texts } from './texts.ts';

const TYPED = '';
/** Fields that are shown in one form. */
const FIELDS_MAX = 50;

interface Props {
  target: Column;
  /** What the vault lacks. */
  paths: readonly string[];
  columns: readonly Column[];
  onClose: () => void;
  onDone: () => void;
}

interface Outcome {
  readonly path: string;
  readonly step: PlannedKey['step'] | 'done' | 'failed' | 'waiting';
  readonly error?: ReturnType<typeof asCofferError>;
}

/** Adds secrets that a vault lacks, with values that are typed or copied from another vault. A vault that could give none is not offered. */
export default function AddKeys({ target, paths, columns, onClose, onDone }: Props) {
  const others = columns.filter(({ name, is_zero_knowledge }) => name !== target.name && !is_zero_knowledge);
  const sources = others.filter((source) => paths.some((path) => fitsInto(source, target, path)));
  const isNeverCopied = others.some((source) =>
    paths.some((path) => source.secrets.has(path) && !fitsInto(source, target, path)),
  );
  const [chosen, setChosen] = useState(paths.length === 1 ? TYPED : (sources[0]?.name ?? TYPED));
  const [outcomes, setOutcomes] = useState<readonly Outcome[] | null>(null);
  const source = sources.find(({ name }) => name === chosen);
  if (outcomes !== null) return <Outcomes target={target} outcomes={outcomes} onClose={onDone} />;
  const choice =
    sources.length === 0 ? (
      <Notice>{isNeverCopied ? texts.neverCopied(target.name) : texts.nothingToCopy}</Notice>
    ) : (
      <Select
        label={texts.from}
        value={chosen}
        onChange={setChosen}
        choices={[
          [TYPED, texts.typed] as const,
          ...sources.map(
            ({ name, environment }) =>
              [name, texts.copiedFrom(name, shared.stages[environment] ?? environment)] as const,
          ),
        ]}
      />
    );
  if (source === undefined) return <TypedKeys {...{ target, paths, choice, onClose, onDone }} />;
  return (
    <CopiedKeys
      key={source.name}
      {...{ source, target, paths, choice, onClose }}
      onDone={(all) => {
        if (all.some(({ step }) => step !== 'done')) return setOutcomes(all);
        toast(texts.addedAll(all.length, target.name));
        onDone();
      }}
    />
  );
}

/** A field for each path. What is left empty is not written, unless it is the only one. If one is refused, those before it stay written. */
function TypedKeys({
  target: { name: vault, environment },
  paths,
  choice,
  onClose,
  onDone,
}: {
  target: Column;
  paths: readonly string[];
  choice: preact.ComponentChildren;
  onClose: () => void;
  onDone: () => void;
}) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [written, setWritten] = useState<readonly string[]>([]);
  const [refused, setRefused] = useState<string | null>(null);
  const [only] = paths.length === 1 ? paths : [];
  const shown = paths.filter((path) => !written.includes(path)).slice(0, FIELDS_MAX);
  const filled = shown.filter((path) => path === only || (values[path] ?? '') !== '');
  const submit = async () => {
    const production = environment === 'production' ? { environment } : {};
    setRefused(null);
    for (const path of filled) {
      const body = { path, value: values[path] ?? '', ...production };
      try {
        await call('POST /v1/vaults/{vault}/secrets', { path: { vault }, body });
      } catch (error) {
        setRefused(path);
        throw error;
      }
      setWritten((before) => [...before, path]);
    }
    toast(only === undefined ? texts.addedAll(written.length + filled.length, vault) : texts.written(vault, only));
    onDone();
  };
  return (
    <FormDialog
      title={only === undefined ? texts.addTitle(paths.length, vault) : texts.writeTitle(vault, only)}
      submitText={only === undefined && filled.length > 0 ? texts.submitAll(filled.length) : shared.save}
      isIncomplete={filled.length === 0}
      isWide={only === undefined}
      onClose={written.length > 0 ? onDone : onClose}
      submit={submit}
    >
      {choice}
      {only === undefined ? <p class="soft">{texts.typedHint}</p> : null}
      {shown.map((path) => (
        <TextArea
          key={path}
          {...(path === only && { field: 'value' })}
          label={path === only ? texts.value : path}
          problem={path === refused && path !== only ? texts.notWritten : null}
          value={values[path] ?? ''}
          onInput={(value) => setValues({ ...values, [path]: value })}
          {...(only === undefined && { rows: 1 })}
          isSecret
        />
      ))}
      {paths.length - written.length > shown.length ? <p class="soft">{texts.moreFields(FIELDS_MAX)}</p> : null}
    </FormDialog>
  );
}

/** Shows what would happen to each path, and then does it. Whoever cancels meanwhile stops it before the next one, and sees how far it got. */
function CopiedKeys({
  source,
  target,
  paths,
  choice,
  onClose,
  onDone,
}: {
  source: Column;
  target: Column;
  paths: readonly string[];
  choice: preact.ComponentChildren;
  onClose: () => void;
  onDone: (outcomes: readonly Outcome[]) => void;
}) {
  const action = useAction();
  const [tried, setTried] = useState(0);
  const isWanted = useRef(true);
  useEffect(
    () => () => {
      isWanted.current = false;
    },
    [],
  );
  const plan = useLoaded(
    () =>
      planCopies(source, target, paths, async (path) => {
        const both = [
          mayOne(['secrets:copy', `vault/${source.name}/${path}`]),
          mayOne(['secrets:create', `vault/${target.name}/${path}`]),
        ];
        return (await Promise.all(both)).every(Boolean);
      }),
    [],
  );
  const wanted = (plan.data ?? []).filter(({ step }) => step === 'copy');
  const submit = async () => {
    const outcomes: Outcome[] = [];
    for (const { path } of wanted) {
      if (!isWanted.current) break;
      outcomes.push(await copyOne(source, target, path));
      setTried(outcomes.length);
    }
    const untried = wanted.slice(outcomes.length).map(({ path }): Outcome => ({ path, step: 'waiting' }));
    const leftOut = (plan.data ?? []).filter(({ step }) => step !== 'copy');
    onDone([...outcomes, ...untried, ...(outcomes.every(({ step }) => step === 'done') ? [] : leftOut)]);
  };
  return (
    <FormDialog
      title={texts.addTitle(paths.length, target.name)}
      action={action}
      submitText={action.isRunning ? texts.progress(tried, wanted.length) : texts.submitAll(wanted.length)}
      isIncomplete={wanted.length === 0}
      isWide
      onClose={() => {
        if (!action.isRunning) return onClose();
        isWanted.current = false;
      }}
      submit={submit}
    >
      {choice}
      <p class="soft">{texts.copyText}</p>
      {target.environment === 'production' && source.environment !== 'production' ? (
        <Notice kind="warning">{texts.toProduction(target.name)}</Notice>
      ) : null}
      <WhenLoaded of={plan}>{(planned) => <Steps rows={planned} />}</WhenLoaded>
    </FormDialog>
  );
}

async function copyOne({ name: vault }: Column, target: Column, path: string): Promise<Outcome> {
  try {
    const body = { to_vault: target.name, to_path: path, promote: true };
    await call('POST /v1/vaults/{vault}/secrets/{path}/copy', { path: { vault, path }, body });
    return { path, step: 'done' };
  } catch (error) {
    return { path, step: 'failed', error: asCofferError(error) };
  }
}

function Outcomes({
  target,
  outcomes,
  onClose,
}: {
  target: Column;
  outcomes: readonly Outcome[];
  onClose: () => void;
}) {
  const done = outcomes.filter(({ step }) => step === 'done').length;
  return (
    <Dialog title={texts.addTitle(outcomes.length, target.name)} onClose={onClose} isWide>
      <Notice kind="warning">{texts.addedSome(done, outcomes.length)}</Notice>
      <Steps rows={outcomes.toSorted((a, b) => Number(a.step === 'done') - Number(b.step === 'done'))} />
      <div class="dialog-foot">
        <Button kind="primary" onClick={onClose}>
          {shared.close}
        </Button>
      </div>
    </Dialog>
  );
}

const TONES: Readonly<Partial<Record<Outcome['step'], Tone>>> = { copy: 'good', done: 'good', failed: 'danger' };

function Steps({ rows }: { rows: readonly Outcome[] }) {
  return (
    <Table
      caption={texts.preview}
      rows={rows}
      keyOf={({ path }) => path}
      columns={[
        { title: texts.path, cell: ({ path }) => <code>{path}</code> },
        {
          title: texts.preview,
          cell: ({ step, error }) => (
            <>
              <Badge tone={TONES[step]}>{texts.steps[step]}</Badge> <span class="soft">{texts.stepTexts[step]}</span>
              <ErrorNote error={error ?? null} />
            </>
          ),
        },
      ]}
    />
  );
}
