import { Badge } from '../ui/badge.tsx';
import { type ExporterItem, exporterState, STATE_TONES } from './data.ts';
import { exportersTexts as texts } from './texts.ts';

export function ExporterStateBadge({ exporter }: { exporter: ExporterItem }) {
  const state = exporterState(exporter);
  return (
    <>
      <Badge tone={STATE_TONES[state]}>{texts.states[state]}</Badge>
      {exporter.last_error === null ? null : <div class="soft">{exporter.last_error}</div>}
    </>
  );
}
