import { settingGroup } from '../../settings/setting-group.ts';
import { choice, whole } from '../../settings/setting-kind.ts';

export const anomalySettings = settingGroup({
  settings: [
    {
      name: 'ANOMALY_SCHEDULER_INTERVAL_HOURS',
      kind: whole(1, 720),
      default: '24',
      doc: 'Hours between two scans of a tenant for anomalies.',
      secret: false,
    },
    {
      name: 'CV_ANOMALY_ML_VERSION',
      kind: choice('v1', 'shadow', 'v2', 'ensemble'),
      default: 'v2',
      doc: 'How unusual reads are found: `v1` (95th percentile), `v2` (hour of the week), `ensemble` (two of three models), or `shadow` (acts as `v1` and records what `v2` would raise).',
      secret: false,
    },
  ],
  build: ({ ANOMALY_SCHEDULER_INTERVAL_HOURS: scanIntervalHours, CV_ANOMALY_ML_VERSION: model }) => ({
    scanIntervalHours,
    model,
  }),
});
