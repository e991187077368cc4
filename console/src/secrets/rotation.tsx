import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useAction } from '../app/loading.ts';
import { Button } from '../ui/button.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextArea, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { Notice } from '../ui/notice.tsx';
import { toast } from '../ui/toasts.tsx';
import type { ChangeProps } from './changes.tsx';
import { createSecretTexts } from './create-texts.ts';
import type { SecretSummary } from './data.ts';
import { looksLikeAddress } from './names.ts';
import { secretTexts as texts } from './texts.ts';

/** Types whose values the service knows how to make. */
const KNOWN_GENERATORS: readonly string[] = ['password', 'api_key', 'token', 'ssh_key'];
/** Types whose values random characters cannot replace. */
const STRUCTURED_TYPES: readonly string[] = ['database', 'certificate', 'json'];
const RANDOM_LENGTH = 32;
const DAYS_FIRST = '90';
type Way = 'made' | 'typed';

/** Whether the service can replace the value without anybody typing one. */
export function mayBeScheduled({ type, rotation }: SecretSummary): boolean {
  return rotation !== null || !STRUCTURED_TYPES.includes(type);
}

export function RotateSecret({ vault, secret, onClose, onDone }: ChangeProps) {
  const { path, version, type, rotation } = secret;
  const hasBackend = rotation?.backend !== undefined;
  const mayMake = !STRUCTURED_TYPES.includes(type);
  const isKnown = KNOWN_GENERATORS.includes(type);
  const isAddress = !isKnown && looksLikeAddress(path);
  const form = useForm({
    way: (mayMake && !isAddress ? 'made' : 'typed') as Way,
    length: String(rotation?.generator?.length ?? RANDOM_LENGTH),
    value: '',
    reason: '',
  });
  const { way, length, value, reason } = form.values;
  const isTyped = way === 'typed' && !hasBackend;
  const isRandom = way === 'made' && !hasBackend && !isKnown;
  const submit = async () => {
    const rotated = await call('POST /v1/vaults/{vault}/secrets/{path}/rotate', {
      path: { vault, path },
      body: {
        expected_version: version,
        ...(isTyped && { value }),
        ...(isRandom && { generator: { ...rotation?.generator, length: Number(length) } }),
        ...(reason !== '' && { reason }),
      },
    });
    toast(rotated.status === 'completed' ? texts.rotated(rotated.version) : texts.rotating);
    onDone();
  };
  return (
    <FormDialog
      title={texts.rotate}
      submitText={texts.rotate}
      isIncomplete={isTyped && value === ''}
      onClose={onClose}
      submit={submit}
    >
      <p>{hasBackend ? texts.rotateBackend : texts.rotateText}</p>
      {hasBackend || !mayMake ? null : (
        <Select
          label={texts.rotateWay}
          {...form.choice('way', null)}
          choices={[
            ['made', isKnown ? texts.rotateMade(createSecretTexts.types[type] ?? type) : texts.rotateRandom],
            ['typed', texts.rotateTyped],
          ]}
        />
      )}
      {isRandom ? (
        <TextField label={texts.rotateLength} type="number" {...form.text('length', 'generator/length')} isRequired />
      ) : null}
      {isTyped ? <TextArea label={texts.newValue} {...form.text('value')} rows={2} isSecret /> : null}
      {isRandom ? <Notice kind="warning">{isAddress ? texts.rotateAddress(path) : texts.rotateWhole}</Notice> : null}
      {hasBackend ? null : <p class="soft">{texts.rotateOtherSide}</p>}
      <TextField label={texts.reason} hint={texts.reasonHint} {...form.text('reason')} />
    </FormDialog>
  );
}

export function ScheduleRotation({ vault, secret, onClose, onDone }: ChangeProps) {
  const action = useAction();
  const { path, version, type, rotation } = secret;
  const isOn = secret.next_rotation !== null;
  // Who may not see how it is rotated gives the interval anew.
  const [days, setDays] = useState(rotation === null ? (isOn ? '' : DAYS_FIRST) : String(rotation.interval_days));
  const isKnown = KNOWN_GENERATORS.includes(type);
  const kept = rotation ?? (isKnown ? {} : { generator: { length: RANDOM_LENGTH } });
  const schedule = async (next: number | null) => {
    await call('PUT /v1/vaults/{vault}/secrets/{path}', {
      path: { vault, path },
      body: {
        expected_version: version,
        rotation: next === null ? null : { ...kept, interval_days: next },
        reason: next === null ? texts.unscheduledReason : texts.scheduledReason(next),
      },
    });
    toast(next === null ? texts.unscheduled : texts.scheduled(next));
    onDone();
  };
  const hasBackend = rotation?.backend !== undefined;
  const explained = hasBackend
    ? texts.scheduleBackend
    : isKnown
      ? texts.scheduleText(createSecretTexts.types[type] ?? type)
      : texts.scheduleRandom(rotation?.generator?.length ?? RANDOM_LENGTH);
  return (
    <FormDialog
      title={isOn ? texts.rescheduleTitle : texts.schedule}
      action={action}
      submitText={isOn ? texts.reschedule : texts.schedule}
      onClose={onClose}
      submit={() => schedule(Number(days))}
    >
      <p>{explained}</p>
      {!isKnown && !hasBackend && looksLikeAddress(path) ? (
        <Notice kind="warning">{texts.rotateAddress(path)}</Notice>
      ) : null}
      {hasBackend ? null : <p class="soft">{texts.rotateOtherSide}</p>}
      <TextField
        field="rotation/interval_days"
        label={texts.scheduleDays}
        type="number"
        value={days}
        onInput={setDays}
        isRequired
        isFocused
      />
      {isOn ? (
        <div>
          <Button isBusy={action.isRunning} onClick={() => action.run(() => schedule(null))}>
            {texts.unschedule}
          </Button>
        </div>
      ) : null}
    </FormDialog>
  );
}
