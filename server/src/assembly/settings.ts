import { anomalySettings } from '../features/anomalies/settings.ts';
import { archiveSettings } from '../features/audit/archive/settings.ts';
import { stripeSettings } from '../features/billing/settings.ts';
import { copilotSettings } from '../features/copilot/settings.ts';
import { endpointSettings } from '../features/endpoint-discovery/settings.ts';
import { mailSettings } from '../features/mail/settings.ts';
import { regionSettings } from '../features/regions/settings.ts';
import { rollupSettings } from '../features/rollups/settings.ts';
import { vaultSettings } from '../features/vaults/settings.ts';
import { type Config, readConfig, settingsOf } from '../settings/config.ts';
import type { SettingGroup } from '../settings/setting-group.ts';

/**
 * The settings that features declare, in the order of their documentation. They are listed apart from the features, which a process that only reads
 * settings need not load; a test compares them.
 */
export const FEATURE_SETTINGS: readonly SettingGroup[] = [
  vaultSettings,
  archiveSettings,
  rollupSettings,
  regionSettings,
  anomalySettings,
  endpointSettings,
  mailSettings,
  stripeSettings,
  copilotSettings,
];

/** All settings of the service and its features. */
export const ALL_SETTINGS = settingsOf(FEATURE_SETTINGS);

export function loadConfig(written: Readonly<Record<string, string | undefined>>): Config {
  return readConfig(written, FEATURE_SETTINGS);
}
