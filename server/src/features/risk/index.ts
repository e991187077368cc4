export { anomalyPoints, recomputeAttackPaths } from './links.ts';
export {
  couldRead,
  couldReadParts,
  type Grant,
  grantOf,
  loadReaders,
  readableRanges,
  readersInVault,
  type SameRights,
} from './readers.ts';
export { findRun as findRiskRun, requestRun as requestRiskRun } from './run-store.ts';
export type { AnomalyPoints } from './scoring.ts';
export { read as readRisk } from './service.ts';
export { type RiskSpike, riskSpikes, type SpikeOptions } from './spikes.ts';
export { type RiskRow, worstOfVaults, worstRisks } from './store.ts';
