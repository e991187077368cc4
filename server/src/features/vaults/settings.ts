import { settingGroup } from '../../settings/setting-group.ts';
import { whole } from '../../settings/setting-kind.ts';

export const vaultSettings = settingGroup({
  settings: [
    {
      name: 'CV_VAULT_RETENTION_DAYS',
      kind: whole(1, 3650),
      default: '30',
      doc: 'Days for which a deleted vault can be restored before it is destroyed.',
      secret: false,
    },
  ],
  build: (values) => ({ retentionDays: values.CV_VAULT_RETENTION_DAYS }),
});
