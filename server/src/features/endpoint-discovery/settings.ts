import { settingGroup } from '../../settings/setting-group.ts';
import { choice } from '../../settings/setting-kind.ts';

export const endpointSettings = settingGroup({
  settings: [
    {
      name: 'CV_ENDPOINT_DRIFT_NOTIFY',
      kind: choice('true', 'false'),
      default: 'false',
      doc: 'Whether differences between hosts and members of vaults are sent to webhooks, once a day.',
      secret: false,
    },
  ],
  build: (values) => ({ isDriftNotified: values.CV_ENDPOINT_DRIFT_NOTIFY === 'true' }),
});
