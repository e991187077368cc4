import type { CofferError, RouteOutput } from '@coffer/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useAction } from '../app/loading.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextArea, TextField } from '../ui/field.tsx';
import { fieldProblems, sentenceOf } from '../ui/field-problems.ts';
import { useForm } from '../ui/form-values.ts';
import { Notice } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import type { GivenFile } from './given-file.ts';
import { importTexts as texts } from './texts.ts';

const FILE_BYTES_MAX = 1024 * 1024;
type OnExisting = 'update' | 'skip' | 'fail';
type Planned = RouteOutput<'POST /v1/vaults/{vault}/import'>;
type Change = Planned['changes'][number]['change'];

interface Props {
  vault: { readonly name: string; readonly environment: string };
  /** What was pasted or dropped onto the page. */
  given: GivenFile | null;
  onClose: () => void;
  onDone: () => void;
}

/** Two steps: the service says what the file would change, and then changes it. */
export default function ImportFile({ vault, given, onClose, onDone }: Props) {
  const action = useAction();
  const form = useForm({
    text: typeof given === 'string' ? given : '',
    prefix: '',
    onExisting: 'update' as OnExisting,
  });
  const { text, prefix, onExisting } = form.values;
  const [problem, setProblem] = useState<string | null>(null);
  const [taken, setTaken] = useState<string | null>(null);
  const [preview, setPreview] = useState<Planned | null>(null);
  const [leftOut, setLeftOut] = useState<ReadonlySet<string>>(new Set());
  const chooser = useRef<HTMLInputElement>(null);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => selectLine(box.current?.querySelector('textarea'), refusedLine(action.error)), [action.error]);
  const send = (isDryRun: boolean) =>
    call('POST /v1/vaults/{vault}/import', {
      path: { vault: vault.name },
      body: {
        dotenv: text,
        on_existing: onExisting,
        ...(isDryRun ? { dry_run: true, keep_going: true } : leftOut.size > 0 && { leave_out: [...leftOut] }),
        ...(vault.environment === 'production' && { environment: 'production' }),
        ...(prefix.trim() !== '' && { prefix: prefix.trim() }),
      },
    });
  const take = async (file: File | undefined) => {
    if (file === undefined) return;
    setTaken(null);
    if (file.size > FILE_BYTES_MAX) return setProblem(texts.tooLarge);
    setProblem(null);
    form.set({ text: await file.text() });
    setTaken(file.name);
  };
  useEffect(() => {
    if (given instanceof File) void take(given);
  }, []);
  const submit = async () => {
    if (preview === null) {
      setPreview(await send(true));
      setLeftOut(new Set());
      return;
    }
    const done = await send(false);
    toast(texts.done(done.created, done.updated));
    onDone();
  };
  const rows = preview === null ? [] : rowsOf(preview);
  const chosen = rows.filter(({ path }) => !leftOut.has(path));
  const count = chosen.filter(({ change }) => isWritten(change)).length;
  const isRefused = chosen.some(({ change }) => change === 'problem');
  return (
    <FormDialog
      title={texts.title}
      isWide
      action={action}
      submitText={preview === null ? texts.preview : texts.apply(count)}
      isIncomplete={text.trim() === '' || (preview !== null && (count === 0 || isRefused))}
      onClose={onClose}
      submit={submit}
    >
      {preview === null ? (
        <>
          {/* biome-ignore lint/a11y/noStaticElementInteractions: a file can also be pasted into the field inside */}
          <div
            ref={box}
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => {
              event.preventDefault();
              void take(event.dataTransfer?.files[0]);
            }}
          >
            <TextArea
              label={texts.text}
              hint={texts.hint}
              problem={problem}
              {...form.text('text', 'dotenv')}
              rows={10}
              isRequired
              isSecret
            />
          </div>
          <div class="row">
            <Button onClick={() => chooser.current?.click()}>{texts.choose}</Button>
            <input
              ref={chooser}
              type="file"
              hidden
              onChange={(event) => {
                void take(event.currentTarget.files?.[0]);
                // The same file can be chosen again after it was changed.
                event.currentTarget.value = '';
              }}
            />
            <span class="soft" role="status">
              {taken === null ? null : texts.taken(taken)}
            </span>
          </div>
          <TextField label={texts.prefix} hint={texts.prefixHint} {...form.text('prefix')} isMono />
          <Select
            label={texts.existing}
            hint={texts.existingHints[onExisting]}
            {...form.choice('onExisting', 'on_existing')}
            choices={[
              ['update', texts.update],
              ['skip', texts.skip],
              ['fail', texts.fail],
            ]}
          />
        </>
      ) : (
        <Preview
          rows={rows}
          warnings={preview.warnings.filter(({ path }) => !leftOut.has(path))}
          leftOut={leftOut}
          onLeaveOut={setLeftOut}
          onBack={() => setPreview(null)}
        />
      )}
    </FormDialog>
  );
}

/** The first line of the file that the service refused, counted from 1. */
function refusedLine(error: CofferError | null): number | null {
  const lines = fieldProblems(error).flatMap(({ pointer }) => /^\/body\/dotenv\/line\/(\d+)$/.exec(pointer)?.[1] ?? []);
  return lines.length === 0 ? null : Math.min(...lines.map(Number));
}

/** Shows which line is meant. The focus brings the selection into sight, so it is given anew. */
function selectLine(field: HTMLTextAreaElement | null | undefined, line: number | null): void {
  if (!field || line === null) return;
  const lines = field.value.split('\n');
  const start = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
  field.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  field.blur();
  field.focus();
}

interface Row {
  readonly path: string;
  readonly change: Change | 'problem';
  readonly text: string;
}

/** What needs somebody comes first, then what is written. */
const ORDER: readonly Row['change'][] = ['problem', 'update', 'create', 'skip', 'unchanged'];
const TONES: Readonly<Partial<Record<Row['change'], Tone>>> = { problem: 'danger', create: 'good', update: 'warning' };

function isWritten(change: Row['change']): boolean {
  return change === 'create' || change === 'update';
}

function rowsOf({ changes, problems }: Planned): Row[] {
  return [
    ...changes.map(({ path, change, version }) => ({ path, change, text: texts.changeTexts[change](version) })),
    ...problems.map(({ path, code, message }) => {
      return {
        path,
        change: 'problem' as const,
        text: texts.problemTexts[code] ?? sentenceOf({ pointer: '', reason: message }),
      };
    }),
  ].toSorted((a, b) => ORDER.indexOf(a.change) - ORDER.indexOf(b.change));
}

interface PreviewProps {
  rows: readonly Row[];
  warnings: Planned['warnings'];
  leftOut: ReadonlySet<string>;
  onLeaveOut: (paths: ReadonlySet<string>) => void;
  onBack: () => void;
}

function Preview({ rows, warnings, leftOut, onLeaveOut, onBack }: PreviewProps) {
  return (
    <div class="stack">
      <p role="status">{statusOf(rows, leftOut)}</p>
      {warnings.length === 0 ? null : (
        <Notice kind="warning">
          <strong>{texts.warnings}</strong>
          <ul>
            {warnings.map(({ code, path, line }) => (
              <li key={`${line} ${code}`}>{texts.warning(line, path, texts.warningTexts[code])}</li>
            ))}
          </ul>
        </Notice>
      )}
      <Table
        caption={texts.preview}
        rows={rows}
        keyOf={({ path }) => path}
        columns={[
          {
            title: texts.isWritten,
            cell: ({ path }) => (
              <input
                class="tick"
                type="checkbox"
                aria-label={texts.writeOf(path)}
                checked={!leftOut.has(path)}
                onChange={({ currentTarget: { checked } }) =>
                  onLeaveOut(new Set(checked ? [...leftOut].filter((each) => each !== path) : [...leftOut, path]))
                }
              />
            ),
          },
          { title: texts.path, cell: ({ path }) => <code>{path}</code> },
          {
            title: texts.change,
            cell: ({ path, change, text }) =>
              leftOut.has(path) ? (
                <Badge>{texts.leftOut}</Badge>
              ) : (
                <>
                  <Badge tone={TONES[change]}>{change === 'problem' ? texts.problem : texts.changes[change]}</Badge>{' '}
                  <span class="soft">{text}</span>
                </>
              ),
          },
        ]}
      />
      <div>
        <Button onClick={onBack}>{shared.back}</Button>
      </div>
    </div>
  );
}

function statusOf(rows: readonly Row[], leftOut: ReadonlySet<string>): string {
  const count = (...changes: Row['change'][]) =>
    rows.filter(({ path, change }) => !leftOut.has(path) && changes.includes(change)).length;
  if (count('problem') > 0) return texts.problems(count('problem'));
  const [created, updated] = [count('create'), count('update')];
  if (created + updated > 0) return texts.summary(created, updated, count('unchanged', 'skip'), leftOut.size);
  return leftOut.size > 0 ? texts.nothingChosen : texts.nothing;
}
