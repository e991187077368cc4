export const settingsTexts = {
  title: 'Settings',
  intro: 'What counts for everybody in this organization.',
  people: 'Signing in',
  requireMfa: 'Everybody needs a second factor',
  requireMfaHint:
    'Whoever has none can only set one up. You need to have signed in with a second factor yourself to turn this on; turning it off needs a second person.',
  mail: 'Mail',
  mailIntro: 'Sent if this installation can send mail.',
  notices: {
    invitations: 'Send invitations by mail',
    approvals: 'Tell approvers what waits for them',
    expiry: 'Warn before certificates expire',
  },
  thresholds: 'When something counts as an anomaly',
  thresholdsIntro: 'Empty: the default.',
  types: {
    stale_rotation: ['Days since the last rotation of a secret', '90'],
    unusual_access_pattern: ['Times the usual number of reads', '3'],
    ip_region_anomaly: ['New countries of a connection', '1'],
    backend_drift: ['Unknown roles on a database server', '1'],
    privilege_creep: ['Days since the members of a vault were reviewed', '90'],
    zombie_app_connection: ['Days since a connection was used', '60'],
    risk_score_spike: ['Points that a risk score rises in a day', '30'],
  } as Readonly<Record<string, readonly [label: string, standard: string]>>,
  standard: (value: string) => `Default: ${value}`,
  saved: 'The settings are saved.',
} as const;
