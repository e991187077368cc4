import { execFileSync } from 'node:child_process';
import { pathOf, vaultOf } from './data-set.ts';
import type { Installation } from './installation.ts';

/** Of the vaults, the operator's tenant has every fourth, beginning with the first. */
export const SCAN_VAULTS = 8;
export const SCAN_PER_VAULT = 5000;
const VAULTS_OF_OPERATOR = [0, 4];

/** Secrets of the operator's tenant, by the names of the audit log. */
export function resourcesOf(count: number): string[] {
  const all = VAULTS_OF_OPERATOR.flatMap((vault) =>
    Array.from({ length: SCAN_PER_VAULT }, (_, i) => `vault/${vaultOf(vault)}/${pathOf(i)}`),
  );
  if (count > all.length) throw new Error(`there are ${all.length} secrets`);
  return all.slice(0, count);
}

/** Writes reads of that many secrets of the operator's tenant into its log, spread over the last days, while the service is stopped. */
export function writeReads(
  { env }: Installation,
  { entries, days, resources }: { entries: number; days: number; resources: number },
): void {
  execFileSync(process.execPath, ['bench/reads-process.ts', ...[entries, days, resources].map(String)], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
