import { resolve } from 'node:path';
import { settingGroup } from '../../settings/setting-group.ts';
import { text } from '../../settings/setting-kind.ts';

export const rollupSettings = settingGroup({
  settings: [
    {
      name: 'CV_GEOIP_FILE',
      kind: text,
      default: null,
      fallback: 'the data that comes with the service',
      doc: 'File in MMDB format that says in which country an address is, such as MaxMind’s GeoLite2 Country. It is used to notice accesses from new countries.',
      secret: false,
    },
  ],
  build: ({ CV_GEOIP_FILE: file }) => ({
    /** Replaces the countries of addresses that come with the service. */
    geoipFile: file === null ? null : resolve(file),
  }),
});
